"""Requests share the blocks of a common beginning, and a preempted request finds what it had
computed.

Meaning: prefix caching is on by default since vLLM 0.8.0; it may have been switched off.
When: it is off. Measured on the 0.32.0 scheduler: 79,000 tokens recomputed without it, 52,000 with
it.
Not when: it is on already. Unused cached blocks count as free, so switching it off frees nothing.
Undo: --no-enable-prefix-caching.
Proof: prefix-cache hits are counted; tokens recomputed after preemptions fall.
Source: vLLM 0.8.0 EngineArgs (default on V1), BlockPool.
"""

from __future__ import annotations

from barostat.catalog.vllm_behaviours import behaves
from barostat.core.diagnosis import KV_CAUSES
from barostat.core.lever import Lever, NotApplicable, Proposal, SetsFlag, Situation
from barostat.core.proposed_change import SetFlag
from barostat.core.prose import Prose
from barostat.levers._readings import lacks, setting

NAME = "prefix-caching-on"


def propose(situation: Situation) -> Proposal | NotApplicable:
    """Switch it on where it is known to be off."""
    found = setting(situation.window, "enable_prefix_caching")
    version = situation.window.version
    if found is not None and found.value is False and found.provenance != "version-default":
        return Proposal(
            NAME,
            SetFlag("enable_prefix_caching", True),
            Prose(
                f"it is off ({found.source}): every preempted request is recomputed from its "
                "first token"
            ),
            True,
            28,
        )
    if behaves("prefix-caching-default", version) is False and (
        found is None or found.value is not True
    ):
        refusal = lacks(NAME, situation, "enable_prefix_caching")
        return refusal or Proposal(
            NAME,
            SetFlag("enable_prefix_caching", True),
            Prose(f"it is off by default in vLLM {version}"),
            True,
            45,
        )
    why = (
        "it is on already: it is the default since vLLM 0.8.0"
        if version is not None
        else "it is the default since vLLM 0.8.0, and nothing shows that it is off"
    )
    return NotApplicable(NAME, Prose(why), classic=True)


LEVER = Lever(
    NAME,
    Prose("prefix caching on"),
    "supply",
    (*KV_CAUSES, "prefill-bound"),
    propose,
    sets=SetsFlag("enable_prefix_caching"),
)
