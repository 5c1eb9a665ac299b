"""The engine takes running requests' KV blocks away and computes them again later.

Meaning: a running request needed a block, none was free, and the scheduler threw out the youngest
one: its blocks are freed, it goes to the head of the queue and its prompt and output so far are
prefilled again. How many of these harm is preemption-heavy.

Impact: the victims' streams stall for as long as they wait and recompute; a few per minute cost
little (a measured case had over a thousand preemptions and lost 5 % of its throughput).

Evidence: the counter's growth within the window, the statistics line's `Preemptions: N` in builds
that print it, the V0 engine's warning (to 0.10.2). Before any of these moves: requests that have
begun to answer and wait again, from first tokens less finished and running; or most of what ran
back in the queue at once. Shown per finished request and per second, because a bare count says
nothing.

Not evidence: a counter that is not 0 and does not grow: it counts since the start. Silence of the
log: V1 writes no line per preemption, and 0.11.1 to 0.33 zero the count before they make the
statistics line. Silence of the counter: it moves only when a victim emits its next token, so a
storm shows late, and victims that give up never show.

Mitigation: see preemption-heavy. A rare one is no reason to act.

Source: vLLM 0.8 to 0.33, Scheduler._preempt_request; `vllm:num_preemptions_total`; V0
core/scheduler.py `_preempt` (warns at every 50th).
"""

from __future__ import annotations

from barostat.core.symptom import Symptom
from barostat.core.units import figure
from barostat.core.verdict import Absent, Present, Unknown, Verdict
from barostat.core.window import Window
from barostat.symptoms._lines import plural
from barostat.symptoms._preemption import SOURCES, not_printed, preemptions
from barostat.symptoms._sent_back import sent_back


def judge(window: Window) -> Verdict:
    """Present if a preemption was counted in the window, or is seen in the gauges."""
    seen, back = preemptions(window), sent_back(window)
    if back is not None and (seen is None or seen.count <= 0):
        return Present(
            f"{back.because} (the counter lags)",
            (*back.evidence, *(seen.evidence if seen is not None else ())),
            back.confidence,
        )
    if seen is None:
        return Unknown("nothing counts preemptions here", SOURCES)
    if seen.count <= 0:
        if not_printed(window):
            return Unknown(
                f"the statistics line of vLLM {window.version} does not print preemptions", SOURCES
            )
        return Absent(
            "no preemption was counted (the counter moves only when a victim emits again)",
            seen.evidence,
        )
    because = f"{'at least ' if seen.at_least else ''}{plural(max(1.0, seen.count), 'preemption')}"
    if seen.per_finished is not None:
        because += f", {figure(seen.per_finished, 2)} per finished request"
    if seen.per_s is not None:
        because += f", {figure(seen.per_s, 2)} per second"
    return Present(because, seen.evidence, 0.95)


SYMPTOM = Symptom(
    name="preemptions", title="requests are preempted", judge=judge, needs_any=SOURCES
)
