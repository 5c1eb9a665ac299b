"""The container has the host memory that it needs, and the node keeps it.

Meaning: resources.limits.memory of the engine's container, and a request as high, so that the node
is not promised twice.
When: killed for host memory (exit 137, OOMKilled), or evicted from a node that ran short. Evicted
for disk, its own limit's or the node's: its files get a volume; for process ids: the node has
fewer.
Not when: out of GPU memory: that never gives 137.
Undo: restore the former limit.
Proof: no OOMKilled, no eviction; memory stays below 0.9 of the limit through a model load and a
busy hour.
Source: Kubernetes node-pressure eviction (pods above their request go first) and local storage
eviction (a pod above its own limit goes); vLLM loads weights through host memory.
"""

from __future__ import annotations

import math
import re

from barostat.core.lever import Lever, NotApplicable, Proposal, SetsMemory, Situation
from barostat.core.proposed_change import Advise, EditPodSpec, SetMemory
from barostat.core.prose import Prose
from barostat.core.visible import cut
from barostat.levers._readings import GIB, detail_of, last_of

NAME = "host-memory-limit"
_RESOURCE = re.compile(r"low on resource: ([\w-]+)|had condition: \[(\w+)\]")
_MEMORY = re.compile(r"[Mm]emory|lack of resources|^(?:Evicted: )?evicted$|^$")
_DISK = re.compile(r"ephemeral-storage|nodefs|imagefs|containerfs|inodes|[Dd]isk")
_OWN_DISK = re.compile(r"ephemeral (?:local )?storage (?:usage exceeds|limit)")
_EMPTY_DIR = "Usage of EmptyDir volume"
_PROCESSES = re.compile(r"^pids$|PIDPressure")
_A_VOLUME = "a volume for model files and caches (HF_HOME, VLLM_CACHE_ROOT)"


def propose(situation: Situation) -> Proposal | NotApplicable:
    """Half as much again as the limit that was reached; for an eviction a request as high as what
    is used.
    """
    window = situation.window
    limit, used = last_of(window, "host_memory_limit_bytes"), last_of(window, "host_memory_bytes")
    evicted = detail_of(window, "pod_evicted")
    if situation.variant == "node-eviction" and (other := _not_for_memory(evicted)) is not None:
        return other
    if situation.variant == "node-eviction":
        need = max(limit or 0.0, used or 0.0)
        if need <= 0:
            return Proposal(
                NAME,
                Advise(Prose("resources: {requests: {memory: <as much as limits.memory>}}")),
                Prose("the node was promised twice; the limit is not recorded"),
                True,
                20,
            )
        size = math.ceil(need / GIB)
        return Proposal(
            NAME,
            EditPodSpec(SetMemory(f"{size}Gi")),
            Prose(f"the pod needs {need / GIB:.0f} GiB"),
            True,
            20,
        )
    if limit is None:
        if used is None:
            why = (
                "killed for host memory; its limit is not recorded, so only the factor can be named"
            )
            return Proposal(
                NAME,
                Advise(Prose("resources: {limits: {memory: <1.5 times the present one>}}")),
                Prose(why),
                True,
                20,
            )
        limit = used
    size = math.ceil(1.5 * limit / GIB)
    return Proposal(
        NAME,
        EditPodSpec(SetMemory(f"{size}Gi")),
        Prose(f"killed at {limit / GIB:.1f} GiB"),
        True,
        20,
    )


def _not_for_memory(evicted: str) -> Proposal | None:
    """Return the proposal for an eviction for another resource; None for memory, or if the resource
    is unknown.
    """
    named = _RESOURCE.search(evicted)
    short_of = (named[1] or named[2]) if named is not None else evicted
    if _EMPTY_DIR in evicted:
        change = (
            "a larger sizeLimit for that emptyDir, or a volume of its own for what is written there"
        )
        why = "the pod filled an emptyDir; its memory is not the matter"
    elif _OWN_DISK.search(evicted):
        change = (
            f"{_A_VOLUME}, or resources: {{limits: {{ephemeral-storage: <more than it writes>}}}}"
        )
        why = "the pod wrote more than its own limit of disk; its memory is not the matter"
    elif _MEMORY.search(short_of):
        return None
    elif _DISK.search(short_of):
        change = f"{_A_VOLUME}, or resources: {{requests: {{ephemeral-storage: <what it uses>}}}}"
        why = "the node ran short of disk, not of memory"
    elif _PROCESSES.search(short_of):
        change = (
            "fewer processes on its node: find who has them (podPidsLimit of the kubelet "
            "bounds each pod)"
        )
        why = "the node ran short of process ids, not of memory"
    else:
        return Proposal(
            NAME,
            Advise(Prose("kubectl describe node <its node>")),
            Prose(f"the kubelet says nothing of memory: {cut(evicted, 160)}"),
            False,
            20,
        )
    return Proposal(NAME, Advise(Prose(change)), Prose(f"{why}: {cut(evicted, 160)}"), True, 20)


LEVER = Lever(
    NAME, Prose("more host memory"), "host", ("host-oom",), propose, sets=SetsMemory(SetMemory)
)
