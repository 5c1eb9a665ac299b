"""The engine's processes have room to talk: a memory-backed /dev/shm.

Meaning: an emptyDir of medium Memory, mounted at /dev/shm; containers get 64 MiB otherwise. What is
written there counts as the pod's memory.
When: /dev/shm is too small, or a collective hangs in a pod that still has the 64 MiB.
Not when: the pod has a large one already.
Undo: remove the volume and its mount.
Proof: the engine starts with several cards; df /dev/shm in the container shows the size.
Source: Kubernetes emptyDir; vLLM's CPU engine needs 160 MiB, NCCL more with each card.
"""

from __future__ import annotations

from barostat.core.lever import Lever, NotApplicable, Proposal, SetsMemory, Situation
from barostat.core.proposed_change import EditPodSpec, SetSharedMemory
from barostat.core.prose import Prose
from barostat.levers._readings import last_of

NAME = "shm-size"
MIB = 1024**2


def propose(situation: Situation) -> Proposal | NotApplicable:
    """1 GiB for one card, 2 GiB per card and at least 8 GiB for several."""
    window = situation.window
    now = last_of(window, "pod_shm_bytes")
    if situation.cause == "bad-config" and situation.variant != "shm":
        return NotApplicable(NAME, Prose("no sign that /dev/shm is too small"))
    if situation.cause == "hung-engine" and situation.variant != "collective":
        return NotApplicable(NAME, Prose("no collective hangs"))
    cards = max(
        1.0,
        window.config.number("tensor_parallel_size") or 1.0,
        last_of(window, "gpu_count") or 1.0,
    )
    if situation.cause == "hung-engine":
        cards = max(2.0, cards)  # one card alone has no collective
    size = 1 if cards == 1 else max(8, 2 * int(cards))
    if now is not None and now >= size * 1024 * MIB:
        return NotApplicable(NAME, Prose(f"/dev/shm has {now / MIB / 1024:.0f} GiB already"))
    change = EditPodSpec(SetSharedMemory(f"{size}Gi"))
    for_cards = f" for {cards:.0f} card{'s' if cards > 1 else ''}"
    if now is not None:
        return Proposal(
            NAME, change, Prose(f"/dev/shm has {now / MIB:.0f} MiB{for_cards}"), True, 20
        )
    if situation.cause == "hung-engine":
        return Proposal(
            NAME,
            change,
            Prose(
                "its size was not recorded, and a container gets 64 MiB where the manifest "
                "says nothing"
            ),
            True,
            32,
        )
    return Proposal(NAME, change, Prose(f"/dev/shm is too small{for_cards}"), True, 20)


LEVER = Lever(
    NAME,
    Prose("a larger /dev/shm"),
    "manifest",
    ("bad-config", "hung-engine"),
    propose,
    sets=SetsMemory(SetSharedMemory),
)
