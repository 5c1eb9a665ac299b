"""A setting stops the engine, or makes every step slow: an argument, the model's path, /dev/shm, a
probe, or the pod itself.

Meaning: the engine or its pod is configured in a way that cannot work; or something that costs a
multiple of what its card needs. Nothing about load.

Impact: the pod never becomes Ready, or is killed by its own probe again and again. Slow: queues at
a load that the deployment should carry.

Evidence: the argument parser's error, a refused value, a model that cannot be had, a /dev/shm that
is too small, probe failures that end in kills, an image that cannot be pulled or does not fit the
node's driver, a directory that is full or not permitted. Slow: steps far below what card, model and
load should give, and a setting that explains as much: layers divided between nodes or over PCIe,
eager mode, synchronous debugging, weights in the host's memory, attention or weights without
kernels for the card.

Not evidence: an error in a log that a later start has outlived; warnings. Eager mode and its like
where steps are as fast as they should be, or slower than it makes them.

Mitigation: mend that one line; if a rollout brought it, undo the rollout first.

Source: argparse, vLLM 0.32.0 engine arguments; Kubernetes 1.34 container states and events.
"""

from __future__ import annotations

from barostat.catalog.slow_settings import slow_settings_of
from barostat.judge.diagnosis.case import Case, Cause, Claim, Cleared, Judgement, Open
from barostat.symptoms.slower_than_card import host_is_short, times_too_slow

KINDS = (
    ("unknown-argument", "argument"),
    ("shm-too-small", "shm"),
    ("broken-install", "pod"),
    ("storage-refused", "pod"),
    ("model-not-found", "model"),
    ("invalid-config", "argument"),
    ("port-in-use", "pod"),
    ("image-or-container-error", "pod"),
    ("probe-killed", "probe"),
)
LEADS = {
    "argument": "An argument stops the engine",
    "model": "The model cannot be had",
    "shm": "The pod's /dev/shm stops the engine",
    "probe": "The pod's own probe stops the engine",
    "pod": "The pod cannot run the engine",
}


SAYS_MORE = (
    "preemption-heavy", "kv-capacity-waiting", "engine-died", "endpoint-silent", "gpu-throttled", "tokens-stalled", "probe-unanswered",
    "core-stopped", "collective-hang", "gpu-program-error", "cpu-throttled", "host-cpu-saturated", "foreign-gpu-memory",
)  # fmt: skip
"""Symptoms that take precedence over a slow setting, which only makes them worse."""


def _slow(case: Case) -> Claim | None:
    """A claim where steps are too slow and a setting explains as much; None elsewhere."""
    if not case.present("slower-than-card"):
        return None
    times = times_too_slow(case.window)
    if not any(setting.most >= times for setting in slow_settings_of(case.window)):
        return None
    return Claim(
        confidence=case.confidence("slower-than-card") * 0.9,
        severity="warning",
        summary=f"A setting makes every step slow: {case.because('slower-than-card')}.",
        rests_on=(
            "slower-than-card",
            *case.present("requests-waiting", "tail-latency-up", "slow-decode", "recent-rollout"),
        ),
        variant="slow",
        only_contributes=bool(case.present(*SAYS_MORE) or host_is_short(case.window)),
    )


def judge(case: Case) -> Judgement:
    """Claim where the refusal is written down."""
    names = tuple(name for name, _ in KINDS)
    for name, variant in KINDS:
        if case.present(name):
            return Claim(
                confidence=case.confidence(name) * 0.95,
                severity="critical",
                summary=f"{LEADS[variant]}: {case.because(name)}.",
                rests_on=(name, *case.present("crash-looping", "engine-died", "recent-rollout")),
                variant=variant,
            )
    if (slow := _slow(case)) is not None:
        return slow
    if case.absent("unknown-argument", "invalid-config"):
        return Cleared("the log shows no rejected setting")
    return Open("no log was given", case.missing(*names[:2]))


CAUSE = Cause("bad-config", "A setting stops the engine, or slows every step", 6, judge)
