"""What looks like a secret, taken out of text: pure, so that every room can do it before it
quotes.
"""
