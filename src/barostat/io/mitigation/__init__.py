"""Carries plans out in a cluster: what the remedy machine commands is performed here, and nothing
is decided here.
"""
