"""Memory outside the text model that the engine profiles before it sizes its pool: towers with the
largest image, and CUDA graphs.
"""
