"""vLLM's settings, one row each: arguments, their history, defaults, and where they can be seen."""
