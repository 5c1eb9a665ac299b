"""The seam to the API server: kubeconfig, login, requests, watches, failures."""
