"""Loads and validations without an engine: made of requests that nobody sent."""

from __future__ import annotations

from barostat.core.limits import LimitsSpec, ServiceLevel, ServingLimits
from barostat.io.engine_http.address import address
from barostat.judge.load_test.figures import Collected, Figures, Reading, Sent, figures
from barostat.judge.load_test.knee import Knee, Tried
from barostat.judge.load_test.proof import Phase, beyond, proved
from barostat.load.target import Target
from barostat.shells.reports.load.validation import Validated
from barostat.twin.summary import Slo

SLO = Slo(1.0, 0.1)


def load(
    *,
    ttft_s: float = 0.2,
    refused: int = 0,
    measured: bool = True,
    late_s: float = 0.0,
    reason: str = "429 queue-full",
) -> Figures:
    """A run of a hundred requests, ten a second."""
    sent = []
    for place in range(100):
        at = place / 10
        one = Sent(
            at,
            at + late_s,
            200,
            20,
            status=200,
            fate="ok",
            produced=20,
            events=19,
            counted_input=201,
        )
        one.first_s, one.last_s, one.ended_s = at + ttft_s, at + ttft_s + 0.4, at + ttft_s + 0.41
        sent.append(one)
    sent += [
        Sent(5.0, 5.0, 200, 20, ended_s=5.1, status=429, fate="refused", reason=reason)
        for _ in range(refused)
    ]
    kept = Collected(sent, duration_s=11.0, cpu_s=0.4, peak=9, lags_s=[0.001, 0.002])
    for _ in range(1900):
        kept.gaps.add(0.02)
    if measured:
        kept.readings = [Reading(at, 0.3 + at / 40, 6, at // 4, 3) for at in range(11)]
    return figures(kept, SLO)


def nothing() -> Figures:
    """A run that was stopped before anything was sent."""
    return figures(Collected(interrupted=True))


def validation(
    *, good: bool = True, name: str = "limits.yaml", notes: tuple[str, ...] = ()
) -> Validated:
    """A validation with a knee, or one that failed without."""
    flags = (("block_size", "16"), ("cache_dtype", "auto"))
    target = Target(
        address("http://10.0.0.1:8000"),
        "completions",
        "Qwen/Qwen3-8B",
        "",
        "0.32.0",
        8192,
        flags,
        notes=notes,
    )
    run = load() if good else load(ttft_s=3.0, refused=7, measured=False)
    phases = [
        Phase("worst-mix", "16 at once", run),
        Phase("mixed", "10 requests/s", run, per_slot=False),
    ]
    checks = [beyond("input-limit", "request.maxInputTokens", 700, load(refused=3))]
    knee = (
        Knee(
            10.0,
            10.4,
            (Tried(10.0, "", load()), Tried(10.4, "TTFT p99 3 s, 1 s allowed", load(ttft_s=3.0))),
        )
        if good
        else None
    )
    limits = ServingLimits(LimitsSpec(slo=ServiceLevel(SLO.ttft_s, SLO.itl_s)))
    digest = "sha256:" + "0" * 64
    return Validated(
        target,
        name,
        "qwen",
        digest,
        SLO,
        "2026-11-20T10:00:00Z",
        proved(phases, limits, checks, knee),
    )
