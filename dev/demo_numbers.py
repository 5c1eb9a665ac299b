"""The demo's numbers: what clients and /metrics saw in a stretch of time."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from dev.demo_traffic import Answer, Sample

SLO_TTFT_S, SLO_ITL_S = 1.0, 0.03
"""What a good answer keeps: the first token within a second, the others 30 ms apart on average."""
_AHEAD_S = 1e-9


@dataclass(frozen=True, slots=True)
class Numbers:
    """Of one stretch. None: nothing was seen. `good_per_s`: answers that ended in it and kept the
    service level; `offered_per_s`: asked. `ttft_p99_s` counts from a request's first try, so that
    rejected tries and the pauses between them are in it; `accepted_ttft_p99_s` from the try that
    was answered.
    """

    offered_per_s: float
    answered_per_s: float
    good_per_s: float
    preemptions_per_s: float | None
    kv_usage_ratio: float | None
    running: float | None
    waiting: float | None
    ttft_p99_s: float | None
    itl_p99_s: float | None
    accepted_ttft_p99_s: float | None

    def told(self) -> str:
        """In one line."""
        parts = [f"good answers {self.good_per_s:.1f} of {self.offered_per_s:.1f}/s"]
        if (
            self.running is not None
            and self.waiting is not None
            and self.kv_usage_ratio is not None
        ):
            parts.append(
                f"running {self.running:.0f}, waiting {self.waiting:.0f}, KV "
                f"{self.kv_usage_ratio:.0%}"
            )
        if self.preemptions_per_s is not None:
            parts.append(f"{self.preemptions_per_s:.1f} preemptions/s")
        if self.accepted_ttft_p99_s is not None and self.ttft_p99_s is not None:
            parts.append(
                f"TTFT p99 {self.accepted_ttft_p99_s:.2f} s when accepted, "
                f"{self.ttft_p99_s:.2f} s from the first try"
            )
        if self.itl_p99_s is not None:
            parts.append(f"ITL p99 {self.itl_p99_s * 1000:.0f} ms")
        return ", ".join(parts)


def numbers(
    answers: Sequence[Answer], samples: Sequence[Sample], from_s: float, until_s: float
) -> Numbers:
    """What was seen from one instant to another."""
    seconds = max(_AHEAD_S, until_s - from_s)
    ended = [
        one for one in list(answers) if one.done_s is not None and from_s <= one.done_s < until_s
    ]
    begun = [
        one for one in list(answers) if one.first_s is not None and from_s <= one.first_s < until_s
    ]
    seen = [sample for sample in list(samples) if from_s <= sample.at_s < until_s]
    gaps = [
        gap for one in list(answers) for at_s, gap in list(one.stalls) if from_s <= at_s < until_s
    ]
    return Numbers(
        offered_per_s=sum(1 for one in list(answers) if from_s <= one.sent_s < until_s) / seconds,
        answered_per_s=len(ended) / seconds,
        good_per_s=sum(1 for one in ended if one.is_good(SLO_TTFT_S, SLO_ITL_S)) / seconds,
        preemptions_per_s=preemption_rate(seen),
        kv_usage_ratio=_mean(sample.kv_usage_ratio for sample in seen),
        running=_mean(sample.running for sample in seen),
        waiting=_mean(sample.waiting for sample in seen),
        ttft_p99_s=quantile(
            (one.first_s - one.sent_s for one in begun if one.first_s is not None), 0.99
        ),
        accepted_ttft_p99_s=quantile(
            (
                one.first_s - one.accepted_s
                for one in begun
                if one.first_s is not None and one.accepted_s is not None
            ),
            0.99,
        ),
        itl_p99_s=quantile(gaps, 0.99),
    )


def preemption_rate(samples: Sequence[Sample]) -> float | None:
    """Preemptions per second from the first sample to the last; a counter that went back began
    anew.
    """
    if len(samples) < 2 or samples[-1].at_s <= samples[0].at_s:
        return None
    counted = sum(
        max(0.0, after.preemptions - before.preemptions) for before, after in pairwise(samples)
    )
    return counted / (samples[-1].at_s - samples[0].at_s)


def quantile(values: Iterable[float], share: float) -> float | None:
    """The value that this share of them do not exceed; None of nothing."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(len(ordered) * share))] if ordered else None


def _mean(values: Iterable[float]) -> float | None:
    found = list(values)
    return sum(found) / len(found) if found else None
