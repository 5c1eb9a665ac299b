"""The load generator: requests that are sent when they are due, streams that are measured, one
process on one core.
"""
