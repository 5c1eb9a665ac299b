"""What holds for every test: how many examples a property is tried on, and that a slow machine is no failure."""

from __future__ import annotations

from hypothesis import settings

settings.register_profile("barostat", max_examples=50, deadline=None)
settings.load_profile("barostat")
