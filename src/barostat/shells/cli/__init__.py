"""The barostat command."""
