"""A new replica finds what the last one compiled.

Meaning: torch.compile, Triton and FlashInfer write what they compile below VLLM_CACHE_ROOT
(~/.cache/vllm), ~/.triton and ~/.cache. In a container's own file system that is lost with the
container, and every start compiles again: one to three minutes of most starts, much more of some.
When: a replica that is still starting.
Not when: --enforce-eager: nothing is compiled.
Undo: remove the volume; the caches are made again.
Proof: the log of the next start says "Directly load the compiled graph" in the place of
"torch.compile takes".
Source: vLLM docs, design/torch_compile (compilation cache); vLLM envs.VLLM_CACHE_ROOT;
talos-argocd-proxmox#1848 (166 s of 11 minutes), gpustack#5175.
"""

from __future__ import annotations

from barostat.core.lever import Lever, NotApplicable, Proposal, Situation
from barostat.core.proposed_change import Advise
from barostat.core.prose import Prose

NAME = "keep-compile-cache"


def propose(situation: Situation) -> Proposal | NotApplicable:
    """A volume for the caches, for the starts to come."""
    if situation.variant != "cold-start":
        return NotApplicable(NAME, Prose("no replica is loading"))
    eager = situation.window.config.get("enforce_eager")
    if eager is not None and eager.value is True:
        return NotApplicable(NAME, Prose("--enforce-eager is set: nothing is compiled"))
    return Proposal(
        NAME,
        Advise(
            Prose(
                "mount a volume at /root/.cache (VLLM_CACHE_ROOT, Hugging Face, FlashInfer) in the "
                "pod template, before the next start"
            )
        ),
        Prose("compiled kernels that are kept shorten the next start by one to three minutes"),
        True,
        40,
    )


LEVER = Lever(NAME, Prose("keep compiled kernels"), "advice", ("scaling-lag",), propose)
