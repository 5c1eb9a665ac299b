"""A workload on a prefill engine and a decode engine: what each half and both together come to."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from barostat.catalog.vllm_versions import DEFAULT_VERSION
from barostat.core.units import many
from barostat.twin.pace import Pace
from barostat.twin.remote_kv.link import Link
from barostat.twin.remote_kv.pair import Pair, PairOutcome
from barostat.twin.request import Row
from barostat.twin.settings import Settings
from barostat.twin.summary import Slo, Spread, Summary, spread, summarise

_NS = 1e9
_NARROW_RATIO = 0.9
"""A link that is busy for this share of the run holds requests up."""


@dataclass(frozen=True, slots=True)
class Paired:
    """One run. `summary`: as clients see it; `prefill`, `decode`: of the halves. `transfers`:
    seconds from the request for KV to its arrival. `notes`: sentences for a person.
    """

    outcome: PairOutcome
    decode_settings: Settings
    usable_blocks: int
    summary: Summary
    prefill: Summary
    decode: Summary
    transfers: Spread
    link_busy_ratio: float
    notes: tuple[str, ...]

    @property
    def link_is_narrow(self) -> bool:
        """True if KV moves nearly all the time."""
        return self.link_busy_ratio >= _NARROW_RATIO


def paired_run(
    prefill: Settings,
    decode: Settings,
    rows: Sequence[Row],
    pace: Pace,
    link: Link,
    slo: Slo,
    front_s: float,
    *,
    version: str = DEFAULT_VERSION,
) -> Paired:
    """The run; both engines have this pace.

    Errors: InputError for settings that are not modelled with a KV connector.
    """
    outcome = Pair(prefill, decode, rows, pace, pace, link).run()
    notes = []
    if not version.startswith(DEFAULT_VERSION.rpartition(".")[0] + "."):
        notes.append(
            f"KV is handed over as vLLM {DEFAULT_VERSION} does it (NIXL, pull), not {version}"
        )
    lost = len(outcome.prefill.lives) - len(outcome.decode.lives)
    if lost:
        notes.append(f"{many(lost, 'request')} never reached the decode engine")
    usable = prefill.usable_blocks + decode.usable_blocks
    summary = summarise(outcome.together, usable, slo, front_s)
    over_s = summary.duration_s
    return Paired(
        outcome,
        decode,
        usable,
        summary,
        summarise(outcome.prefill, prefill.usable_blocks, slo, front_s),
        summarise(outcome.decode, decode.usable_blocks, slo, front_s),
        spread(took / _NS for took in outcome.wire.took_ns),
        min(1.0, outcome.wire.busy_ns / _NS / over_s) if over_s else math.nan,
        tuple(notes),
    )
