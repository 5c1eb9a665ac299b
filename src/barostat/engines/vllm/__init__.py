"""vLLM 0.6 to 0.33: metrics, log lines and configuration -> our signals."""
