"""The twin in real time behind vLLM's HTTP API: a process that answers, and one that steps, as vLLM has them."""
