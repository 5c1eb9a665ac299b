"""A request for one token was sent on purpose and got no answer in its time.

Meaning: the shortest possible request did not come back. With an empty queue, the engine is broken;
with a queue it may only be late.

Impact: what the probe sees, every client sees.

Evidence: probe_token_ok 0 (only where a probe was asked for).

Not evidence: a refusal: a wrong model name or a missing key answers at once. A long queue in front
of the probe.

Mitigation: as for tokens-stalled.

Source: POST /v1/completions with max_tokens 1.
"""

from __future__ import annotations

from barostat.core.symptom import Harm, Symptom
from barostat.core.verdict import Absent, Evidence, Present, Verdict
from barostat.core.window import Window
from barostat.symptoms._lines import quote
from barostat.symptoms._queue import queue


def judge(window: Window) -> Verdict:
    """Present if the probe was not answered."""
    probe = window["probe_token_ok"]
    evidence: tuple[Evidence, ...] = (probe.evidence(window.at),)
    if probe.last >= 1:
        return Absent("a request of one token was answered", evidence)
    waiting = queue(window)
    detail = f": {quote(probe.detail)}" if probe.detail else ""
    if waiting is not None and waiting.last > 0:
        evidence += (waiting.evidence(window.at),)
        return Present(
            f"a request of one token was not answered, behind {waiting.last:.0f} in the "
            f"queue{detail}",
            evidence,
            0.5,
        )
    return Present(f"a request of one token was not answered{detail}", evidence, 0.9)


SYMPTOM = Symptom(
    name="probe-unanswered",
    title="a one-token request is not answered",
    judge=judge,
    needs=("probe_token_ok",),
    harm=Harm.PLAIN | Harm.UNHEALTHY,
)
