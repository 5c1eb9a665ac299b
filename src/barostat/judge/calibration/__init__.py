"""Estimates a running engine's step times from its log and metrics, best source first."""
