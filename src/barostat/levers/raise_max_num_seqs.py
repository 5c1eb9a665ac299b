"""More requests run at once.

Meaning: the limit on running requests (--max-num-seqs, or --max-num-active-seqs where that binds)
goes up.
When: slot-bound: running stands at the limit, requests wait, and the KV pool has room.
Not when: the pool is nearly full: more slots would turn a queue into preemptions. The limit is only
guessed from a default: it may be higher than what is proposed.
Undo: restore the former value; drain first.
Proof: running rises above the old limit, the queue shrinks, KV usage stays below 0.9 and nothing is
preempted.
Source: vLLM 0.33.0 Scheduler.schedule (waiting loop).
"""

from __future__ import annotations

import math

from barostat.core.lever import Lever, NotApplicable, Proposal, SetsFlag, Situation
from barostat.core.proposed_change import SetFlag
from barostat.core.prose import Prose
from barostat.levers._readings import count, last_of, mean_of

NAME = "raise-max-num-seqs"
FULL = 0.85


def propose(situation: Situation) -> Proposal | NotApplicable:
    """As many more as the pool has room for at the present usage, at most twice as many."""
    window = situation.window
    if situation.variant == "adapters":
        return NotApplicable(
            NAME, Prose("the slots for adapters are taken, not those for requests")
        )
    limit, usage = last_of(window, "max_running_requests"), mean_of(window, "kv_usage_ratio")
    if limit is None or usage is None:
        return NotApplicable(
            NAME, Prose("the limit on running requests or the KV usage is not known")
        )
    if usage >= FULL:
        return NotApplicable(
            NAME,
            Prose(f"the pool is {usage:.0%} full: more slots would preempt; add replicas instead"),
        )
    target = math.floor(min(2 * limit, limit * FULL / max(usage, 0.01)))
    budget = window.config.number("max_num_batched_tokens")
    if budget is not None:
        target = min(target, int(budget))
    active, slots = (
        window.config.number("max_num_active_seqs"),
        window.config.number("max_num_seqs"),
    )
    flag = "max_num_seqs"
    if active is not None and slots is not None and active < slots:
        flag, target = "max_num_active_seqs", min(target, int(slots))
    if target <= limit:
        return NotApplicable(
            NAME, Prose(f"{count(limit)} cannot be raised within the pool and the token budget")
        )
    return Proposal(
        NAME,
        SetFlag(flag, target),
        Prose(f"all {count(limit)} slots are taken while the pool is {usage:.0%} full"),
        True,
        30,
    )


LEVER = Lever(
    NAME, Prose("more slots"), "supply", ("slot-bound",), propose, sets=SetsFlag("max_num_seqs")
)
