"""Serving engines: their metrics, log lines and command lines -> our signals."""
