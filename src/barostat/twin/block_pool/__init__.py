"""vLLM's block pool: blocks, prefixes and what requests hold."""
