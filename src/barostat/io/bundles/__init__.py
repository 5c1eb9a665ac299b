"""Recorded bundles: read from a folder or an archive, and written, redacted."""
