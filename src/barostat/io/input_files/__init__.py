"""Files that a person gives: limits, models, traces and request logs, JSON."""
