"""What a mixture's experts work in: two buffers, each with a row for every token and expert chosen.

    [ gate and up: 2 x inner ] -> [ activated: inner ] -> [ down: hidden ]
      '- the one buffer             '- the other            '- since 0.14.0 the other again, before it the one

Since 0.14.0 the engine keeps both from one step to the next. With --enable-expert-parallel a rank
has whole experts, so that a row is as wide as without tensor parallelism. Source: vLLM 0.14.0 to
0.33.0, TritonExperts.workspace_shapes, DeepGemmExperts.workspace_shapes,
FusedMoEKernelModularImpl._allocate_buffers, WorkspaceManager; 0.7.3, fused_experts_impl; vLLM's
pull requests 31052 and 34086.
"""

from __future__ import annotations

from barostat.kv.architecture import Architecture
from barostat.kv.deployment import Deployment
from barostat.kv.dtypes import item_bytes
from barostat.kv.parameters import UNGATED_TYPES
from barostat.kv.quantization import WeightFormat

_KEPT_SINCE = "0.14.0"
# Before it the tokens of a step went through the experts by at most so many at once.
_WHOLE_STEPS_SINCE = "0.18.0"
_CHUNK_TOKENS = 32_768
_GB10 = 12.1


def expert_buffers(model: Architecture, flags: Deployment) -> float:
    """Bytes of both buffers; 0 for models without experts."""
    config = model.fields
    if not config.has_experts:
        return 0.0
    inner = _inner_width(model, flags)
    first = inner if config.model_type in UNGATED_TYPES else 2 * inner
    hidden = config.integer("moe_latent_size", 0) or model.hidden_size
    other = max(inner, hidden) if flags.version.at_least(_KEPT_SINCE) else inner
    return _rows(model, flags) * (max(first, hidden) + other) * item_bytes(flags.dtype)


def quantized_rows(model: Architecture, flags: Deployment, form: WeightFormat | None) -> float:
    """Bytes of the activated rows a second time, as the kernels of quantised experts take them; 0
    for others.
    """
    if form is None or not model.fields.has_experts:
        return 0.0
    return _rows(model, flags) * _inner_width(model, flags) * form.input_bytes


def _rows(model: Architecture, flags: Deployment) -> int:
    tokens = flags.max_num_batched_tokens
    if flags.version.before(_WHOLE_STEPS_SINCE):
        tokens = min(tokens, _CHUNK_TOKENS)
    return tokens * max(1, model.fields.integer("num_experts_per_tok", 1))


def _inner_width(model: Architecture, flags: Deployment) -> float:
    whole = model.fields.integer("moe_intermediate_size", 0) or model.fields.integer(
        "intermediate_size", 0
    )
    return whole if flags.expert_parallel else whole / flags.tp


def keeps_buffers(model: Architecture, flags: Deployment) -> bool:
    """True if the buffers are still there while other layers and the sampler work; gpt-oss'
    kernels keep none.
    """
    return flags.version.at_least(_KEPT_SINCE) and model.fields.model_type != "gpt_oss"


def allocates_anew(form: WeightFormat | None, capability: float) -> bool:
    """True if the kernels are FlashInfer's, which hold nothing between two layers: nvfp4 on
    Blackwell, but for GB10.

    A log of an RTX 5090 has the wider of experts and states, one of a GB10, both of 0.20, has the
    sum of the two.
    """
    return form is not None and "nvfp4" in form.name and 10.0 <= capability < _GB10
