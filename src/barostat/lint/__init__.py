"""Judging of manifests before they run: documents with the place of every value, facts about what
they start, rules over the facts.
"""
