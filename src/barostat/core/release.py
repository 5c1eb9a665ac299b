"""The version of Barostat itself.

The one place of it: the build reads it here, and `--help` answers without looking into installed
metadata.
"""

__version__ = "0.1.0"
