"""What surrounds the engine: Kubernetes objects, the host, a gateway's access log -> our
signals.
"""
