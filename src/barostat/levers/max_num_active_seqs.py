"""Fewer requests run at once, and the engine keeps its graph sizes.

Meaning: --max-num-active-seqs caps the running list alone; graphs and the runner stay as
--max-num-seqs made them.
When: preemption thrash on vLLM 0.31.0 or newer. Better than --max-num-seqs there.
Not when: a full pool that queues without preempting: fewer running requests would only lengthen the
queue.
Undo: remove the argument, or restore its former value; drain first.
Proof: running stays at the new limit, preemptions stop, and generated tokens per second do not
fall.
Source: vLLM 0.31.0 SchedulerConfig.max_num_active_seqs; measured on the 0.32.0 scheduler: 60
running with 142 preemptions, 32 running with none.
"""

from __future__ import annotations

from barostat.core.lever import Lever, NotApplicable, Proposal, Situation
from barostat.core.proposed_change import SetFlag
from barostat.core.prose import Prose
from barostat.levers._readings import lacks, running_target

NAME = "max-num-active-seqs"


def propose(situation: Situation) -> Proposal | NotApplicable:
    """A limit below what really runs, from the pool and the requests where both are known."""
    if (refusal := lacks(NAME, situation, "max_num_active_seqs")) is not None:
        return refusal
    target = running_target(situation.window)
    if target is None:
        return NotApplicable(
            NAME,
            Prose(
                "how many requests run at once was not measured, or it is one: no limit below "
                "that can be named"
            ),
        )
    return Proposal(
        NAME,
        SetFlag("max_num_active_seqs", target[0]),
        Prose(f"{target[1]}; CUDA graphs are not re-captured"),
        True,
        30,
    )


LEVER = Lever(
    NAME, Prose("run fewer requests at once"), "demand", ("kv-preemption-thrash",), propose
)
