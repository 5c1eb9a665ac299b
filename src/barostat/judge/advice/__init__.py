"""Next steps tried on the twin of the engine that they are for: their order, their values, and what
each is forecast to bring.
"""
