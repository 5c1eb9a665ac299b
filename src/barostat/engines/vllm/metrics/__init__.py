"""vLLM's metrics: exposition text to signals, and the twin's own exposition."""
