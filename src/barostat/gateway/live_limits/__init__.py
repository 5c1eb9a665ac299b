"""The limits in force: from the file, reloaded, and tightened for a while by a holder of a lease;
and the port to do so.
"""
