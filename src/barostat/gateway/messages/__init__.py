"""What goes over the wire, as text: routes, heads, framing, usage, caps, refusals, keys. Nothing
here waits or holds a connection.
"""
