"""Single requests last for many minutes.

Meaning: streams without an output limit, agents that never stop, or clients that read slowly. Each
holds its KV blocks to its end, and grows.

Impact: the pool fills with few requests; a drain waits for them; a time-out in the path cuts them
after all their work.

Evidence: requests over five minutes in the gateway's log; the 99th percentile of end-to-end
latency.

Not evidence: few long requests on an engine with room.

Mitigation: cap max_tokens and stream duration at the edge; set the server's own cap
(override-generation-config max_new_tokens, 0.18 on).

Source: gateway access logs; `vllm:e2e_request_latency_seconds` (finished requests only).
"""

from __future__ import annotations

from barostat.core.symptom import Symptom
from barostat.core.verdict import Absent, Present, Verdict
from barostat.core.window import Window
from barostat.symptoms._lines import plural

NEEDS_ANY = ("gateway_long_streams", "e2e_p99_s")
LONG_S = 300.0
"""Five minutes: what the access log counts as long, too."""


def judge(window: Window) -> Verdict:
    """Present if some requests last more than five minutes."""
    streams, slowest = window.fresh("gateway_long_streams"), window.fresh("e2e_p99_s")
    evidence = tuple(
        signal.evidence(window.at) for signal in (streams, slowest) if signal is not None
    )
    if streams is not None and streams.last > 0:
        return Present(
            f"{plural(streams.last, 'request')} lasted more than {LONG_S / 60:.0f} minutes",
            evidence,
            0.95,
        )
    if slowest is not None and slowest.last >= LONG_S:
        return Present(
            f"one request in a hundred lasts {slowest.last:.0f} s or more", evidence, 0.85
        )
    return Absent("no request lasts for minutes", evidence)


SYMPTOM = Symptom(
    name="long-streams", title="requests last for minutes", judge=judge, needs_any=NEEDS_ANY
)
