"""Simulated runs and candidates side by side in every form."""
