"""Barostat keeps vLLM out of KV-cache collapse."""

__version__ = "0.1.0"
