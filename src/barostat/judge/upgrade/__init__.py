"""What another version of vLLM changes for one deployment: defaults, arguments, rules of the
scheduler, metrics, kernels, and regressions that others reported; and one verdict on it.
"""
