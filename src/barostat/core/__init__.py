"""The nouns, and what every room may know: units, names, versions, errors, what looks like a
secret.
"""
