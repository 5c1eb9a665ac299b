"""vLLM's scheduler step by step: queue, requests, one step after another."""
