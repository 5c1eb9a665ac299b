"""The engine is at work: requests run and tokens flow.

Meaning: in most readings at least one request runs, and prompt or generated tokens are counted
between them. With no harm beside it this is what a good day looks like, whatever the pool's usage.

Impact: none.

Evidence: running_requests above 0 and token throughput above 0. Without a throughput (one reading)
running alone, with less confidence.

Not evidence: GPU memory. GPU utilisation alone: a collective that spins shows 100 % and makes no
token.

Mitigation: none needed.

Source: `vllm:num_requests_running`, `vllm:generation_tokens_total`, `vllm:prompt_tokens_total`;
gauges keep their last value while the engine makes no step, so tokens are required as well.
"""

from __future__ import annotations

from barostat.core.symptom import Symptom
from barostat.core.verdict import Absent, Present, Verdict
from barostat.core.window import Window
from barostat.symptoms._holding import holding, recent_mean, together
from barostat.symptoms._lines import plural

SILENT_S = 10.0
"""Tokens that stopped this long ago are not flowing, whatever the mean of the last minutes."""


def judge(window: Window) -> Verdict:
    """Present if requests run and tokens flow."""
    running = window["running_requests"]
    flows = [
        found
        for name in ("generation_tokens_per_s", "prompt_tokens_per_s")
        if (found := window.fresh(name)) is not None
    ]
    tokens_per_s = sum(recent_mean(flow) for flow in flows)
    evidence = (
        running.evidence(window.at),
        *(flow.evidence(window.at, recent_mean(flow), "mean") for flow in flows),
    )
    silent_s = min((flow.held_for_s(lambda rate: rate <= 0) or 0.0 for flow in flows), default=0.0)
    if silent_s >= SILENT_S and running.last > 0:
        return Absent(
            f"{plural(running.last, 'request')} in the running list, and no token was "
            f"counted for {silent_s:.0f} s",
            evidence,
        )
    held = holding(together(running), lambda runs: runs > 0)
    if not held.holds:
        if tokens_per_s > 0:
            return Present(
                f"{tokens_per_s:.0f} tokens/s, prompts included, in bursts between readings",
                evidence,
                0.7,
            )
        return Absent("no request runs for long", evidence)
    if flows and tokens_per_s <= 0:
        return Absent(
            f"{plural(running.last, 'request')} in the running list, and no token was counted",
            evidence,
        )
    if not flows:
        return Present(
            f"{plural(running.last, 'request')} running (throughput was not measured)",
            evidence,
            0.6,
        )
    return Present(
        f"{plural(running.last, 'request')} running at {tokens_per_s:.0f} tokens/s, prompts included",
        evidence,
        held.confidence,
    )


SYMPTOM = Symptom(
    name="engine-busy",
    title="requests run and tokens flow",
    judge=judge,
    needs=("running_requests",),
)
