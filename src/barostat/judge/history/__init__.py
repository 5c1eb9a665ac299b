"""The past as a monitoring system kept it: its series made scrapes again, what was seen over hours
and days, and where that leads.
"""
