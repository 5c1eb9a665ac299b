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
    breach counts. `unless`: where all of these hold, a breach is no harm. `by_load`: there is less
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


def pressure_relieved(
    ttft_p99_s: float | None = None, itl_p99_s: float | None = None, sustained_s: float = 120.0
) -> Expectation:
    """What a lever against KV pressure promises: nothing is preempted, latency within its level or
    well below what it was, no harm.

    A full pool is no harm where nothing is preempted. Units: the levels in seconds, None where none
    is set.
    """
    calm = Expect("preemptions_per_s", "zero", 0.01)
    itl = (
        Expect("itl_mean_s", "falls", 0.1)
        if itl_p99_s is None
        else Expect("itl_p99_s", "below", itl_p99_s)
    )
    harm = [Expect("kv_usage_ratio", "below", 0.97, essential=False, unless=(calm,)), *HARM]
    if ttft_p99_s is not None:
        harm.append(Expect("ttft_p99_s", "below", ttft_p99_s, essential=False))
    return Expectation((calm, itl, *harm), sustained_s=sustained_s)


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
    itl = (
        Expect("itl_mean_s", "holds", 0.1, essential=False)
        if itl_p99_s is None
        else Expect("itl_p99_s", "below", itl_p99_s)
    )
    ttft = (
        () if ttft_p99_s is None else (Expect("ttft_p99_s", "below", ttft_p99_s, essential=False),)
    )
    load = ("gateway_requests_per_s", "gateway_active_requests")
    return Expectation(
        (calm, itl, *HARM, *ttft), load_signals=load, sustained_s=sustained_s, any_load=True
    )


def queue_shortened(
    ttft_p99_s: float | None = None, itl_p99_s: float | None = None, sustained_s: float = 120.0
) -> Expectation:
    """What a lever against queueing promises: fewer wait, or first tokens within their level;
    nothing is preempted for it, no harm.

    Units: the levels in seconds, None where none is set.
    """
    proof = (
        Expect("waiting_requests", "falls", 0.3)
        if ttft_p99_s is None
        else Expect("ttft_p99_s", "below", ttft_p99_s)
    )
    harm = [Expect("preemptions_per_s", "below", 0.05, essential=False), *HARM]
    if itl_p99_s is not None:
        harm.append(Expect("itl_p99_s", "below", itl_p99_s, essential=False))
    return Expectation((proof, *harm), sustained_s=sustained_s)


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
