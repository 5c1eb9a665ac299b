"""How long a step of an engine takes on a card: what it moves and computes, and how fast cards were
seen to do that.
"""
