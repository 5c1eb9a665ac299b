"""The verbs that keep wrong limits out of production: gateway holds them where requests come in,
rules alerts on them.
"""
