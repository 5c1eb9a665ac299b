"""Nothing needs to be done.

Meaning: the engine is well, idle or busy.
When: healthy.
Not when: anything else.
Undo: none.
Proof: no request waits, none is preempted, tokens flow.
Source: vLLM 0.33.0 allocates its pool at start: the card's memory stays near the utilisation
setting, used or not.
"""

from __future__ import annotations

from barostat.core.lever import Lever, NotApplicable, Proposal, Situation
from barostat.core.proposed_change import Advise
from barostat.core.prose import Prose
from barostat.levers._readings import last_of, mean_of

NAME = "quiet"


def propose(situation: Situation) -> Proposal | NotApplicable:
    """The sentence that says why what looks hot is not harm."""
    window = situation.window
    share, usage = last_of(window, "gpu_memory_used_ratio"), mean_of(window, "kv_usage_ratio")
    reasons = []
    if share is not None and share > 0.8:
        reasons.append(
            f"{share:.0%} of GPU memory is how vLLM always looks: it takes its pool at start"
        )
    if usage is not None and usage > 0.8:
        reasons.append(f"a KV pool {usage:.0%} full with nobody waiting is well used")
    because = "; ".join(reasons) or "no request waits and none is preempted"
    return Proposal(NAME, Advise(Prose("leave it as it is")), Prose(because), False, 1)


LEVER = Lever(NAME, Prose("nothing to do"), "advice", ("healthy-busy", "healthy-idle"), propose)
