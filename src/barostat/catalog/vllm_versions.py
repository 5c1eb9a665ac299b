"""The version of vLLM that is meant where nobody says which."""

from __future__ import annotations

DEFAULT_VERSION = "0.32.0"
"""The version whose own code the arithmetic, the command line and the twin's every step are held to
(tests/parity), and the one that runs in the tests. 0.33.0 is known from its published wheel alone,
so it is read and planned where it is named, and never assumed.
"""
