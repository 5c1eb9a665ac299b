"""What every page is made of: one style, one set of parts, charts over time and ranges side by
side, and text made safe.
"""
