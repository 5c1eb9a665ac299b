"""Composition only."""
