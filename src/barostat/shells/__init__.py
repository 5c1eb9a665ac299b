"""Composition only: the command line, the reports, the public Python API."""
