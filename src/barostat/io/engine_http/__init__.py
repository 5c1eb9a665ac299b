"""The way to an engine's HTTP server: addresses, requests, scrapes."""
