"""Verbs about the tool itself: help, version, completion."""
