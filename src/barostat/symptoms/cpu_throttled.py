"""The container hits its CPU limit and is stopped for parts of every period.

Meaning: the kernel stops all threads of the container until the next period once its quota is used
up; average use may look harmless.

Impact: scheduling, tokenizing and kernel launches come late; the card waits.

Evidence: throttled over all periods of the cgroup, above a quarter.

Not evidence: a few per cent. High CPU use without a limit.

Mitigation: raise or remove the CPU limit (keep the request); set OMP_NUM_THREADS and torch threads
to the cores that the container has, not the node's.

Source: cgroup cpu.stat nr_throttled over nr_periods; a report of TPOT solved by matching
OMP_NUM_THREADS to a 4-core limit.
"""

from __future__ import annotations

from barostat.core.symptom import Symptom
from barostat.core.verdict import Absent, Present, Verdict
from barostat.core.window import Window
from barostat.symptoms._holding import holding, recent_mean, together

HARM_RATIO = 0.25
"""A quarter of the periods: some throttling is normal for bursty processes, this much delays every
step.
"""


def judge(window: Window) -> Verdict:
    """Present if the container is throttled in a quarter of its scheduling periods or more."""
    throttled, limit, used = (
        window["cpu_throttled_ratio"],
        window.fresh("cpu_limit_cores"),
        window.fresh("cpu_usage_cores"),
    )
    others = [signal for signal in (limit, used) if signal is not None]
    evidence = (
        throttled.evidence(window.at, recent_mean(throttled), "mean"),
        *(signal.evidence(window.at) for signal in others),
    )
    held = holding(together(throttled), lambda ratio: ratio >= HARM_RATIO)
    if not held.holds:
        return Absent(f"throttled in {recent_mean(throttled):.0%} of the periods", evidence)
    of = f" at a limit of {limit.last:g} cores" if limit is not None else ""
    return Present(
        f"the container's CPU is throttled in {recent_mean(throttled):.0%} of the "
        f"periods{of}, {held.how}",
        evidence,
        held.confidence,
    )


SYMPTOM = Symptom(
    name="cpu-throttled",
    title="the container's CPU is throttled",
    judge=judge,
    needs=("cpu_throttled_ratio",),
)
