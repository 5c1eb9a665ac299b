"""A prefill engine and a decode engine with a link between them: KV that one computes and the other
waits for.
"""
