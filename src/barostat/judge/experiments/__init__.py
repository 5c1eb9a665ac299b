"""Settings tried on the twin: one trial, several side by side, and a search for the best."""
