"""What a running engine shows of itself: its settings, its traffic and arrivals, as the twin takes
them.
"""
