"""More requests are in the engine at once, or arrive per second, than earlier.

Meaning: running and waiting requests together, later against earlier. A trigger: where arrivals
rose as well it is the traffic; where they did not, requests merely stay longer.

Impact: KV demand grows in proportion.

Evidence: running_requests plus waiting_requests; arrivals_per_s.

Not evidence: more requests in the engine with the same arrivals: that is a consequence of slowness,
and the confidence says so.

Mitigation: limit concurrency at the edge; add replicas.

Source: `vllm:num_requests_running`, `vllm:num_requests_waiting`, finished requests between scrapes.
"""

from __future__ import annotations

from barostat.core.symptom import Symptom
from barostat.core.units import figure
from barostat.core.verdict import Absent, Present, Unknown, Verdict
from barostat.core.window import Window
from barostat.symptoms._halves import TOO_FEW, change

NEEDS_ANY = ("running_requests", "arrivals_per_s")
GROWTH_RATIO = 1.5
"""Half as many again."""
GROWTH_REQUESTS = 4.0
"""And at least so many more: from one to two is no change of traffic."""


def judge(window: Window) -> Verdict:
    """Present if requests in the engine, or arrivals, grew by half within the window."""
    running, waiting, arrivals = (
        window.fresh("running_requests"),
        window.fresh("waiting_requests"),
        window.fresh("arrivals_per_s"),
    )
    evidence = tuple(
        signal.evidence(window.at) for signal in (running, waiting, arrivals) if signal is not None
    )
    held = change(running) if running is not None else None
    queued = change(waiting) if waiting is not None else None
    arriving = change(arrivals) if arrivals is not None else None
    if held is None and arriving is None:
        return Unknown(TOO_FEW)
    if held is not None:
        earlier = held.earlier + (queued.earlier if queued is not None else 0.0)
        later = held.later + (queued.later if queued is not None else 0.0)
        if later >= GROWTH_RATIO * earlier and later - earlier >= GROWTH_REQUESTS:
            because = (
                f"requests in the engine grew from {earlier:.0f} to {later:.0f} within "
                f"{held.span_s:.0f} s"
            )
            rises = arriving is not None and arriving.ratio >= GROWTH_RATIO
            return Present(
                because, evidence, held.confidence if rises else min(held.confidence, 0.75)
            )
    if (
        arriving is not None
        and arriving.earlier > 0
        and arriving.ratio >= GROWTH_RATIO
        and held is None
    ):
        return Present(
            f"arrivals grew from {figure(arriving.earlier, 2)} to "
            f"{figure(arriving.later, 2)} per second",
            evidence,
            arriving.confidence,
        )
    return Absent("about as many requests as earlier", evidence)


SYMPTOM = Symptom(
    name="concurrency-up", title="more requests at once", judge=judge, needs_any=NEEDS_ANY
)
