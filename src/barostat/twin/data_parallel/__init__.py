"""Several engines behind one endpoint: who gets which request, and who waits for whom."""
