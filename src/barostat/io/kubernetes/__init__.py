"""A Kubernetes cluster, read and written over its HTTP API: `client/` is the one seam, `recording/`
looks through it.
"""
