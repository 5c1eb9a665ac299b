"""Labels of our own that several rooms read."""

from __future__ import annotations

SPARE = "barostat.dev/spare"
"""On the pods of a spare: they belong to the remedy, whatever else they are labelled with."""
