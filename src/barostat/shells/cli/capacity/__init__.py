"""Verbs that reckon: plan and limits."""
