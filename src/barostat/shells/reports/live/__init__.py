"""The fleet as it is now, for a terminal: rows, what keys do to the view, and the frame that is
drawn.
"""
