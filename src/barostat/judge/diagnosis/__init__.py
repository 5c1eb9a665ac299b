"""Windows in, one diagnosis out: cause, scope, trigger, forecast, next steps, and what is
missing.
"""
