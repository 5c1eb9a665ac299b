"""The nouns: standard library only."""
