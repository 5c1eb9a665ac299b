"""The form of the twin that takes a workload fastest, with the same result as any other."""

from __future__ import annotations

from collections.abc import Sequence

from barostat.twin.leap import Leaps
from barostat.twin.outcome import Outcome
from barostat.twin.request import Row
from barostat.twin.run import Pace, Steps, Watch
from barostat.twin.settings import Settings


def simulate(settings: Settings, rows: Sequence[Row], pace: Pace, watch: Watch | None = None) -> Outcome:
    """What the engine does with the rows. With a `watch` every step is taken and shown to it."""
    if watch is None and leaps_apply(settings, rows):
        return Leaps(settings, rows, pace).run()
    return Steps(settings, rows, pace, watch).run()


def leaps_apply(settings: Settings, rows: Sequence[Row]) -> bool:
    """True if counts of blocks say all: one group of full attention, and nobody can find a block that is not its own.

    With caching and priorities, a victim may leave a block behind that it finds beside a second one of the same content: then
    blocks have to be told apart.
    """
    if len(settings.groups) != 1 or settings.groups[0].window_tokens is not None:
        return False
    if not settings.prefix_caching:
        return True
    return settings.policy == "fcfs" and all(row.prompt_token_ids is None and row.hash_ids is None for row in rows)
