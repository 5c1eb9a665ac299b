"""vLLM's log: lines to lives, settings and signals; and the twin's own lines."""
