"""What was gathered, unjudged, and the windows of signals that are made of it."""
