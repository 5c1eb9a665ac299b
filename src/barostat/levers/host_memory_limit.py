"""The container has the host memory that it needs, and the node keeps it.

Meaning: resources.limits.memory of the engine's container, and a request as high, so that the node is not promised twice.
When: killed for host memory (exit 137, OOMKilled), or evicted from a node that ran short (of disk: then its files get a volume).
Not when: out of GPU memory: that never gives 137.
Undo: restore the former limit.
Proof: no OOMKilled, no eviction; memory stays below 0.9 of the limit through a model load and a busy hour.
Source: Kubernetes node-pressure eviction (pods above their request go first); vLLM loads weights through host memory.
"""

from __future__ import annotations

import math
import re

from barostat.core.lever import Lever, NotApplicable, Proposal, Situation
from barostat.core.visible import cut
from barostat.levers._readings import GIB, detail_of, last_of

NAME = "host-memory-limit"


def propose(situation: Situation) -> Proposal | NotApplicable:
    """Half as much again as the limit that was reached; for an eviction a request as high as what is used."""
    window = situation.window
    limit, used = last_of(window, "host_memory_limit_bytes"), last_of(window, "host_memory_bytes")
    evicted = detail_of(window, "pod_evicted")
    if situation.variant == "node-eviction" and re.search(r"ephemeral-storage|nodefs|imagefs|[Dd]isk", evicted):
        change = (
            "a volume for model files and caches (HF_HOME, VLLM_CACHE_ROOT), or resources: {requests: {ephemeral-storage: <what it uses>}}"
        )
        return Proposal(NAME, change, f"the node ran short of disk, not of memory: {cut(evicted, 160)}", True, 20)
    if situation.variant == "node-eviction":
        need = max(limit or 0.0, used or 0.0)
        if need <= 0:
            return Proposal(
                NAME,
                "resources: {requests: {memory: <as much as limits.memory>}}",
                "the node was promised twice; the limit is not recorded",
                True,
                20,
            )
        size = math.ceil(need / GIB)
        return Proposal(
            NAME,
            f"resources: {{requests: {{memory: {size}Gi}}, limits: {{memory: {size}Gi}}}}",
            f"the pod needs {need / GIB:.0f} GiB",
            True,
            20,
        )
    if limit is None:
        if used is None:
            why = "killed for host memory; its limit is not recorded, so only the factor can be named"
            return Proposal(NAME, "resources: {limits: {memory: <1.5 times the present one>}}", why, True, 20)
        limit = used
    size = math.ceil(1.5 * limit / GIB)
    return Proposal(
        NAME, f"resources: {{limits: {{memory: {size}Gi}}, requests: {{memory: {size}Gi}}}}", f"killed at {limit / GIB:.1f} GiB", True, 20
    )


LEVER = Lever(NAME, "more host memory", "host", ("host-oom",), propose)
