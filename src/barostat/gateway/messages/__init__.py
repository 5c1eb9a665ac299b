"""Parsing and formatting of everything on the wire: routes, heads, framing, usage, caps,
rejections, keys. Nothing here waits or holds a connection.
"""
