"""Which of vLLM's two model runners an engine on a GPU takes: the newer profiles its memory with
less, and keeps one more batch in flight.

Source: vLLM 0.20.0 to 0.33.0, VllmConfig.use_v2_model_runner; issue 49224 for quantised weights,
which came last.
"""

from __future__ import annotations

from barostat.core.version import EngineVersion
from barostat.kv.architecture import Architecture

_NAMED = (
    ("0.22.0", ("Qwen3ForCausalLM",)),
    ("0.23.0", ("LlamaForCausalLM", "MistralForCausalLM")),
    ("0.24.0", ("DeepseekV2ForCausalLM", "GraniteMoeForCausalLM", "Qwen2MoeForCausalLM")),
    (
        "0.26.0",
        ("InklingForCausalLM", "InklingForConditionalGeneration", "LongcatFlashNgramForCausalLM"),
    ),
    ("0.27.0", ("KimiK3ForConditionalGeneration",)),
    ("0.28.0", ("DeepseekV4ForCausalLM",)),
)
_PLAIN_SINCE = "0.25.0"
_ALL_SINCE = "0.29.0"
_DRAFTING = ("", "eagle", "eagle3", "mtp", "dflash", "dspark")
_NEVER_DRAFTING = ("suffix", "custom_class")
_MORE_DRAFTING_SINCE = "0.32.0"


def takes_v2(
    model: Architecture, version: EngineVersion, method: str, *, quantized: bool = False
) -> bool:
    """Return whether the engine uses the newer runner by default.

    `method`: of speculation, empty if off. `quantized`: the weights have another format than the
    model's dtype.
    """
    if quantized and version.before(_PLAIN_SINCE):
        return False
    drafts = method in _DRAFTING or (
        version.at_least(_MORE_DRAFTING_SINCE) and method not in _NEVER_DRAFTING
    )
    if not drafts or version.at_least(_ALL_SINCE):
        return drafts
    if any(model.name in names and version.at_least(since) for since, names in _NAMED):
        return True
    has_experts = model.fields.has_experts
    return version.at_least(_PLAIN_SINCE) and not model.keeps_state and not has_experts
