"""From a diagnosis and what surrounds the target to a remedy's plan, its promise and its
forecast.
"""
