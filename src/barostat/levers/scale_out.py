"""Add replicas.

Meaning: raise the workload's replicas, or the autoscaler's maximum if an autoscaler sets them.
When: one well-tuned replica is not enough: limits at the edge are set, and the queue still grows. A
new one takes minutes to start.
Not when: requests that do not fit one replica; a host, gateway or node fault.
Undo: scale back once the load is gone, with a drain.
Proof: waiting requests per replica fall; time to first token recovers.
Source: vLLM 0.33.0: each engine has its own pool and queue; replicas share only the load.
"""

from __future__ import annotations

import math

from barostat.core.diagnosis import KV_CAUSES
from barostat.core.lever import Lever, NotApplicable, Proposal, SetsReplicas, Situation
from barostat.core.proposed_change import Scale
from barostat.core.prose import Prose
from barostat.levers._readings import achieved_running, last_of, mean_of

NAME = "scale-out"


def propose(situation: Situation) -> Proposal | NotApplicable:
    """Propose enough replicas for the running and waiting requests at the current number per
    replica, at most twice as many as now.
    """
    window = situation.window
    if situation.cause == "scaling-lag" and not (last_of(window, "hpa_at_max") or 0) > 0:
        return NotApplicable(NAME, Prose("more replicas are already requested and not ready yet"))
    if situation.cause in KV_CAUSES and achieved_running(window) == 1:
        return NotApplicable(
            NAME,
            Prose(
                "one request alone fills the pool, and a new replica's pool would be as small: "
                "cap the input instead"
            ),
        )
    wanted = last_of(window, "replicas_wanted")
    running, waiting = achieved_running(window), mean_of(window, "waiting_requests")
    share = 1.0 + (waiting / running if running and waiting is not None else 0.5)
    need = (
        f"{running:.0f} run and {waiting:.0f} wait per replica"
        if running and waiting is not None
        else "the load exceeds one replica"
    )
    if wanted is None:
        one_more = (
            Scale(None, target=window.workload)
            if window.pod
            else Scale(None, engine=window.replica)
        )
        why = Prose(f"{need}; the current number of replicas is not recorded")
        return Proposal(NAME, one_more, why, False, 60)
    target = max(int(wanted) + 1, min(math.ceil(wanted * share), 2 * int(wanted)))
    at_its_most = (last_of(window, "hpa_at_max") or 0) > 0
    change = Scale(target, "autoscaler" if at_its_most else "workload", window.workload)
    return Proposal(NAME, change, Prose(f"{wanted:.0f} now; {need}"), False, 60)


LEVER = Lever(
    NAME,
    Prose("more replicas"),
    "supply",
    (*KV_CAUSES, "slot-bound", "prefill-bound", "compute-bound", "scaling-lag", "host-bound"),
    propose,
    sets=SetsReplicas(),
)
