"""The form of the twin that takes a workload fastest, with the same result as any other."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from barostat.core.uncollected import uncollected
from barostat.twin.event_skipping.run import EventSkippingRun
from barostat.twin.event_skipping.state import EventSkippingState
from barostat.twin.outcome import Outcome
from barostat.twin.pace import Pace
from barostat.twin.request import Row
from barostat.twin.settings import Settings

if TYPE_CHECKING:
    from barostat.twin.scheduler.run import Watch


def simulate(
    settings: Settings, rows: Sequence[Row], pace: Pace, watch: Watch | None = None
) -> Outcome:
    """Simulate the rows and return the outcome. With a `watch` every step is taken and shown to it."""
    with uncollected():
        return _run(settings, rows, pace, watch)


def _run(settings: Settings, rows: Sequence[Row], pace: Pace, watch: Watch | None) -> Outcome:
    if watch is None and settings.drafting is None and not settings.kv_role:
        state = state_for(settings, rows)
        if state.tells_blocks_apart and counted_until_preempted(settings, rows):
            from barostat.twin.event_skipping.groups import CountedGroups, TellApartError

            try:
                return EventSkippingRun(settings, rows, pace, CountedGroups(settings)).run()
            except TellApartError:
                pass
        return EventSkippingRun(settings, rows, pace, state).run()
    from barostat.twin.scheduler.run import Steps  # loaded where every step is taken

    return Steps(settings, rows, pace, watch).run()


def state_for(settings: Settings, rows: Sequence[Row]) -> EventSkippingState:
    """The state of the fast form for such an engine and such requests: the simplest one that tracks
    blocks individually where their order matters.
    """
    if len(settings.groups) == 1 and settings.groups[0].is_full:
        if counts_say_all(settings, rows):
            return EventSkippingState(settings)
        if settings.behaviour.unhashed_reused_first:
            from barostat.twin.event_skipping.told_blocks import BlockLeapState

            return BlockLeapState(settings)
    if settings.prefix_caching:
        from barostat.twin.event_skipping.block_groups import BlockGroups

        return BlockGroups(settings)
    from barostat.twin.event_skipping.groups import CountedGroups

    return CountedGroups(settings)


def counted_until_preempted(settings: Settings, rows: Sequence[Row]) -> bool:
    """True if blocks need only be counted until a request is preempted: before that, nothing is
    found in the prefix cache. (With local chunks alone, all that lies before the last chunk counts
    as found.)
    """
    return share_nothing(rows) and any(group.chunk_tokens is None for group in settings.groups)


def share_nothing(rows: Sequence[Row]) -> bool:
    """True if no two requests share a prefix."""
    return all(row.prompt_token_ids is None and row.hash_ids is None for row in rows)


def counts_say_all(settings: Settings, rows: Sequence[Row]) -> bool:
    """True if no request can find another's block: then blocks need not be tracked individually.

    With caching and priorities, a victim may leave a block behind that it finds beside a second one
    of the same content.
    """
    if not settings.prefix_caching:
        return True
    return settings.policy == "fcfs" and share_nothing(rows)
