"""GPU vendors' tools and exporters -> our signals."""
