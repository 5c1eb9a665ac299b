"""What recorded engines are advised once their twin has tried it: the trials of a recording are
made once for all tests of a run.
"""

from __future__ import annotations

import contextlib
from pathlib import Path

from barostat.io.bundles import bundle
from barostat.judge.advice.tried_steps import advised
from barostat.judge.diagnosis.diagnose import Examination
from barostat.judge.evidence.recording import Recording
from barostat.twin.summary import Slo

BUNDLES = Path(__file__).resolve().parents[1] / "data" / "bundles"
TRIED = (
    "few-large-growing",
    "few-large-watermark",
    "kv-admission-queueing",
    "kv-preemption-thrash",
    "large-bursts-on-small",
    "prefill-bound",
    "rare-preemption",
    "slot-bound",
)
"""Bundles of engines in trouble that comes from load."""
_TRIED: dict[str, Examination] = {}


def recorded(name: str) -> Recording:
    """A recorded bundle, read from beside it: all that is made of it says the same, wherever the
    checkout lies.
    """
    with contextlib.chdir(BUNDLES):
        return bundle.read(Path(name))


def advised_once(recording: Recording, slo: Slo = Slo()) -> Examination:  # noqa: B008 (frozen)
    """As `advised` has it. Of two recordings with one target, which `recorded` never gives, it
    would tell the first.
    """
    if recording.target not in _TRIED:
        _TRIED[recording.target] = advised(recording, slo)
    return _TRIED[recording.target]
