"""The survey of a cluster: a table for the terminal and tickets, a page, and data."""
