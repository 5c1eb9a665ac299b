"""How often, and for how long, an engine is looked at where nobody says otherwise. What has to span
several looks follows from it.
"""

from __future__ import annotations

INTERVAL_S = 5.0
"""Between two looks."""
FOR_S = max(30.0, 2 * INTERVAL_S)
"""How long is looked before anything is judged, and how far back a verdict looks."""
FLEET_FOR_S = INTERVAL_S
"""How long many replicas are looked at: two looks, and an answer while one waits for it."""
SAMPLED_S = max(90.0, 3 * INTERVAL_S)
"""Age limit of what is sampled every few seconds: three looks at the slowest usual interval."""
GAP_S = max(60.0, 2 * INTERVAL_S)
"""Two looks further apart than this say nothing about what happened between them."""
