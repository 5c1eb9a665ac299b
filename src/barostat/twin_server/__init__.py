"""vLLM's HTTP API, metrics and log in front of the twin, in real time."""
