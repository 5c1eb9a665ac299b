"""The gateway's decision: what a request will hold, where it fits, whose turn it is, what is
refused at once. Pure: time is an argument.
"""
