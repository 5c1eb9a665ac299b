"""Some blocks stay free when a request is admitted beside running ones, so that these can grow.

Meaning: --watermark is the share of the pool that admission leaves alone; running requests may use
it.
When: preemption thrash on vLLM 0.24.0 or newer. Measured on the 0.32.0 scheduler: 142 preemptions
become 54 at 0.02 and 20 at 0.05, for 0.4 to 3 % more steps.
Not when: the pool queues without preempting: the watermark only keeps more of it empty.
Undo: remove the argument (0.0 is the default); drain first.
Proof: preemptions per second fall at the same load; the 99th percentile of the inter-token latency
falls.
Source: vLLM 0.24.0 SchedulerConfig.watermark (#44594).
"""

from __future__ import annotations

from barostat.core.diagnosis import KV_CAUSES
from barostat.core.lever import Lever, NotApplicable, Proposal, Situation
from barostat.core.proposed_change import SetFlag
from barostat.core.prose import Prose
from barostat.levers._readings import lacks, last_of

NAME = "watermark"


def propose(situation: Situation) -> Proposal | NotApplicable:
    """0.02, or 0.05 where preemption is heavy or 0.02 was set already."""
    if situation.cause == "kv-admission-queueing":
        return NotApplicable(
            NAME, Prose("the pool hardly preempts: a watermark would only keep more of it empty")
        )
    if (refusal := lacks(NAME, situation, "watermark")) is not None:
        return refusal
    now = situation.window.config.number("watermark") or 0.0
    if now >= 0.05:
        return NotApplicable(
            NAME, Prose(f"the watermark is {now:g} already; more of it costs throughput")
        )
    preempted, finished = (
        last_of(situation.window, "preemptions_in_window"),
        last_of(situation.window, "finished_in_window"),
    )
    heavy = preempted is not None and finished is not None and preempted > 0.25 * max(1.0, finished)
    target = 0.05 if heavy or now >= 0.02 else 0.02
    seen = (
        f"{preempted:.0f} preemptions for {finished:.0f} finished requests; "
        if preempted is not None and finished is not None
        else ""
    )
    return Proposal(
        NAME,
        SetFlag("watermark", target),
        Prose(
            f"{seen}it is {now:g} now, so a prompt may take the last block that the running ones need"
        ),
        True,
        31,
    )


LEVER = Lever(NAME, Prose("leave room for growth at admission"), "demand", KV_CAUSES, propose)
