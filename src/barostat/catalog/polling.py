"""Default polling interval and observation windows of engines, and what follows from them."""

from __future__ import annotations

INTERVAL_S = 5.0
"""Time between two scrapes."""
FOR_S = max(30.0, 2 * INTERVAL_S)
"""Default observation time, and length of the window that a verdict is based on."""
FLEET_FOR_S = INTERVAL_S
"""Observation time for a fleet: two scrapes, so that the answer comes while the user waits."""
SAMPLED_S = max(90.0, 3 * INTERVAL_S)
"""Age at which a signal sampled every few seconds is stale: three times the slowest usual interval.
"""
GAP_S = max(60.0, 2 * INTERVAL_S)
"""Two looks further apart than this say nothing about what happened between them."""
