"""Long prompts are computed in pieces beside the decodes.

Meaning: chunked prefill is on by default since vLLM 0.8.0; it may have been switched off.
When: it is off.
Not when: it is on already.
Undo: --no-enable-chunked-prefill.
Proof: the 99th percentile of the inter-token latency falls when long prompts arrive.
Source: vLLM 0.8.0 EngineArgs; 0.11.1 is the first that lets it be switched off again.
"""

from __future__ import annotations

from barostat.catalog.vllm_behaviours import behaves
from barostat.core.diagnosis import KV_CAUSES
from barostat.core.lever import Lever, NotApplicable, Proposal, SetsFlag, Situation
from barostat.core.proposed_change import SetFlag
from barostat.core.prose import Prose
from barostat.levers._readings import lacks, setting

NAME = "chunked-prefill-on"


def propose(situation: Situation) -> Proposal | NotApplicable:
    """Switch it on where it is known to be off and the version listens."""
    found = setting(situation.window, "enable_chunked_prefill")
    version = situation.window.version
    if behaves("chunked-prefill-forced", version):
        return NotApplicable(
            NAME,
            Prose(
                f"vLLM {version} has it on for every generative model, whatever the argument says"
            ),
            classic=True,
        )
    if found is not None and found.value is False and found.provenance != "version-default":
        return Proposal(
            NAME,
            SetFlag("enable_chunked_prefill", True),
            Prose(f"it is off ({found.source}): a long prompt takes a step of its own"),
            True,
            29,
        )
    if behaves("chunked-prefill-default", version) is False and (
        found is None or found.value is not True
    ):
        if situation.cause != "prefill-bound":
            return NotApplicable(
                NAME,
                Prose(
                    f"it is off by default in vLLM {version}, and does not change what the pool holds"
                ),
                classic=True,
            )
        refusal = lacks(NAME, situation, "enable_chunked_prefill")
        return refusal or Proposal(
            NAME,
            SetFlag("enable_chunked_prefill", True),
            Prose(f"it is off by default in vLLM {version}"),
            True,
            29,
        )
    why = (
        "it is on already: it is the default since vLLM 0.8.0"
        if version is not None
        else "it is the default since vLLM 0.8.0, and nothing shows that it is off"
    )
    return NotApplicable(NAME, Prose(why), classic=True)


LEVER = Lever(
    NAME,
    Prose("chunked prefill on"),
    "supply",
    (*KV_CAUSES, "prefill-bound"),
    propose,
    sets=SetsFlag("enable_chunked_prefill"),
)
