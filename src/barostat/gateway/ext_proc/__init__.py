"""The gateway's decision as an external processor of Envoy, and as the endpoint picker of the
Gateway API Inference Extension.
"""
