"""A workload on the data-parallel ranks of one endpoint: what each of them and all together come
to, and which of them thrashes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from barostat.catalog.vllm_versions import DEFAULT_VERSION
from barostat.core.units import many
from barostat.core.version import parse_version
from barostat.twin.data_parallel.lock_step import LockStep
from barostat.twin.data_parallel.ranks import Ranks, RanksOutcome
from barostat.twin.pace import Pace
from barostat.twin.request import Row
from barostat.twin.settings import Settings
from barostat.twin.summary import Slo, Summary, summarise

_SERVER_EACH_SINCE = "0.15.0"
"""As many API servers as ranks are the default, each of which balances by itself."""
_BALANCED_AS = "0.32."
_THRASHES = 0.1
"""So many preemptions for each request are worth a name."""


@dataclass(frozen=True, slots=True)
class Ranked:
    """One run. `summaries`: of each rank; `summary`: of all. `notes`: sentences for a person."""

    outcome: RanksOutcome
    summary: Summary
    summaries: tuple[Summary, ...]
    notes: tuple[str, ...]
    in_step: bool

    @property
    def thrashing(self) -> tuple[int, ...]:
        """The ranks that preempt more than now and then, the worst first."""
        ratios = {
            rank: one.preemptions / len(one.lives)
            for rank, one in enumerate(self.outcome.ranks)
            if one.lives and one.preemptions > _THRASHES * len(one.lives)
        }
        return tuple(sorted(ratios, key=lambda rank: -ratios[rank]))


def ranked_run(
    settings: Settings,
    rows: Sequence[Row],
    pace: Pace,
    ranks: int,
    slo: Slo,
    front_s: float,
    *,
    version: str = DEFAULT_VERSION,
    in_step: bool = False,
    seed: int = 0,
) -> Ranked:
    """The run. `in_step`: the model has experts. `seed`: of which API server a request reaches.

    Errors: InputError for a row that asks for a rank that is not there.
    """
    known = parse_version(version)
    servers = ranks if known is None or known.at_least(_SERVER_EACH_SINCE) else 1
    form = LockStep if in_step else Ranks
    outcome = form(settings, rows, pace, ranks, servers, seed).run()
    notes = []
    if known is not None and not version.startswith(_BALANCED_AS):
        notes.append(f"ranks are chosen as vLLM {DEFAULT_VERSION} chooses them, not {version}")
    if in_step:
        notes.append(
            f"the ranks step together, as its experts are spread over them: "
            f"{many(outcome.dummy_steps, 'step')} of a rank had nothing to compute"
        )
    usable = settings.usable_blocks
    return Ranked(
        outcome,
        summarise(outcome.together, ranks * usable, slo, front_s),
        tuple(summarise(one, usable, slo, front_s) for one in outcome.ranks),
        tuple(notes),
        in_step,
    )
