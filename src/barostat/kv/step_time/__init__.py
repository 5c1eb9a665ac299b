"""Predicts step times on a card: the bytes and operations of a step, and the measured speeds of
cards.
"""
