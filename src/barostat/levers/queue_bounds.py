"""The engine answers 503 instead of queueing without bound.

Meaning: --max-num-queued-reqs caps the unfinished requests (waiting and running) of an API server;
beyond it a client gets an immediate 503.
When: the queue grows faster than it drains, and no gateway bounds it.
Not when: before vLLM 0.29.0, where only a gateway can. It neither looks at KV usage nor ends
preemption.
Undo: remove the argument; drain first.
Proof: waiting stays below the bound, time to first token stays finite, refusals are counted
(admission_rejections_total since 0.32.0).
Source: vLLM 0.29.0 AsyncLLM (queue limits), SchedulerConfig.max_num_queued_reqs.
"""

from __future__ import annotations

import math

from barostat.core.diagnosis import KV_CAUSES
from barostat.core.lever import Lever, NotApplicable, Proposal, SetsFlag, Situation
from barostat.core.proposed_change import SetFlag
from barostat.core.prose import Prose
from barostat.levers._readings import achieved_running, given, lacks, last_of

NAME = "queue-bounds"


def propose(situation: Situation) -> Proposal | NotApplicable:
    """Twice what really runs: one batch in work and one that waits."""
    window = situation.window
    if (refusal := lacks(NAME, situation, "max_num_queued_reqs")) is not None:
        return refusal
    if given(window, "max_num_queued_reqs"):
        return NotApplicable(NAME, Prose("--max-num-queued-reqs is set already"))
    running, waiting = achieved_running(window), last_of(window, "waiting_requests")
    if running is None:
        return NotApplicable(NAME, Prose("how many requests run at once was not measured"))
    engines = max(1.0, last_of(window, "data_parallel_engines") or 1.0)
    bound = max(2, math.ceil(2 * running * engines))
    queue = f" and {waiting:.0f} wait" if waiting is not None else ""
    return Proposal(
        NAME,
        SetFlag("max_num_queued_reqs", bound),
        Prose(f"{running:.0f} run{queue}; nothing bounds the queue today"),
        True,
        40,
    )


LEVER = Lever(
    NAME,
    Prose("bound the engine's queue"),
    "demand",
    (*KV_CAUSES, "slot-bound", "prefill-bound", "compute-bound"),
    propose,
    sets=SetsFlag("max_num_queued_reqs"),
)
