"""A change and what it is expected to do: declared before the act, so that it can be judged after
it.
"""

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
    """One thing that a signal should do after the act.

    `zero`: about nothing is left (`bound`: what still counts as nothing). `below`, `above`: on that
    side of `bound`. `falls`, `rises`: by at least the share `bound` of what it was. `holds`: not
    above what it was by more than the share `bound`. `no-more`: a counter stands where it stood.
    `essential`: without it the change has not worked; the others are about harm, and only their
    breach counts. `unless`: where all of these hold, a breach is no harm, and an essential one is
    not needed. `by_load`: there is less
    of it where less comes, so what it was is taken for the load of now.
    """

    signal: str
    want: Want
    bound: float = 0.0
    essential: bool = True
    unless: tuple[Expect, ...] = ()
    by_load: bool = False


@dataclass(frozen=True, slots=True)
class Expectation:
    """What a lever promises: the signals that prove it, the load to hold against, and for how long.

    Units: `load_ratio` is the least share of the former load under which a verdict counts.
    `any_load`: one of the load signals that has not fallen is enough (clients that wait for their
    answers come more slowly where answers take longer, but as many are there).
    """

    expects: tuple[Expect, ...]
    load_signals: tuple[str, ...] = ("arrivals_per_s", "prompt_tokens_per_s")
    load_ratio: float = 0.8
    sustained_s: float = 120.0
    any_load: bool = False


_PREEMPTED_RATIO = 0.01
"""What the gateway's forecast lets happen (admit/rules.py)."""
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
"""What no change under load may bring. Fewer tokens are no harm where nobody waits for them: then
they are all that is asked for.
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
    """What a lever against KV pressure promises: at most one request in a hundred is preempted, no
    harm.

    A full pool is no harm where nothing is preempted. `requests_per_s`: that one replica has to
    serve; of few, none is preempted. `larger_pool`: the lever makes room, so larger batches run.
    Units: the levels in seconds, None where none is set.
    """
    calm = Expect("preemptions_per_s", "zero", max(0.01, _PREEMPTED_RATIO * requests_per_s))
    full = Expect("kv_usage_ratio", "below", 0.97, essential=False, unless=(calm,))
    slower = _no_slower(itl_p99_s, ttft_p99_s, LARGER_BATCHES if larger_pool else SAME_BATCHES)
    return Expectation((calm, full, *slower, *HARM), sustained_s=sustained_s)


def held_at_edge(
    ttft_p99_s: float | None = None,
    itl_p99_s: float | None = None,
    sustained_s: float = 120.0,
    requests_per_s: float = 0.0,
) -> Expectation:
    """What a limit promises that a gateway holds: at most one request in a hundred is preempted
    while as much comes as before, no harm.

    The load is what comes to the gateway or is there, not what is let through. `requests_per_s`:
    that one replica has to serve; of few, none is preempted. Units: the levels in seconds, None
    where none is set.
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
    """What a lever against queueing promises: fewer wait, or first tokens within their level;
    nothing is preempted for it, no harm.

    `waiting`: requests that wait at a replica today: where a queue is there now, none afterwards
    needs no comparison. `larger_batches`: more requests run at once.
    Units: the levels in seconds, None where none is set.
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
    """What is promised for a workload that does not serve: the replica with the change answers and
    goes on answering.

    `replicas`: of the workload before. There was no load to hold against: a replica of it has to be
    there, that is all.
    """
    loops = Expect("pod_crash_looping", "zero", essential=False)
    harm = (loops, Expect("log_gpu_oom", "no-more", essential=False))
    return Expectation(
        (*_ANSWERS, *harm), ("replicas_wanted",), 0.5 / max(1, replicas), sustained_s
    )


def stays_up(sustained_s: float = 120.0) -> Expectation:
    """What is promised for one that serves and ends again and again: it answers under the load,
    does not end, and is no slower.
    """
    return Expectation((*_ANSWERS, *HARM), sustained_s=sustained_s)


def gives_tokens(replicas: int, sustained_s: float = 60.0) -> Expectation:
    """What is promised for one that hangs: tokens come again."""
    tokens = Expect("generation_tokens_per_s", "above", 0.1)
    restarts = Expect("pod_restarts", "no-more", essential=False)
    return Expectation(
        (*_ANSWERS, tokens, restarts), ("replicas_wanted",), 0.5 / max(1, replicas), sustained_s
    )
