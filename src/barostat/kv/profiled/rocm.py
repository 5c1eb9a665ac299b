"""What vLLM's builds for AMD cards (ROCm) add to the weights: rows that are padded, and memory that
the allocator cannot give back.

    layer by layer:  w13 | padded copy of w13        the old w13 is free, but cached
                     w2' is carved out of the old w13, and what is left of it stays: [ w2' | left ]

256 bytes are appended to each row whose bytes are a multiple of 512, so that rows lie in different
memory channels: rows of unquantised experts, until the copies were written back in place (pull
request 46009 of 3 September 2026), and rows of fp8 linear layers, in all versions that were read.
What is left is counted since the engine compares free memory before and after; a limit on splitting
blocks prevents it, on CUDA first, on ROCm in 0.32.0.

Source: vLLM 0.32.0, UnquantizedFusedMoEMethod._maybe_pad_weight, _maybe_pad_fp8_weight,
Worker._scoped_allocator_max_split, memory_profiling; pull requests 13231 and 14454; PyTorch's
caching allocator. VLLM_ROCM_MOE_PADDING and VLLM_ROCM_FP8_PADDING, both on by default.
"""

from __future__ import annotations

from barostat.kv.architecture import Architecture, Full, Window
from barostat.kv.deployment import Deployment
from barostat.kv.dtypes import item_bytes
from barostat.kv.parameters import UNGATED_TYPES, feeds
from barostat.kv.quantization import WeightFormat

_ROW_MULTIPLE_BYTES, _PADDING_BYTES = 512, 256
_EXPERTS_PADDED_UNTIL = "0.29.0"
_FREE_MEMORY_COUNTS_SINCE = "0.27.0"


def padding_bytes(model: Architecture, flags: Deployment, form: WeightFormat) -> float:
    """Bytes on one GPU, all stages together, that padded rows take beyond the weights."""
    if not flags.rocm:
        return 0.0
    return _expert_padding(model, flags, form) + _linear_padding(model, flags, form)


def pinned_bytes(model: Architecture, flags: Deployment, form: WeightFormat) -> float:
    """Bytes on one GPU, all stages together, that stay with the allocator once experts are padded.

    The second matrix, padded, is carved out of what the first one was, and less is left than the
    next layer's second matrix needs.
    """
    counted = flags.version.at_least(_FREE_MEMORY_COUNTS_SINCE)
    first, second = _expert_matrices(model, flags)
    if not counted or not _pads_experts(flags, form) or not first.padding or not second.padding:
        return 0.0
    left = first.size - (second.size + second.padding)
    if not 0.0 < left < second.size + second.padding:
        return 0.0
    return left * _expert_layers(model)


class _Matrix:
    """Rows of one width, on one GPU. `size` and `padding` in bytes."""

    def __init__(self, rows: float, width: float, each_bytes: float) -> None:
        row_bytes = width * each_bytes
        self.size = rows * row_bytes
        self.padding = 0.0 if row_bytes % _ROW_MULTIPLE_BYTES else rows * _PADDING_BYTES


def _pads_experts(flags: Deployment, form: WeightFormat) -> bool:
    plain = form.bytes_of("experts") == form.plain_bytes
    return flags.rocm and plain and flags.version.before(_EXPERTS_PADDED_UNTIL)


def _expert_layers(model: Architecture) -> int:
    return sum(feed.experts for feed in feeds(model.fields, model))


def _expert_matrices(model: Architecture, flags: Deployment) -> tuple[_Matrix, _Matrix]:
    """The two matrices that hold all experts of a layer: up with the gate, and down."""
    config = model.fields
    ranks = flags.tp * flags.dp
    experts = config.integer("num_experts", 0) if config.has_experts else 0
    inner = config.integer("moe_intermediate_size", 0) or config.integer("intermediate_size", 0)
    hidden = config.integer("moe_latent_size", 0) or model.hidden_size
    count, width = (experts / ranks, inner) if flags.expert_parallel else (experts, inner / ranks)
    doubled = 1 if config.model_type in UNGATED_TYPES else 2
    each = item_bytes(flags.dtype)
    return _Matrix(count * doubled * width, hidden, each), _Matrix(count * hidden, width, each)


def _expert_padding(model: Architecture, flags: Deployment, form: WeightFormat) -> float:
    if not _pads_experts(flags, form):
        return 0.0
    return sum(one.padding for one in _expert_matrices(model, flags)) * _expert_layers(model)


def _linear_padding(model: Architecture, flags: Deployment, form: WeightFormat) -> float:
    """Of dense layers with grouped attention; others' rows are not reckoned. Eight bits whose kind is
    not named are taken for fp8.
    """
    if not form.name.startswith(("fp8", "8-bit")):
        return 0.0
    hidden, total = model.hidden_size, 0.0
    for layer, feed in zip(model.layers, feeds(model.fields, model), strict=True):
        cache = layer[0] if layer else None
        if feed.width and form.bytes_of("mlp") != form.plain_bytes:
            up = _Matrix((feed.projections - 1) * feed.width / flags.tp, hidden, 1)
            total += up.padding + _Matrix(hidden, feed.width / flags.tp, 1).padding
        if isinstance(cache, Full | Window) and form.bytes_of("attention") != form.plain_bytes:
            queries = model.heads * cache.key_dim / flags.tp
            pairs = cache.kv_heads * (cache.key_dim + cache.value_dim) / flags.tp
            total += _Matrix(queries + pairs, hidden, 1).padding
            total += _Matrix(hidden, queries, 1).padding
    return total
