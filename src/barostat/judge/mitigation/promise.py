"""What a plan promises, by the cause that it is for, and the figures that it will be held
against.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from barostat.catalog.settings.setting import POOL
from barostat.catalog.settings.table import SETTINGS, canonical_name
from barostat.core.change import (
    ConfigChange,
    Expect,
    Expectation,
    comes_up,
    gives_tokens,
    held_at_edge,
    pressure_relieved,
    queue_shortened,
    stays_up,
)
from barostat.core.diagnosis import CauseName, Expected, StepForecast
from barostat.core.limits import ServiceLevel
from barostat.core.window import Window
from barostat.judge.advice.step_score import preempted_per_token
from barostat.remedy.verify import baseline

DOWN: tuple[CauseName, ...] = ("bad-config", "host-oom", "kv-pool-too-small", "gpu-oom")
"""Causes that end the engine, or keep it from starting."""
QUEUES: tuple[CauseName, ...] = (
    "kv-admission-queueing",
    "slot-bound",
    "prefill-bound",
    "compute-bound",
    "host-bound",
)
UP_SUSTAINED_S = 30.0
_NONE_PER_S = 0.01
_NOBODY = 2.0
_RUN_AT_ONCE = ("max_num_seqs", "max_num_active_seqs", "max_num_batched_tokens")
"""Settings whose raise lets more run in one step."""

Promise = tuple[Expectation, tuple[tuple[str, float], ...]]


def promise(
    cause: CauseName,
    change: ConfigChange,
    window: Window,
    slo: ServiceLevel,
    *,
    replicas: int,
    sustained_s: float,
    fleet: Sequence[Window] = (),
    live: bool = False,
    forecast: tuple[Expected, StepForecast] | None = None,
) -> Promise:
    """The expectation, and its baseline. `window`: of the replica that is worst off; `fleet`: of
    all; `replicas`: of the workload now.

    What is expected depends on the change as well: a larger pool runs larger batches, with more time
    between tokens. `live`: running gateways hold it. `forecast`: the twin's figures of today, and of the change:
    nothing is promised that the forecast does not expect.
    """
    requests_per_s = _mean(window, "arrivals_per_s")
    larger = _larger_batches(change)
    if live:
        expectation = held_at_edge(
            slo.ttft_p99_seconds, slo.itl_p99_seconds, sustained_s, requests_per_s
        )
        return expectation, baseline(expectation, window, fleet)
    answers = window.fresh("scrape_ok")
    serves = answers is not None and answers.last > 0
    if cause == "hung-engine":
        return _of_the_workload(gives_tokens(replicas, min(60.0, sustained_s)), replicas)
    if (cause in DOWN or change.kind == "revision") and not serves:
        return _of_the_workload(comes_up(replicas, min(UP_SUSTAINED_S, sustained_s)), replicas)
    if cause in DOWN:
        expectation = stays_up(sustained_s)
    elif cause in QUEUES or (
        _mean(window, "preemptions_per_s") <= _NONE_PER_S
        and _mean(window, "waiting_requests") > _NOBODY
    ):
        expectation = _shorter_queue(window, slo, sustained_s, larger_batches=larger)
    elif forecast is not None and forecast[1].preemptions != "ends":
        expectation = _partial_relief(window, *forecast, slo, sustained_s, larger_batches=larger)
    else:
        expectation = pressure_relieved(
            slo.ttft_p99_seconds,
            slo.itl_p99_seconds,
            sustained_s,
            requests_per_s=requests_per_s,
            larger_pool=larger,
        )
        if _mean(window, "preemptions_per_s") <= _NONE_PER_S:  # its absence proves nothing
            faster = Expect("itl_mean_s", "falls", 0.1)
            expectation = replace(expectation, expects=(faster, *expectation.expects))
    if change.kind == "replicas":
        expectation = _shared(expectation, replicas)
    return expectation, baseline(expectation, window, fleet)


_SHORTER_RATIO = 0.7
_HALF = 0.5


def _larger_batches(change: ConfigChange) -> bool:
    """True if more requests run at once afterwards, so that each step takes longer."""
    name = canonical_name(change.name)
    setting = SETTINGS.get(name)
    return (setting is not None and POOL in setting.changes) or (
        name in _RUN_AT_ONCE and _number(change.value) > _number(change.former)
    )


def _number(text: str | None) -> float:
    try:
        return float(text or "")
    except ValueError:
        return 0.0


def _mean(window: Window, name: str) -> float:
    found = window.fresh(name)
    return 0.0 if found is None else found.mean


def _shorter_queue(
    window: Window, slo: ServiceLevel, sustained_s: float, *, larger_batches: bool
) -> Expectation:
    return queue_shortened(
        slo.ttft_p99_seconds,
        slo.itl_p99_seconds,
        sustained_s,
        waiting=_mean(window, "waiting_requests"),
        larger_batches=larger_batches,
    )


def _partial_relief(
    window: Window,
    today: Expected,
    forecast: StepForecast,
    slo: ServiceLevel,
    sustained_s: float,
    *,
    larger_batches: bool,
) -> Expectation:
    """What a change promises that is forecast to help without ending the preemptions: half of the
    forecast improvement, in the wait where that becomes much shorter, else in preemptions.
    """
    then = forecast.expected
    if (then.ttft_mean_s or 0.0) < _SHORTER_RATIO * (today.ttft_mean_s or 0.0):
        expectation = _shorter_queue(window, slo, sustained_s, larger_batches=larger_batches)
        kept = tuple(
            expect for expect in expectation.expects if expect.signal != "preemptions_per_s"
        )
        no_more = Expect("preemptions_per_s", "holds", 0.2, essential=False)
        return replace(expectation, expects=(*kept, no_more))
    expectation = pressure_relieved(
        slo.ttft_p99_seconds, slo.itl_p99_seconds, sustained_s, larger_pool=larger_batches
    )
    before, after = preempted_per_token(today), preempted_per_token(then)
    share = max(0.1, _HALF * (1 - after / before)) if before > 0 else 0.1
    fewer = Expect("preemptions_per_s", "falls", share)
    return replace(expectation, expects=(fewer, *expectation.expects[1:]))


def promise_of_rollback(windows: Sequence[Window], *, replicas: int, sustained_s: float) -> Promise:
    """Return the promise of a rollback: the replica serves at least half of the current load, if
    there is any.
    """
    expects = (
        Expect("scrape_ok", "above", 0.99),
        Expect("pod_restarts", "no-more", essential=False),
    )
    expectation = Expectation(expects, load_ratio=0.5, sustained_s=sustained_s)
    former = max((baseline(expectation, window) for window in windows), key=_load, default=())
    return (
        (expectation, former)
        if _load(former) > 0
        else _of_the_workload(comes_up(replicas, min(UP_SUSTAINED_S, sustained_s)), replicas)
    )


def _load(former: tuple[tuple[str, float], ...]) -> float:
    return dict(former).get("arrivals_per_s", 0.0)


def _of_the_workload(expectation: Expectation, replicas: int) -> Promise:
    return expectation, (("replicas_wanted", float(replicas)),)


def _shared(expectation: Expectation, replicas: int) -> Expectation:
    """The same for replicas that share their load with one more: each of them has less of it."""
    return replace(expectation, load_ratio=expectation.load_ratio * replicas / (replicas + 1))
