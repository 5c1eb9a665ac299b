"""A load test without the load: what is sent when, what came of it in numbers, where the knee is,
what that proves.
"""
