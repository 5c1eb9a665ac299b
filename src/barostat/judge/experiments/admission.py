"""The result of a simulation behind a gateway: goodput, preempted share, rejections, and whether
the limits held (`simulate --gateway`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from barostat.admit.rules import Rules
from barostat.core.verdict import Absent, Evidence, Present, Unknown, Verdict
from barostat.judge.experiments.gated import Fleet, GatedOutcome, GatedRun, Traffic
from barostat.judge.experiments.gates import GateName
from barostat.twin.intake import NS
from barostat.twin.outcome import Life
from barostat.twin.summary import Slo, Spread, spread

_WARMING_RATIO = 0.1
_LEAST_REQUESTS = 50


@dataclass(frozen=True, slots=True)
class GatedSummary:
    """One run behind a gate, of the requests that came after the first tenth of the time, in which
    empty engines fill up.

    `good_per_s`: answered within the service level. `preempted_ratio`: of those that reached an
    engine, how many were preempted at least once. `refused`: by reason. `ttft` counts from the
    arrival at the gate. `held_ratio`: of the pools, mean. `harm`: Present where more were preempted
    than the limits allow.
    """

    gate: GateName
    requests: int
    reached: int
    finished: int
    good: int
    good_per_s: float
    preempted_ratio: float
    output_tokens_per_s: float
    refused: Mapping[str, int]
    ttft: Spread
    waited: Spread
    held_ratio: float
    margin: float
    harm: Verdict


def run_gated(
    fleet: Fleet, rules: Rules, traffic: Traffic, slo: Slo, gate: GateName = "forecast"
) -> GatedSummary:
    """Simulate the fleet behind that gate."""
    return summed_up(GatedRun(fleet, rules, traffic, gate).run(), rules, slo, gate)


def summed_up(outcome: GatedOutcome, rules: Rules, slo: Slo, gate: GateName) -> GatedSummary:
    """Summarise a gated run."""
    from_s = _WARMING_RATIO * outcome.last_arrival_s
    span_s = max(outcome.last_arrival_s - from_s, 1e-9)
    lives = [life for name, life in outcome.lives.items() if outcome.arrived_s[name] >= from_s]
    done = [life for life in lives if life.finished_ns is not None]
    first = [
        life.first_token_ns / NS - outcome.arrived_s[life.request_id]
        for life in lives
        if life.first_token_ns is not None
    ]
    good = sum(_is_good(life, outcome.arrived_s[life.request_id], slo) for life in done)
    preempted = sum(life.preemptions > 0 for life in lives)
    ratio = preempted / len(lives) if lives else 0.0
    return GatedSummary(
        gate=gate,
        requests=sum(at >= from_s for at in outcome.arrived_s.values()),
        reached=len(lives),
        finished=len(done),
        good=good,
        good_per_s=good / span_s,
        preempted_ratio=ratio,
        output_tokens_per_s=sum(life.output_tokens for life in done) / span_s,
        refused=Counter(
            one.reason for one in outcome.refused if outcome.arrived_s[one.request_id] >= from_s
        ),
        ttft=spread(first),
        waited=spread(outcome.waited_s),
        held_ratio=sum(outcome.held_ratios) / len(outcome.held_ratios)
        if outcome.held_ratios
        else 0.0,
        margin=outcome.margins[-1] if outcome.margins else 0.0,
        harm=_harm(ratio, len(lives), rules),
    )


def _is_good(life: Life, arrived_s: float, slo: Slo) -> bool:
    if life.finished_ns is None or life.first_token_ns is None:
        return False
    if slo.ttft_s is not None and life.first_token_ns / NS - arrived_s > slo.ttft_s:
        return False
    gaps = life.output_tokens - 1
    return (
        slo.itl_s is None
        or gaps <= 0
        or (life.finished_ns - life.first_token_ns) / NS / gaps <= slo.itl_s
    )


def _harm(ratio: float, reached: int, rules: Rules) -> Verdict:
    measured = Evidence("preempted requests", ratio, "ratio", 0.0, "the twin, behind the gate")
    if reached < _LEAST_REQUESTS:
        return Unknown(f"only {reached} requests reached an engine")
    told = f"{ratio:.2%} of {reached:,} requests were preempted; {rules.preempted_ratio:.2%} may be"
    if ratio > rules.preempted_ratio:
        return Present(told, (measured,))
    return Absent(told, (measured,))
