"""How long a running engine's steps take, fitted to what it shows, best source first."""
