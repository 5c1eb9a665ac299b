"""Nothing is changed on the engines that serve: capacity is on its way, or the cluster lacks it.

Meaning: a replica is loading, or waits for a node; the ones that serve carry the rest until it is
there.
When: scaling-lag. Cap at the edge meanwhile.
Not when: the new replica fails again and again: then it has a cause of its own.
Undo: none.
Proof: replicas ready equals replicas wanted; waiting falls.
Source: Kubernetes scheduler events (FailedScheduling); vLLM opens its port when it can serve.
"""

from __future__ import annotations

import re

from barostat.core.lever import Lever, NotApplicable, Proposal, Situation
from barostat.core.proposed_change import Advise
from barostat.core.prose import Prose
from barostat.core.visible import cut
from barostat.levers._readings import detail_of, last_of, pod_words

NAME = "wait-for-capacity"
_A_NODE = "add a node with a free GPU (node pool maximum, quota), or free one"
_NO_PLACE = (
    (r"Insufficient \S*(?:gpu|mig-|neuron|gaudi|tpu)", _A_NODE),
    (
        r"PersistentVolumeClaim|persistentvolumeclaim|volume node affinity|persistent volumes to bind",
        (
            "kubectl get pvc: bind the claim that the pod mounts (its storage class, size, "
            "access mode and zone)"
        ),
    ),
    (
        r"Insufficient (?:memory|cpu|ephemeral-storage|hugepages\S*)",
        "smaller requests for what is short, or a larger node",
    ),
    (
        r"taint|didn't match|nodeSelector|affinity",
        "a toleration, nodeSelector or affinity that a node with a free GPU fits",
    ),
)
"""What the scheduler lacks, and what provides it; first the reasons that no manifest can fix."""


def propose(situation: Situation) -> Proposal | NotApplicable:
    """What to watch while it starts, or what the scheduler lacks."""
    window = situation.window
    if situation.variant == "pending":
        reason = detail_of(window, "pod_pending", "pods_unschedulable").strip()
        why = f"the scheduler says: {cut(reason, 180)}" if reason else "a pod waits for a node"
        change = next((change for words, change in _NO_PLACE if re.search(words, reason)), _A_NODE)
        return Proposal(NAME, Advise(Prose(change)), Prose(why), False, 20)
    seconds = last_of(window, "pod_starting_s")
    ready, wanted = last_of(window, "replicas_ready"), last_of(window, "replicas_wanted")
    have = (
        f"{ready:.0f} of {wanted:.0f} replicas are ready"
        if ready is not None and wanted is not None
        else "a replica is starting"
    )
    since = f", for {seconds:.0f} s now" if seconds is not None else ""
    pod = pod_words(window)
    change = (
        f"kubectl wait --for=condition=Ready pod/{pod} --timeout=10m"
        if pod
        else f"wait until {window.replica} answers"
    )
    return Proposal(
        NAME, Advise(Prose(change)), Prose(f"{have}{since}; a start takes minutes"), False, 20
    )


LEVER = Lever(NAME, Prose("wait for capacity"), "advice", ("scaling-lag",), propose)
