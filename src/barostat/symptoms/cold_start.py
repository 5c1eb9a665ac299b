"""The engine is starting: the container runs and is not ready yet.

Meaning: weights are loaded, kernels compiled, graphs captured. The port opens only when all of it
is done.

Impact: minutes in which a new replica takes no load. Traffic that grows faster than replicas start
piles up on the others.

Evidence: a container that runs and is not Ready, for how long; a log without its ready line while
nothing listens.

Not evidence: a container that starts again and again: crash-looping, probe-killed.

Mitigation: wait, if the log moves. Ahead of need: keep spare replicas, weights on a local volume, a
compile cache that survives; scale on the queue, not on KV usage.

Source: Pod containerStatuses[].started and ready; vLLM "Application startup complete".
"""

from __future__ import annotations

from barostat.core.symptom import Symptom
from barostat.core.verdict import Absent, Present, Verdict
from barostat.core.window import Window

NEEDS_ANY = ("pod_starting", "log_ready")
SLOW_S = 900.0
"""Most engines are up within five to ten minutes; after fifteen something else than loading may be
the matter.
"""


def judge(window: Window) -> Verdict:
    """Present if the container runs without being ready, or the log has not said ready while
    nothing listens.
    """
    starting, starting_s = window.fresh("pod_starting"), window.fresh("pod_starting_s")
    ready, scrapes, ended = (
        window.fresh("log_ready"),
        window.fresh("scrape_ok"),
        window.fresh("process_exit_code"),
    )
    evidence = tuple(
        signal.evidence(window.at) for signal in (starting, starting_s, ready) if signal is not None
    )
    if starting is not None and starting.last > 0:
        since = f" for {starting_s.last:.0f} s" if starting_s is not None else ""
        late = starting_s is not None and starting_s.last >= SLOW_S
        return Present(
            f"the engine has been starting{since}{', unusually long' if late else ''}",
            evidence,
            0.7 if late else 0.9,
        )
    listens = scrapes is not None and scrapes.high >= 1
    if (
        starting is None
        and ready is not None
        and ready.last <= 0
        and scrapes is not None
        and not listens
        and ended is None
    ):
        return Present(
            "the log has not said ready, and nothing listens yet",
            (*evidence, scrapes.evidence(window.at)),
            0.6,
        )
    return Absent("the engine is not starting", evidence)


SYMPTOM = Symptom(
    name="cold-start", title="the engine is still starting", judge=judge, needs_any=NEEDS_ANY
)
