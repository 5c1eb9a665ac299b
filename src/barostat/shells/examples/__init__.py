"""Small samples that come with the package, made by us, so that the commands of the guide run as
they are printed.
"""
