"""What this machine shows of engines that run on it: processes, cgroups, listeners; and their
recording.
"""
