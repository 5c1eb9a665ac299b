"""The replica runs on another node, and the owner of this one knows.

Meaning: no new pod lands on the node, this replica is drained and started elsewhere, and whoever
owns nodes gets the evidence.
When: hardware is at fault: throttling, ECC errors, fatal Xid codes, a lost card.
Not when: pressure is only suspected: a cordon for load moves the load to fewer cards. No engine
argument heals a card.
Undo: kubectl uncordon, by the node's owner, after the repair.
Proof: the same load on another node has no fault signal and the usual latency.
Source: NVIDIA Xid catalogue; Kubernetes cordon and drain.
"""

from __future__ import annotations

from barostat.core.lever import Lever, NotApplicable, Proposal, Situation
from barostat.core.proposed_change import Advise
from barostat.core.prose import Prose
from barostat.core.visible import cut
from barostat.levers._readings import detail_of, pod_words

NAME = "cordon-and-move"
_WORDS = {
    "throttle": "its clocks are cut",
    "ecc": "its memory has uncorrectable errors",
    "xid": "the driver reported a fault",
}


def propose(situation: Situation) -> Proposal | NotApplicable:
    """The two commands, and what to hand to the node's owner."""
    window = situation.window
    detail = detail_of(
        window,
        "kernel_xid_fatal",
        "kernel_gpu_error",
        "gpu_lost",
        "gpu_throttle_fault",
        "node_gpu_unhealthy",
        "node_not_ready",
        "log_gpu_fault",
    ).strip()
    pod = pod_words(window)
    if pod:
        change = (
            f"kubectl cordon <its node>; kubectl delete pod {pod} once its replacement is "
            "Ready; tell the node's owner"
        )
    else:
        change = (
            f"start the engine at {window.replica} on another node, and stop it there once "
            "that serves; tell the node's owner"
        )
    why = _WORDS.get(situation.variant, "the card or its node is at fault")
    return Proposal(
        NAME,
        Advise(Prose(change)),
        Prose(f"{why}{': ' + cut(detail, 160) if detail else ''}; no engine setting mends it"),
        True,
        10,
    )


LEVER = Lever(NAME, Prose("away from this node"), "supply", ("node-fault",), propose)
