"""Verbs that look: diagnose, collect, explain."""
