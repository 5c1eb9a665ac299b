"""Verbs that try on the twin: simulate, what-if, tune, twin."""
