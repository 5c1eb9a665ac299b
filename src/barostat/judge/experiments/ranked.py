"""Simulates a workload on the data-parallel ranks of one endpoint: results of each rank and of all,
and which ranks thrash.
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
"""From this version on, the default is one API server per rank, and each balances independently."""
_BALANCED_AS = "0.32."
_THRASHES = 0.1
"""Preemptions per request above which a rank counts as thrashing."""


@dataclass(frozen=True, slots=True)
class Ranked:
    """Result of one run. `summaries`: one per rank; `summary`: of all ranks. `notes`: sentences for
    the report.
    """

    outcome: RanksOutcome
    summary: Summary
    summaries: tuple[Summary, ...]
    notes: tuple[str, ...]
    in_step: bool

    @property
    def thrashing(self) -> tuple[int, ...]:
        """Ranks that thrash, the worst first."""
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
    """Run the workload. `in_step`: ranks step together (the model has experts). `seed`: selects the
    API server that each request reaches.

    Errors: InputError for a row that names a rank that does not exist.
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
