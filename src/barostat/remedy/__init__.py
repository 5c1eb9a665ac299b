"""The remedy: a plan, the checks before it, the machine that carries it out, the judgement after
it. Pure: io performs what it asks for.
"""
