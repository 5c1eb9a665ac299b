"""The pod can be created on the node that it got.

Meaning: an image that cannot be pulled, a missing secret, volume or device: the container never ran.
When: the container waits in ErrImagePull, CreateContainerConfigError or the like; or the image does not fit the node's driver or lacks
something; or no card is given to it; or a directory is full or not permitted.
Not when: the container ran and ended by itself for another reason.
Undo: restore the former manifest.
Proof: the container starts.
Source: Kubernetes container states (waiting reasons); torch.cuda and NVML errors, vLLM 0.33.0 platforms (device type), containerd.
"""

from __future__ import annotations

import re

from barostat.core.lever import Lever, NotApplicable, Proposal, Situation
from barostat.core.visible import cut
from barostat.levers._readings import detail_of, pod_words

NAME = "pod-spec"
_FOR_THIS_NODE = "image: <a build for this node's driver and card, its packages as released> (or the one that worked before)"
_WRITABLE = "a writable volume with HOME, HF_HOME, VLLM_CACHE_ROOT and TRITON_CACHE_DIR on it, and securityContext.fsGroup for its group"

_NO_CARD = re.compile(
    r"No CUDA GPUs are available|Failed to infer device type|NVMLError_(?:DriverNotLoaded|LibraryNotFound)|node has no GPU available"
    r"|libcuda\.so|could not select device driver"
)
_MISFIT = re.compile(r"does not match")
_MISSING = re.compile(
    r"No module named|[Pp]lease install|is not available|No such file or directory: '|non-zero exit status|C compiler|ot find nvcc"
    r"|nvcc\S*: (?:command )?not found|CUDA_HOME|executable file not found"
)


def propose(situation: Situation) -> Proposal | NotApplicable:
    """What the reason names."""
    if situation.variant != "pod":
        return NotApplicable(NAME, "the container was created")
    misfit = detail_of(situation.window, "log_broken_install").strip()
    if _NO_CARD.search(misfit):
        change = (
            "resources: {limits: {nvidia.com/gpu: 1}} (amd.com/gpu; outside Kubernetes: --gpus all, or --device=/dev/kfd --device=/dev/dri)"
        )
        return Proposal(NAME, change, f"the engine sees no card: {cut(misfit, 200)}", True, 20)
    if _MISSING.search(misfit) and not _MISFIT.search(misfit):
        change = "image: <one that holds what is missing>: vLLM's own, or your own with that package or program added"
        return Proposal(NAME, change, cut(misfit, 200), True, 20)
    if misfit:
        return Proposal(NAME, _FOR_THIS_NODE, cut(misfit, 200), True, 20)
    if refused := detail_of(situation.window, "log_storage_refused").strip():
        full = "No space" in refused or "quota" in refused
        change = "a larger volume for what that path is on (HF_HOME, --download-dir)" if full else _WRITABLE
        return Proposal(NAME, change, cut(refused, 200), True, 20)
    if detail_of(situation.window, "log_port_in_use"):
        return NotApplicable(NAME, "the container ran: its port was taken")
    reason = detail_of(situation.window, "pod_image_error", "pod_crash_looping", "pod_not_ready").strip()
    if "mage" in reason:
        return Proposal(
            NAME, "image: <a name and tag that the node can pull> (and imagePullSecrets for a private one)", cut(reason, 200), True, 20
        )
    if "nvidia-container-cli" in reason:
        return Proposal(NAME, _FOR_THIS_NODE, cut(reason, 200), True, 20)
    change = f"kubectl describe pod {pod_words(situation.window) or '<name>'}"
    return Proposal(
        NAME, change, f"the container cannot be created: {cut(reason, 180)}" if reason else "the container cannot be created", False, 20
    )


LEVER = Lever(NAME, "a pod that can be created", "manifest", ("bad-config",), propose)
