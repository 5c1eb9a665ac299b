"""The demo's second act: the same engine as at first, the same burst, and `barostat gateway` in
front of it. Nothing collapses.

The gateway is told what one request may ask for and how fast a first token is wanted, no more: the
pool it reads from the engine, and how long answers get it learns from the calm before the burst.
What does not fit in time is told so at once, and comes back when it was told to.
"""

from __future__ import annotations

import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from dev.demo_numbers import SLO_TTFT_S, Numbers, numbers
from dev.demo_traffic import Answer, Refusal, Sample, Shape, Traffic, Watch
from dev.gateway_process import GatewayProcess
from dev.twin_engine import TwinEngine

PREEMPTED_RATIO = 0.05
"""Of the answers, at most so many may be preempted behind a gateway that has seen five seconds of
this traffic. It aims at 1 %; of 214 answers 5 were preempted once.
"""


@dataclass(frozen=True, slots=True)
class Burst:
    """What the clients do: calm, so many times as many for a while, and the former rate again.
    Seconds.
    """

    shape: Shape
    factor: float
    calm_s: float
    burst_s: float
    after_s: float


@dataclass(frozen=True, slots=True)
class SecondAct:
    """What happened behind the gateway. `without`, `behind`: numbers of the burst and what came
    after, in the first act and in this one.
    """

    limits: str
    answers: Sequence[Answer]
    samples: Sequence[Sample]
    refusals: Sequence[Refusal]
    marks: tuple[tuple[float, str], ...]
    without: Numbers
    behind: Numbers
    preempted: int

    def preempted_words(self) -> str:
        """How often the engine preempted."""
        return {0: "no preemption", 1: "one preemption"}.get(
            self.preempted, f"{self.preempted} preemptions"
        )

    def ttft_words(self) -> str:
        """What the two TTFTs are, and why they differ."""
        accepted_s, all_s = self.behind.accepted_ttft_p99_s, self.behind.ttft_p99_s
        if accepted_s is None or all_s is None:
            return "nothing was answered"
        kept = (
            "within the SLO"
            if accepted_s <= SLO_TTFT_S
            else "above the SLO: this machine was too busy for the clients or the engine"
        )
        return (
            f"TTFT p99 of accepted requests {accepted_s:.2f} s, {kept} of {SLO_TTFT_S:g} s: a "
            f"request queues for at most {0.8 * SLO_TTFT_S:g} s; {all_s:.2f} s from the first attempt: the burst exceeds "
            "the engine's throughput, and rejected clients retry"
        )

    def refused_words(self) -> str:
        """How many were refused, with what, and what they were told."""
        if not self.refusals:
            return "no request was rejected"
        kinds = Counter(f"{one.status} {one.reason}" for one in self.refusals)
        waits = [one.retry_after_s for one in self.refusals if one.retry_after_s is not None]
        least, most = (
            f"{found:.0f}" for found in (min(waits, default=0.0), max(waits, default=0.0))
        )
        said = (
            f", Retry-After {least if least == most else f'{least} to {most}'} s" if waits else ""
        )
        return (
            f"{len(self.refusals)} requests were rejected immediately "
            f"({', '.join(f'{count} x {kind}' for kind, count in kinds.most_common())}){said}"
        )


def wrong_in(act: SecondAct) -> str | None:
    """What was not as a gateway promises it, None where all was."""
    answered = sum(one.done_s is not None for one in act.answers)
    if act.preempted > PREEMPTED_RATIO * answered:
        return f"{act.preempted} preemptions behind the gateway, for {answered} answers"
    if not all(one.is_clear for one in act.refusals):
        return (
            f"a refusal that is not clear: {next(one for one in act.refusals if not one.is_clear)}"
        )
    if act.behind.good_per_s < 2 * act.without.good_per_s:
        return (
            f"{act.behind.good_per_s:.1f} good answers/s behind the gateway, "
            f"{act.without.good_per_s:.1f} without it"
        )
    return None


def behind_the_gateway(engine: TwinEngine, burst: Burst, without: Numbers) -> SecondAct:
    """The burst has come and gone, and the engine has not noticed. `engine`: just started."""
    longest = burst.shape.output_tokens[1]
    spec = f"request: {{maxOutputTokens: {longest}}}\nslo: {{ttftP99Seconds: {SLO_TTFT_S:g}}}"
    with (
        tempfile.TemporaryDirectory(prefix="barostat-demo-") as folder,
        GatewayProcess(Path(folder), spec, engine.url) as gateway,
        Traffic(gateway.url, burst.shape) as traffic,
        Watch(engine.url, traffic) as watch,
    ):
        time.sleep(burst.calm_s)
        begun_s = traffic.now_s()
        traffic.burst(burst.factor, burst.burst_s)
        time.sleep(burst.burst_s + burst.after_s)
        ended_s = traffic.now_s()
        answers, samples, refusals = (
            list(traffic.answers),
            list(watch.samples),
            list(traffic.refusals),
        )
        preempted = round(
            sum(max(0.0, after.preemptions - samples[0].preemptions) for after in samples[-1:])
        )
    return SecondAct(
        spec.replace("\n", "  "), answers, samples, refusals, ((begun_s, "burst"),), without,
        numbers(answers, samples, begun_s, ended_s), preempted,
    )  # fmt: skip
