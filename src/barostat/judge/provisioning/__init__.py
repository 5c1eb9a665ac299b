"""From a need (so many requests or users, of this shape, within this service level) to cards: tried
on the twin, counted, ranked.
"""
