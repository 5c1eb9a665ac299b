"""The only place that waits: files, HTTP, processes, the clock."""
