"""What the engine tries before it sizes its pool, beside the text model: towers with the largest
image, and CUDA graphs.
"""
