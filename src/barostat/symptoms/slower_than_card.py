"""Steps take several times as long as this model on this card should need for what they compute.

Meaning: requests run all the time, so one step follows the other, and yet the tokens that come out
are what the card should compute in a small part of it. Something holds the steps up that is neither
the load nor the KV cache.

Impact: everything is slow: time to first token, gap between tokens, throughput. Queues grow at a
load that the deployment should carry, and look like too many prompts or too few slots.

Evidence: seconds of steps a second that the step model expects for the measured prompt and
generated tokens, running requests and cache, against the one second that passed; held over
readings. What explains it, where that was seen: layers divided between nodes or over PCIe, eager
mode, a throttled or shared card, a core or a container short of CPU, weights in the host's memory,
synchronous debugging, an attention backend or a format of weights without kernels for the card.

Not evidence: an engine that idles between requests, or whose last one was given up (gauges keep
their value). A long prompt, which is counted when it is over: readings without a token before it
are its time. A step model of a kind of card, model or engine that was never measured: its
uncertainty is stated and taken into account. Utilisation: a card that waits in a collective looks
busy.

Mitigation: what explains it first. Between nodes: tensor parallelism inside a node and pipeline
stages between them; a fast network with GPUDirect where that cannot be. Take off --enforce-eager
and debugging variables; give the core its CPUs; move off a throttled card.

Source: docs/decisions/step-time.md for the model and its error; vLLM's guide to parallelism (tensor
parallelism within a node).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from barostat.catalog.slow_settings import slow_settings_of
from barostat.core.signal import Signal
from barostat.core.symptom import Harm, Symptom
from barostat.core.verdict import Absent, Evidence, Present, Verdict
from barostat.core.window import Window
from barostat.symptoms._holding import ENOUGH_READINGS, holding, recent_mean, together

LEAST_FACTOR = 3.0
"""Smallest factor over the expected step time, however certain the model: settings unknown to it
cost some time.
"""
DEVIATIONS = 4.0
BUSY_SHARE = 0.9
"""Share of the readings in which a request must run: only then every second is an engine's step."""
CORE_FULL_CORES = 0.95
SLACK_RATIO = 0.7
"""A card that is used less waits for its host."""
THROTTLED_RATIO = 0.25
SHARED_BYTES = 2 * 2**30


def judge(window: Window) -> Verdict:
    """Present if the engine always runs and needs several times what the model expects."""
    expected, error, running = (
        _at_work(window["expected_work_ratio"]),
        window["expected_work_error_ratio"],
        window["running_requests"],
    )
    generated = window["generation_tokens_per_s"]
    needed = recent_mean(expected)
    evidence: tuple[Evidence, ...] = (
        expected.evidence(
            window.at,
            needed,
            f"seconds of steps a second, {expected.source}, {error.last:.0%} either way",
        ),
        running.evidence(window.at, running.mean, "mean"),
        generated.evidence(window.at, generated.mean, "mean"),
    )
    if needed <= 0:
        return Absent("no token is computed: nothing to hold against the card", evidence)
    if len(expected.points) < min(ENOUGH_READINGS, len(window["expected_work_ratio"].points)):
        return Absent("tokens came in too few readings to hold them against the card", evidence)
    busy = holding(together(running), lambda runs: runs >= 1)
    if busy.share < BUSY_SHARE:
        return Absent(
            f"the engine idles between requests ({busy.share:.0%} of readings have one running)",
            evidence,
        )
    least = max(LEAST_FACTOR, 1 + DEVIATIONS * error.last)
    slow = holding(together(expected), lambda seconds: seconds * least < 1)
    if not slow.holds or needed * least >= 1:
        return Absent(
            f"the card needs {needed:.0%} of the time for this load, as the step model has "
            f"it: no {least:.1f}th part",
            evidence,
        )
    seen = list(_explanations(window))
    why = f"; {'; '.join(seen)}" if seen else "; nothing that was seen explains it"
    because = f"steps take {1 / needed:.0f} times as long as this card should need for them{why}"
    return Present(
        because, evidence, min(slow.confidence, busy.confidence) * (0.95 if seen else 0.85)
    )


def _at_work(expected: Signal) -> Signal:
    """Up to the last reading with a token: what comes after it is a prompt that is not counted yet,
    or nothing at all.
    """
    last = next(
        (
            place
            for place in range(len(expected.points), 0, -1)
            if expected.points[place - 1].value > 0
        ),
        1,
    )
    return replace(expected, points=expected.points[:last])


def times_too_slow(window: Window) -> float:
    """How many times as long as expected steps take; 1 where that is not known."""
    expected = window.fresh("expected_work_ratio")
    needed = 0.0 if expected is None else recent_mean(_at_work(expected))
    return 1 / needed if needed > 0 else 1.0


def host_is_short(window: Window) -> str:
    """Return the evidence that the step loop lacks CPU; empty if there is none.

    A core process also uses a full core while it waits for its card, so this counts only if the
    card has slack.
    """
    if (
        throttled := window.fresh("cpu_throttled_ratio")
    ) is not None and throttled.last >= THROTTLED_RATIO:
        return f"the container is throttled by its CPU limit in {throttled.last:.0%} of the periods"
    core, card = window.fresh("engine_core_cpu_cores"), window.fresh("gpu_utilization_ratio")
    if (
        core is not None
        and core.last >= CORE_FULL_CORES
        and card is not None
        and recent_mean(card) <= SLACK_RATIO
    ):
        return (
            f"the engine core's process uses {core.last:.1f} cores and the card "
            f"{recent_mean(card):.0%}: the step loop is short of CPU"
        )
    return ""


def _explanations(window: Window) -> Iterator[str]:
    """What was seen that makes steps slow."""
    yield from (setting.effect for setting in slow_settings_of(window))
    if (fault := window.fresh("gpu_throttle_fault")) is not None and fault.last > 0:
        yield (
            f"{fault.last:.0f} cards run with their clocks "
            f"cut{f' ({fault.detail})' if fault.detail else ''}"
        )
    if (
        foreign := window.fresh("gpu_foreign_memory_bytes")
    ) is not None and foreign.last >= SHARED_BYTES:
        yield "another process holds memory on the card, and may compute there"
    if short := host_is_short(window):
        yield short


SYMPTOM = Symptom(
    name="slower-than-card",
    title="steps are slower than this card should be",
    judge=judge,
    needs=(
        "expected_work_ratio",
        "expected_work_error_ratio",
        "running_requests",
        "generation_tokens_per_s",
    ),
    harm=Harm.PLAIN | Harm.UNHEALTHY | Harm.OF_THE_ENGINE,
)
