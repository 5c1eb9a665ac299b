"""What the engines show: their page of metrics, and whether they answer with tokens."""
