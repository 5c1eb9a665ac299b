"""A change and its expected effects, declared before the act so that it can be judged afterwards."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

ChangeKind = Literal[
    "argument", "environment", "config-file", "pod-spec", "revision", "replicas", "limits"
]
Want = Literal["zero", "below", "above", "falls", "rises", "holds", "no-more"]


@dataclass(frozen=True, slots=True)
class ConfigChange:
    """One variable, from what to what. `former` and `value` as a person would write them; None:
    absent.

    Law: L8, one change holds one variable.
    """

    kind: ChangeKind
    name: str
    former: str | None
    value: str | None

    def __str__(self) -> str:
        former = "absent" if self.former is None else self.former
        value = "absent" if self.value is None else self.value
        return f"{self.name}: {former} -> {value}"

    def reversed(self) -> ConfigChange:
        """The change that takes this one back."""
        return ConfigChange(self.kind, self.name, self.value, self.former)


@dataclass(frozen=True, slots=True)
class Expect:
    """One expected effect of a change on a signal.

    `zero`: falls to about nothing (at most `bound`). `below`, `above`: relative to `bound`.
    `falls`, `rises`: by at least the ratio `bound`. `holds`: rises by at most the ratio `bound`.
    `no-more`: the counter does not increase. `essential`: without it the change has not worked; the
    other effects detect harm, so only a breach counts. `unless`: if all of these hold, a breach is
    not harm, and an essential effect is not required. `by_load`: the signal scales with the load,
    so its former value is scaled to the current load.
    """

    signal: str
    want: Want
    bound: float = 0.0
    essential: bool = True
    unless: tuple[Expect, ...] = ()
    by_load: bool = False


@dataclass(frozen=True, slots=True)
class Expectation:
    """The promise of a lever: the signals that prove it, the load that must be present, and for how
    long.

    Units: `load_ratio` is the smallest share of the former load under which a verdict counts.
    `any_load`: one load signal that has not fallen is enough (closed-loop clients send fewer
    requests when answers take longer, although the number of clients is the same).
    """

    expects: tuple[Expect, ...]
    load_signals: tuple[str, ...] = ("arrivals_per_s", "prompt_tokens_per_s")
    load_ratio: float = 0.8
    sustained_s: float = 120.0
    any_load: bool = False


_PREEMPTED_RATIO = 0.01
"""What the gateway's forecast lets happen (admit/rules.py)."""
RARE_PER_FINISHED = 0.03
"""Preemptions for each request that finishes, below which they are not the harm: neither to a
diagnosis nor to the verdict on a change. An engine that finishes many requests a second may preempt
one every ten seconds without anybody noticing.
"""
_NOBODY_WAITS = Expect("waiting_requests", "below", 2.0)
_SHORTER = 0.3
"""Share by which a queue becomes shorter."""
HARM = (
    Expect("pod_restarts", "no-more", essential=False),
    Expect("log_gpu_oom", "no-more", essential=False),
    Expect("rejections_in_window", "holds", essential=False),
    Expect("errors_in_window", "holds", essential=False),
    Expect(
        "generation_tokens_per_s",
        "rises",
        -0.1,
        essential=False,
        unless=(_NOBODY_WAITS,),
        by_load=True,
    ),
)
"""The harm that no change may cause under load. A lower token rate is acceptable if no request
waits: then the demand is lower.
"""


LARGER_BATCHES = 1.0
"""Share by which the time between tokens may grow with a larger pool: more requests run at once."""
SAME_BATCHES = 0.1


def _no_slower(itl_p99_s: float | None, ttft_p99_s: float | None, itl_grows: float) -> list[Expect]:
    """What counts as harm in latency: a level that is exceeded and was not, or, where none is set
    for the time between tokens, a longer one that brings fewer tokens.
    """
    as_many = Expect("generation_tokens_per_s", "rises", -0.1, essential=False)
    harm = (
        [Expect("itl_mean_s", "holds", itl_grows, essential=False, unless=(as_many,))]
        if itl_p99_s is None
        else []
    )
    for name, level in (("itl_p99_s", itl_p99_s), ("ttft_p99_s", ttft_p99_s)):
        if level is not None:
            as_before = Expect(name, "holds", SAME_BATCHES, essential=False)
            harm.append(Expect(name, "below", level, essential=False, unless=(as_before,)))
    return harm


