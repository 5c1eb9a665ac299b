"""The pod can be created on the node that it got.

Meaning: an image that cannot be pulled, a missing secret, volume or device: the container never
ran.
When: the container waits in ErrImagePull, CreateContainerConfigError or the like; or the image does
not fit the node's driver or lacks something; or no card is given to it; or the node's driver or
container runtime fails; or a directory is full or not permitted.
Not when: the container ran and ended by itself for another reason.
Undo: restore the former manifest.
Proof: the container starts.
Source: Kubernetes container states (waiting reasons); torch.cuda and NVML errors, vLLM 0.33.0
platforms (device type), containerd; nvidia-container-cli (requirement error, device error,
initialization error); Docker's device drivers.
"""

from __future__ import annotations

import re

from barostat.core.lever import Lever, NotApplicable, Proposal, Situation
from barostat.core.proposed_change import Advise
from barostat.core.prose import Prose
from barostat.core.visible import cut
from barostat.core.window import Window
from barostat.levers._readings import cards_in_pod, detail_of, pod_words

NAME = "pod-spec"
_FOR_THIS_NODE = (
    "image: <a build for this node's driver and card, its packages as released> (or the one "
    "that worked before)"
)
_WRITABLE = (
    "a writable volume with HOME, HF_HOME, VLLM_CACHE_ROOT and TRITON_CACHE_DIR on it, and "
    "securityContext.fsGroup for its group"
)

_NO_CARD = re.compile(
    r"No CUDA GPUs are available|Failed to infer device type|NVMLError_(?:DriverNotLoaded|LibraryNotFound)|node has no GPU available"
    r"|libcuda\.so"
)
_NO_TOOLKIT = re.compile(
    r'could not select device driver|unknown or invalid runtime name: nvidia|no runtime for "nvidia" is configured'
    r"|unresolvable CDI devices"
)
_OTHER_IMAGE = re.compile(r"nvidia-container-cli: requirement error")
_NODES_OWN = re.compile(r"nvidia-container-cli|[Dd]river/library version mismatch")
_MISFIT = re.compile(r"does not match")
_MISSING = re.compile(
    r"No module named|[Pp]lease install|is not available|No such file or directory: '|C compiler|ot find nvcc"
    r"|nvcc\S*: (?:command )?not found|CUDA_HOME|executable file not found|fatal error: |annot find -l"
)

_SAID = (
    (
        "uid not found",
        (
            "runAsUser: <one that the image's /etc/passwd names>; or env: USER=vllm, and "
            "HOME and TORCHINDUCTOR_CACHE_DIR "
            "on a volume that it may write"
        ),
    ),
    (
        "failed to be inspected",
        (
            "read the first error above that line: the model's code could not be imported, and "
            "what it lacks belongs into the image"
        ),
    ),
    (
        "all_special_tokens_extended",
        (
            "image: <vLLM's own, its packages as released>: this vLLM needs a transformers "
            "older than 5"
        ),
    ),
    (
        "No compiled cutlass",
        (
            "image: <a build for this card>; or the model quantised in a way that this card "
            "has kernels for"
        ),
    ),
)
"""Log lines that name the remedy."""


def propose(situation: Situation) -> Proposal | NotApplicable:
    """What the reason names."""
    if situation.variant != "pod":
        return NotApplicable(NAME, Prose("the container was created"))
    misfit = detail_of(situation.window, "log_broken_install").strip()
    if (below := _beneath_the_image(misfit, situation.window)) is not None:
        return below
    if _NO_CARD.search(misfit):
        cards = (
            cards_in_pod(situation.window)
            or "<one for each worker: tensor- times pipeline-parallel size>"
        )
        change = (
            f"resources: {{limits: {{nvidia.com/gpu: {cards}}}}} (amd.com/gpu; outside "
            "Kubernetes: --gpus all, or --device=/dev/kfd "
            "--device=/dev/dri)"
        )
        return Proposal(
            NAME,
            Advise(Prose(change)),
            Prose(f"the engine sees no card: {cut(misfit, 200)}"),
            True,
            20,
        )
    for words, change in _SAID:
        if words in misfit:
            return Proposal(NAME, Advise(Prose(change)), Prose(cut(misfit, 200)), True, 20)
    if _MISSING.search(misfit) and not _MISFIT.search(misfit):
        change = (
            "image: <one that holds what is missing>: vLLM's own, or your own with that "
            "package or program added"
        )
        return Proposal(NAME, Advise(Prose(change)), Prose(cut(misfit, 200)), True, 20)
    if "non-zero exit status" in misfit:
        change = (
            "read what the compiler said above that line: a header or library that it lacks "
            "belongs into the image"
        )
        return Proposal(NAME, Advise(Prose(change)), Prose(cut(misfit, 200)), True, 20)
    if misfit:
        return Proposal(NAME, Advise(Prose(_FOR_THIS_NODE)), Prose(cut(misfit, 200)), True, 20)
    if refused := detail_of(situation.window, "log_storage_refused").strip():
        full = "No space" in refused or "quota" in refused
        change = (
            "a larger volume for what that path is on (HF_HOME, --download-dir)"
            if full
            else _WRITABLE
        )
        return Proposal(NAME, Advise(Prose(change)), Prose(cut(refused, 200)), True, 20)
    if detail_of(situation.window, "log_port_in_use"):
        return NotApplicable(NAME, Prose("the container ran: its port was taken"))
    reason = detail_of(
        situation.window, "pod_image_error", "pod_crash_looping", "pod_not_ready"
    ).strip()
    if (below := _beneath_the_image(reason, situation.window)) is not None:
        return below
    if "mage" in reason:
        return Proposal(
            NAME,
            Advise(
                Prose(
                    "image: <a name and tag that the node can pull> (and imagePullSecrets for a "
                    "private one)"
                )
            ),
            Prose(cut(reason, 200)),
            True,
            20,
        )
    change = f"kubectl describe pod {pod_words(situation.window) or '<name>'}"
    return Proposal(
        NAME,
        Advise(Prose(change)),
        Prose(
            f"the container cannot be created: {cut(reason, 180)}"
            if reason
            else "the container cannot be created"
        ),
        False,
        20,
    )


def _beneath_the_image(words: str, window: Window) -> Proposal | None:
    """What the node's driver, or the runtime that hands out its cards, is in need of; None if
    the words are about neither.
    """
    node = bool(window.pod)
    if _NO_TOOLKIT.search(words):
        change = (
            "the NVIDIA Container Toolkit on the host: nvidia-ctk runtime configure "
            "--runtime=docker; systemctl restart docker"
        )
        if node:
            change = (
                "tell the node's owner: the NVIDIA Container Toolkit has to be there, and its "
                "container runtime set up for it"
            )
        return Proposal(
            NAME,
            Advise(Prose(change)),
            Prose(f"nothing on the host hands cards to containers: {cut(words, 180)}"),
            True,
            20,
        )
    if not _NODES_OWN.search(words):
        return None
    if _OTHER_IMAGE.search(words):
        return Proposal(NAME, Advise(Prose(_FOR_THIS_NODE)), Prose(cut(words, 200)), True, 20)
    change = "restart the host, or load its driver anew; then ask its owner"
    if node:
        change = (
            "kubectl cordon <its node>, so that the pod starts on another one; tell the node's "
            "owner"
        )
    return Proposal(
        NAME,
        Advise(Prose(change)),
        Prose(f"the driver or a card of the node fails, not the image: {cut(words, 170)}"),
        True,
        20,
    )


LEVER = Lever(NAME, Prose("a pod that can be created"), "manifest", ("bad-config",), propose)
