"""What listens in front of the engines: requests are read, decided on by `admit`, passed on byte
for byte, and accounted for.
"""