def pressure_relieved(
    ttft_p99_s: float | None = None,
    itl_p99_s: float | None = None,
    sustained_s: float = 120.0,
    *,
    requests_per_s: float = 0.0,
    larger_pool: bool = False,
) -> Expectation:
    """What a lever against KV pressure promises: preemptions are so rare that a diagnosis would not
    name them any more, no harm.

    A full pool is no harm where nothing is preempted. `requests_per_s`: that one replica has to
    serve; of few, none is preempted. `larger_pool`: the lever makes room, so larger batches run.
    Units: the levels in seconds, None if none is set.
    """
    calm = Expect("preemptions_per_s", "zero", max(0.01, RARE_PER_FINISHED * requests_per_s))
    full = Expect("kv_usage_ratio", "below", 0.97, essential=False, unless=(calm,))
    slower = _no_slower(itl_p99_s, ttft_p99_s, LARGER_BATCHES if larger_pool else SAME_BATCHES)
    return Expectation((calm, full, *slower, *HARM), sustained_s=sustained_s)


def held_at_edge(
    ttft_p99_s: float | None = None,
    itl_p99_s: float | None = None,
    sustained_s: float = 120.0,
    requests_per_s: float = 0.0,
) -> Expectation:
    """Return the promise of a limit held at a gateway: at most one in a hundred requests is
    preempted, at an unchanged arrival rate, without harm.

    The load is what arrives at the gateway, not what it admits. `requests_per_s`: arrival rate per
    replica; at a low rate no request may be preempted. Units: latencies in seconds, None without an
    SLO.
    """
    calm = Expect("preemptions_per_s", "zero", max(0.01, _PREEMPTED_RATIO * requests_per_s))
    slower = _no_slower(itl_p99_s, ttft_p99_s, SAME_BATCHES)
    load = ("gateway_requests_per_s", "gateway_active_requests")
    return Expectation(
        (calm, *slower, *HARM), load_signals=load, sustained_s=sustained_s, any_load=True
    )


def queue_shortened(
    ttft_p99_s: float | None = None,
    itl_p99_s: float | None = None,
    sustained_s: float = 120.0,
    *,
    waiting: float = 0.0,
    larger_batches: bool = False,
) -> Expectation:
    """Return the promise of a lever against queueing: fewer waiting requests, or TTFT within its
    SLO, without more preemptions or other harm.

    `waiting`: requests waiting at a replica today: if there is a queue now, an empty queue
    afterwards needs no comparison. `larger_batches`: more requests run concurrently.

    Units: latencies in seconds, None without an SLO.
    """
    enough = (
        (Expect("ttft_p99_s", "below", ttft_p99_s),)
        if ttft_p99_s is not None
        else (_NOBODY_WAITS,)
        if waiting * (1.0 - _SHORTER) > _NOBODY_WAITS.bound
        else ()
    )
    proof = Expect("waiting_requests", "falls", _SHORTER, unless=enough)
    calm = Expect("preemptions_per_s", "below", 0.05, essential=False)
    slower = _no_slower(itl_p99_s, ttft_p99_s, LARGER_BATCHES if larger_batches else SAME_BATCHES)
    return Expectation((proof, calm, *slower, *HARM), sustained_s=sustained_s)


_ANSWERS = (Expect("health_ok", "above", 0.99), Expect("scrape_ok", "above", 0.99))


def comes_up(replicas: int, sustained_s: float = 30.0) -> Expectation:
    """Return the promise for a workload that does not serve: the changed replica answers and keeps
    answering.

    `replicas`: number before the change. There was no load to compare with; only a ready replica is
    required.
    """
    loops = Expect("pod_crash_looping", "zero", essential=False)
    harm = (loops, Expect("log_gpu_oom", "no-more", essential=False))
    return Expectation(
        (*_ANSWERS, *harm), ("replicas_wanted",), 0.5 / max(1, replicas), sustained_s
    )


def stays_up(sustained_s: float = 120.0) -> Expectation:
    """Return the promise for a workload that crashes repeatedly: it answers under load, does not
    crash, and is no slower.
    """
    return Expectation((*_ANSWERS, *HARM), sustained_s=sustained_s)


def gives_tokens(replicas: int, sustained_s: float = 60.0) -> Expectation:
    """Return the promise for an engine that hangs: it produces tokens again."""
    tokens = Expect("generation_tokens_per_s", "above", 0.1)
    restarts = Expect("pod_restarts", "no-more", essential=False)
    return Expectation(
        (*_ANSWERS, tokens, restarts), ("replicas_wanted",), 0.5 / max(1, replicas), sustained_s
    )
