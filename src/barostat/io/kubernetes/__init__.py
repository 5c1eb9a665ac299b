"""A Kubernetes cluster, read and written over its HTTP API. `cluster.py` is the one seam; nothing else here opens a connection."""
