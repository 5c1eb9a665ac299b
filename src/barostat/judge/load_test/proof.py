"""What the phases of a validation prove: each limit held against what was measured, and the
verdict.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from barostat.core.limits import ServingLimits
from barostat.judge.load_test.figures import Figures
from barostat.judge.load_test.knee import Knee, falls_behind
from barostat.twin.summary import Slo

Standing = Literal["pass", "fail", "note", "unknown"]
Verdict = Literal["pass", "fail", "unknown"]
PREEMPTED_RATIO = 0.01
"""Highest acceptable number of preemptions per request: preempted work is computed twice, and
limits exist to prevent that.
"""
FEW = 20


@dataclass(frozen=True, slots=True)
class Phase:
    """One part of the validation: its name, what was sent, and what came of it. `per_slot`: at most
    as many at once as have a slot.
    """

    name: str
    traffic: str
    found: Figures
    per_slot: bool = True


@dataclass(frozen=True, slots=True)
class Check:
    """One thing that the limits promise: whether it held, in a sentence."""

    phase: str
    name: str
    standing: Standing
    told: str


@dataclass(frozen=True, slots=True)
class Proof:
    """The whole. `knee` None: not looked for."""

    phases: tuple[Phase, ...]
    checks: tuple[Check, ...]
    knee: Knee | None = None

    @property
    def verdict(self) -> Verdict:
        """Fail where one thing failed; unknown if something could not be determined; else pass."""
        standings = {check.standing for check in self.checks}
        return (
            "fail"
            if "fail" in standings
            else "unknown"
            if "unknown" in standings or not self.phases
            else "pass"
        )


def proved(
    phases: Sequence[Phase],
    limits: ServingLimits,
    beyond: Sequence[Check] = (),
    knee: Knee | None = None,
) -> Proof:
    """The checks of all phases. `beyond`: what became of requests that the limits do not allow."""
    slo = Slo(limits.spec.slo.ttft_p99_seconds, limits.spec.slo.itl_p99_seconds)
    found = [check for phase in phases for check in _checks(phase, slo)]
    return Proof(tuple(phases), (*found, *beyond), knee)


def _checks(phase: Phase, slo: Slo) -> Iterator[Check]:
    found = phase.found
    name = phase.name
    if found.interrupted:
        yield interrupted(name)
    # Late sends are in the times that clients waited, and come all at once: with them it may pass,
    # but what fails may be the sender's.
    missed: Standing = "unknown" if found.keeping.trouble else "fail"
    if found.keeping.trouble:
        standing: Standing = "unknown" if found.keeping.overloaded else "note"
        yield Check(
            name, "sender", standing, f"the sender did not keep up: {found.keeping.trouble}"
        )
    yield _answered(phase)
    if found.engine is not None:
        thrown = found.engine.preemptions
        most = PREEMPTED_RATIO * max(1, found.sent)
        told = (
            f"{thrown:,} preemptions for {found.sent:,} requests, KV usage "
            f"{found.engine.usage_max_ratio:.0%} at most"
        )
        yield Check(name, "preemptions", "fail" if thrown > most else "pass", told)
    else:
        yield Check(
            name,
            "preemptions",
            "note",
            "the engine's metrics cannot be read here: preemptions are not known",
        )
    for kind, spread, allowed in (("TTFT", found.ttft, slo.ttft_s), ("ITL", found.itl, slo.itl_s)):
        if allowed is None or spread.p99 is None:
            continue
        few = f" (of {spread.count} only)" if spread.count < FEW else ""
        told = f"{kind} p99 {_seconds(spread.p99)}{few}, {_seconds(allowed)} allowed"
        yield Check(name, f"{kind.lower()}-p99", missed if spread.p99 > allowed else "pass", told)
    if not phase.per_slot and falls_behind(found):
        yield Check(name, "keeps-up", missed, "ever more requests are under way: it falls behind")


def interrupted(phase: str) -> Check:
    """A person stopped it there: nothing is proved."""
    return Check(phase, "whole", "unknown", "interrupted before its end")


def _answered(phase: Phase) -> Check:
    found = phase.found
    reasons = ", ".join(
        f"{count:,} with {reason}" for reason, count in list(found.reasons.items())[:3]
    )
    if found.errors or found.refused:
        failed = (
            f"{found.refused:,} refused and {found.errors:,} failed of {found.sent:,} that the "
            "limits allow"
        )
        return Check(phase.name, "answered", "fail", f"{failed}: {reasons}")
    if found.cut and not found.interrupted:
        return Check(
            phase.name, "answered", "fail", f"{found.cut:,} of {found.sent:,} did not end in time"
        )
    standing: Standing = "unknown" if not found.ok else "pass"
    return Check(phase.name, "answered", standing, f"{found.ok:,} of {found.sent:,} answered")


def beyond(name: str, field: str, tokens: int, found: Figures) -> Check:
    """Check that a request longer than the limits is refused, if something enforces them."""
    if found.refused:
        return Check(
            "beyond",
            name,
            "pass",
            f"{tokens:,} tokens are refused, {next(iter(found.reasons), '')}",
        )
    if found.ok or found.ttft.count:
        return Check(
            "beyond",
            name,
            "note",
            f"{tokens:,} tokens are taken: nothing at this address enforces {field} (the "
            "gateway does)",
        )
    return Check(
        "beyond", name, "note", f"{tokens:,} tokens: {next(iter(found.reasons), 'no answer')}"
    )


def _seconds(value: float) -> str:
    return f"{value:.3g} s" if value >= 1 else f"{value * 1000:.3g} ms"
