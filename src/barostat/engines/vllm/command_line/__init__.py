"""vLLM's command line and configuration: read, checked, and written with one flag changed."""
