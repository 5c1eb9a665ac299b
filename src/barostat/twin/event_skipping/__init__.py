"""The fast form: the same decisions at a cost that follows events, not tokens."""
