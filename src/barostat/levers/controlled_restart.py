"""Take a replica that generates no tokens out of rotation and restart it.

Meaning: take it out of the routing, then delete the pod (or stop the process); what it holds is
lost either way.
When: the engine hangs: requests run and no token comes, or wait and none is admitted, whatever
/health says.
Not when: it is slow under load: a restart drops the cache and makes the others slower.
Undo: none; the new process is the old configuration.
Proof: a request of one token is answered; tokens are counted again.
Source: vLLM 0.33.0 /health looks at the engine process, not at its progress.
"""

from __future__ import annotations

from barostat.core.lever import Lever, NotApplicable, Proposal, Situation
from barostat.core.proposed_change import Advise, Restart
from barostat.core.prose import Prose
from barostat.levers._readings import last_of, reference_of_pod

NAME = "controlled-restart"


def propose(situation: Situation) -> Proposal | NotApplicable:
    """The command for this replica; a stopped process is continued instead."""
    window = situation.window
    if (last_of(window, "engine_core_stopped") or 0) > 0:
        return Proposal(
            NAME,
            Advise(Prose("kill -CONT <pid of VLLM::EngineCore>")),
            Prose("the engine core is stopped (state T), not broken: it resumes where it stopped"),
            False,
            10,
        )
    if stalled := last_of(window, "tokens_stalled_s") or 0:
        seen = f"no token for {stalled:.0f} s while requests run"
    elif situation.variant == "collective":
        seen = "a collective does not return"
    else:
        seen = (
            "requests wait and none is admitted"
            if last_of(window, "running_requests") == 0
            else "requests run and no token comes"
        )
    pod = reference_of_pod(window)
    change = Restart(pod, "" if pod is not None else window.replica)
    return Proposal(NAME, change, Prose(f"{seen}; it does not come back by itself"), True, 20)


LEVER = Lever(NAME, Prose("restart the hung replica"), "supply", ("hung-engine",), propose)
