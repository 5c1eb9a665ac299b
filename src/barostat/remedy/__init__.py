"""The remedy: a plan, its pre-checks, the state machine that carries it out, and the verification.
Pure; io performs the commands.
"""
