"""The digital twin: vLLM's scheduler and block pool making the same decisions, step for step,
without an engine or a clock.
"""
