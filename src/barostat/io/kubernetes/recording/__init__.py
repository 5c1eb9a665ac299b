"""Pods of a cluster, looked at for a while through the API server: a recording."""
