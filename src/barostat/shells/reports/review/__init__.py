"""The past as a report: the capacity review of weeks, and the post-mortem of a range of hours; as
Markdown, page and data.
"""
