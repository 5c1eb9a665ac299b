"""Where a GPU's memory goes before the KV pool gets the rest, each part an estimate.

    total x utilisation = weights + activations + non-torch + graphs + KV pool
                                    |             |           '- counted inside the budget since 0.20.0, on top of it before
                                    |             '- CUDA context beyond the snapshot, NCCL, all-reduce workspaces
                                    '- peak of one profiling forward of max_num_batched_tokens, and
                                    of the sampler over max_num_seqs rows

The constants were fitted to public start-up logs (docs/decisions/memory-model.md says which, and
how they do on families left out).
Source: vLLM 0.19.0 to 0.33.0, Worker.determine_available_memory, GPUModelRunner.profile_run.
"""

from __future__ import annotations

from dataclasses import dataclass

from barostat.core.units import GIB, gib
from barostat.kv.adapters import NO_ADAPTERS, adapter_places
from barostat.kv.architecture import Architecture, State
from barostat.kv.config_json import ConfigJson
from barostat.kv.deployment import Deployment
from barostat.kv.dtypes import item_bytes
from barostat.kv.estimate import Estimate, within
from barostat.kv.profiled.experts import (
    allocates_anew,
    expert_buffers,
    keeps_buffers,
    quantized_rows,
)
from barostat.kv.profiled.fitted import FITTED, MemoryModel
from barostat.kv.profiled.graphs import capture_sizes, charged_bytes, counts_graphs, recorded_graphs
from barostat.kv.profiled.outside_torch import non_torch, with_delta_tuning, with_pinned
from barostat.kv.profiled.rocm import padding_bytes
from barostat.kv.profiled.towers import tower_profile
from barostat.kv.quantization import WeightFormat
from barostat.kv.searched_layers import searched_width
from barostat.kv.weights import weight_bytes

# The version from which the newer runner profiles the sampler with the parameters that requests may
# have.
_V2_PROFILES_SAMPLING_SINCE = "0.33.0"
# Logs of 0.25.1 and 0.26.0 with drafts have the sampler's peak twice, those of 0.20 once.
_DRAFTS_SAMPLED_SINCE = "0.25.0"
_NEVER_SORTS_SINCE = "0.17.0"
# Sizes that get a graph where max_num_seqs allows all, as in the logs that the constants are from.
_ALL_SIZES = 51


@dataclass(frozen=True, slots=True)
class Footprint:
    """Memory of one GPU in each pipeline stage outside the KV pool. `parts`: of the first stage;
    `others`: sum per stage.
    """

    weights: Estimate
    activations: Estimate
    non_torch: Estimate
    graphs: Estimate
    graphs_counted: bool
    stage_weights: tuple[int, ...]
    stage_activations: tuple[Estimate, ...]
    adapters: Estimate = NO_ADAPTERS

    @property
    def parts(self) -> tuple[Estimate, ...]:
        """All parts, the largest concern first."""
        places = (self.adapters,) if self.adapters.high else ()
        return (self.weights, *places, self.activations, self.non_torch, self.graphs)


def footprint(
    model: Architecture, flags: Deployment, form: WeightFormat, capability: float, *, eager: bool, constants: MemoryModel = FITTED,
    stated_weights_bytes: int | None = None, draft_bytes: tuple[int, int] = (0, 0), unified: bool = False, switched: bool = True,
) -> Footprint:  # fmt: skip
    """The parts for this model under these flags on a card of this compute capability (0: not
    known, or not NVIDIA).

    `draft_bytes`: least and most of the drafter's weights, on the last stage. `unified`: the card's
    memory is the host's too. `switched`: several such cards meet over a switch.
    """
    absorbs = flags.generation == "V0" and flags.version.before("0.8.0")
    stages = weight_bytes(
        model,
        form,
        flags.tp,
        flags.pp,
        dp=flags.dp,
        absorbs_latents=absorbs,
        text_only=flags.text_only,
    )
    if stated_weights_bytes is not None:
        share = stated_weights_bytes / max(1, stages.largest)
        per_stage = tuple(int(size * share) for size in stages.by_stage)
        weights = Estimate(
            "weights", stated_weights_bytes, stated_weights_bytes, stated_weights_bytes, "as given"
        )
    else:
        padding = padding_bytes(model, flags, form) / flags.pp
        per_stage = tuple(
            int(size + constants.weights_extra_bytes + padding) for size in stages.by_stage
        )
        unsure = max(0.01, form.uncertain_ratio)
        per_stage = (*per_stage[:-1], per_stage[-1] + sum(draft_bytes) // 2)
        weights = within(
            "weights",
            max(per_stage),
            unsure,
            f"{stages.parameters / 1e9:.1f} B parameters, {form.name}",
        )
        if form.open:
            least = weight_bytes(
                model,
                form.smallest,
                flags.tp,
                flags.pp,
                dp=flags.dp,
                absorbs_latents=absorbs,
                text_only=flags.text_only,
            )
            saved = max(0, stages.largest - least.largest)
            source = f"{weights.source}; {' and '.join(sorted(form.open))} may be quantised, too"
            weights = Estimate("weights", weights.value, weights.low - saved, weights.high, source)
        if draft_bytes[1]:
            half = (draft_bytes[1] - draft_bytes[0]) / 2
            source = f"{weights.source}, and the drafter's {gib(sum(draft_bytes) / 2)}"
            weights = Estimate(
                "weights", weights.value, weights.low - half, weights.high + half, source
            )
    last = len(per_stage) - 1
    outside = non_torch(flags, capability, constants, unified=unified, switched=switched)
    by_stage = tuple(
        activations(
            model,
            flags,
            constants,
            eager=eager,
            form=form,
            capability=capability,
            first=number == 0,
            last=number == last,
        )
        for number in range(last + 1)
    )
    return Footprint(
        weights=weights,
        activations=max(by_stage, key=lambda estimate: estimate.value),
        non_torch=with_pinned(
            with_delta_tuning(outside, model, flags, capability, constants), model, flags, form
        ),
        graphs=graphs(model, flags, eager, constants, capability),
        graphs_counted=counts_graphs(flags) and not eager,
        stage_weights=per_stage,
        stage_activations=by_stage,
        adapters=NO_ADAPTERS if stated_weights_bytes is not None else adapter_places(model, flags),
    )


def activations(
    model: Architecture, flags: Deployment, constants: MemoryModel, *, eager: bool = True, form: WeightFormat | None = None,
    capability: float = 0.0, first: bool = True, last: bool = True,
) -> Estimate:  # fmt: skip
    """Return the peak of the profiling run: the largest of the sampler's, the forward's and the
    compiler's, plus the experts' workspace.

    `form`: of the weights; if their inputs are quantized too, a copy of the widest activation is
    added. `first`, `last`: whether the pipeline stage has the tower or the sampler.
    """
    config = model.fields
    rows = min(flags.max_num_batched_tokens, flags.max_num_seqs)
    logits = rows * model.vocab_size * 4
    one_hidden = flags.max_num_batched_tokens * model.hidden_size * item_bytes(flags.dtype)
    searched = len(model.layers) if config.has("block_configs") else 0
    width = max(
        (searched_width(config, index) for index in range(searched)),
        default=config.integer("intermediate_size", 0),
    )
    one_ffn = flags.max_num_batched_tokens * width / flags.tp * item_bytes(flags.dtype)
    greedy = flags.v2_runner and flags.version.before(_V2_PROFILES_SAMPLING_SINCE)
    if greedy:
        copies = 2 if config.has("final_logit_softcapping") else 1
        sampler = (
            copies * rows * model.vocab_size * item_bytes(flags.dtype)
            + one_hidden
            + constants.fixed_bytes
        )
    else:
        sampler = sampler_copies(flags, constants) * logits + one_hidden + constants.fixed_bytes
    compiler = 0.0
    if flags.v2_runner and not eager:
        compiler = (
            model.vocab_size / flags.tp * model.hidden_size * item_bytes(flags.dtype)
            + 2 * one_hidden
        )
    forward = constants.forward_ffn * one_ffn + constants.forward_hidden * one_hidden
    forward += one_ffn * (form.input_bytes if form is not None else 0.0) / item_bytes(flags.dtype)
    experts = expert_buffers(model, flags)
    if experts:
        forward = constants.forward_hidden * one_hidden + quantized_rows(model, flags, form)
    widest = max(
        _state_activations(model, flags, constants), _latent_prefill_bytes(model, flags, config)
    )
    if allocates_anew(form, capability):
        widest, experts = max(widest, experts), 0.0
    elif not keeps_buffers(model, flags):
        widest, experts = widest + experts, 0.0
    forward += widest
    sampler = sampler if last else 0.0
    warm = max(sampler, forward) + experts
    sees = first and not flags.text_only and flags.profiles_items
    encoder = tower_profile(model, flags) if sees else None
    named = any(
        word in model.name for word in ("VL", "Vision", "Gemma3ForCond", "Mistral3", "Pixtral")
    )
    if encoder is not None:
        warm = max(warm + encoder.kept_bytes, encoder.peak_bytes)
    elif sees and (model.is_multimodal or named):
        warm += constants.tower_bytes if flags.generation == "V1" else constants.old_tower_bytes
    peak = max(warm, compiler)
    unsure = (
        0.06 if not experts and not model.is_multimodal else 0.5 if experts and greedy else 0.25
    )
    source = (
        f"sampler over {rows} rows of {model.vocab_size} logits"
        if sampler >= forward
        else f"one forward of {flags.max_num_batched_tokens} tokens"
    )
    if encoder is not None and warm == encoder.peak_bytes:
        source = f"the largest image or video through the tower: {encoder.patches} patches"
    if peak > warm:
        source = (
            "a copy of the embeddings while the model is compiled; less where the compiler's "
            "cache is warm"
        )
    spread = max(unsure * peak, 0.1 * GIB)
    high = peak + spread
    if last and flags.version.before(_NEVER_SORTS_SINCE):
        high = max(
            high, constants.sorting_copies * logits + one_hidden + constants.fixed_bytes + experts
        )
        source += (
            "; at most what the sampler takes that sorts them, where FlashInfer is not installed"
        )
    return Estimate("activations", peak, max(0.0, warm - spread), high, source)


def sampler_copies(flags: Deployment, constants: MemoryModel) -> float:
    """Return how many float32 copies of the logits are alive at once while the sampler runs."""
    copies = constants.sorting_copies if _sorts_logits(flags) else constants.sampler_copies
    drafts = flags.num_speculative_tokens and flags.version.at_least(_DRAFTS_SAMPLED_SINCE)
    return 2 * copies if drafts else copies


def _sorts_logits(flags: Deployment) -> bool:
    """True if the sampler sorts its logits: without FlashInfer and before there was a kernel of
    its own.

    FlashInfer came with the engine in 0.10 and was off by default from 0.11.1, and is never there
    on AMD cards; the kernel came in 0.17. Source: vLLM's pull requests 26859 and 33538, and 0.32.0,
    TopKTopPSampler; logs of 0.8.5, 0.9.2 and 0.13 agree with 9 to 11 copies.
    """
    version = flags.version
    if flags.rocm:
        return version.before(_NEVER_SORTS_SINCE)
    if flags.flashinfer_sampler is not None and version.before(_NEVER_SORTS_SINCE):
        return not flags.flashinfer_sampler
    return version.before("0.10.0") or (
        version.at_least("0.11.1") and version.before(_NEVER_SORTS_SINCE)
    )


def _latent_prefill_bytes(model: Architecture, flags: Deployment, config: ConfigJson) -> float:
    """Return the bytes that the profiling run uses for keys and values of a whole chunk of earlier
    latents; 0 for other models.

    Source: vLLM 0.32.0, MLACommonMetadataBuilder.determine_chunked_prefill_workspace_size,
    MLAAttention.forward_impl.
    """
    if not model.uses_mla or flags.generation == "V0" or config.has("index_topk"):
        return 0.0
    rows = min(max(8 * flags.max_model_len, 4 * flags.max_num_seqs * flags.block_size), 64 * 1024)
    wide = config.integer("qk_nope_head_dim", 128) + config.integer("v_head_dim", 128)
    return rows * model.heads / flags.tp * wide * item_bytes(flags.dtype)


# Tokens in one chunk of the scan over a state, where the model does not say. Source: the chunked
# kernels of vLLM 0.32.0.
_SCAN_CHUNK = 64


def _state_activations(model: Architecture, flags: Deployment, constants: MemoryModel) -> float:
    """Projections and per-chunk states of the widest layer that scans a state; 0 for models without
    one.
    """
    caches = [cache for layer in model.layers for cache in layer if isinstance(cache, State)]
    if not caches:
        return 0.0
    widest = max(caches, key=lambda cache: cache.state_values)
    channels = (widest.conv_channels * 4 / 3 + widest.groups * widest.group_channels) / flags.tp
    chunk = (
        model.fields.integer("chunk_size", 0)
        or model.fields.integer("mamba_chunk_size", 0)
        or _SCAN_CHUNK
    )
    chunk_states = widest.state_values / flags.tp * 4 / chunk
    return flags.max_num_batched_tokens * (
        constants.state_copies * channels * item_bytes(flags.dtype) + chunk_states
    )


def graphs(
    model: Architecture, flags: Deployment, eager: bool, constants: MemoryModel, capability: float = 0.0
) -> Estimate:  # fmt: skip
    """CUDA graphs: what the budget is charged since 0.20.0 (an estimate of the engine's own), what
    they take on top of it before.
    """
    if eager:
        return Estimate("graphs", 0.0, 0.0, 0.0, "--enforce-eager: none")
    if counts_graphs(flags):
        charged, number = (
            charged_bytes(model, flags, capability),
            sum(recorded_graphs(model, flags, capability)),
        )
        return Estimate(
            "graphs",
            charged,
            0.55 * charged,
            1.5 * charged,
            f"{number} graphs, charged to the budget since 0.20.0",
        )
    config = model.fields
    taken = constants.graph_base_bytes + constants.graph_layer_bytes * len(model.layers) / flags.pp
    taken += constants.graph_moe_bytes if config.has_experts else 0.0
    sizes = len(capture_sizes(flags))
    taken *= sizes / _ALL_SIZES
    return Estimate(
        "graphs",
        taken,
        0.5 * taken,
        1.6 * taken,
        f"{sizes} graph sizes, on top of the budget in this version",
    )


def above_budget(
    total: Estimate,
    utilization: float,
    constants: MemoryModel = FITTED,
    *,
    unified: bool = False,
) -> list[str]:
    """Return why the engine refuses a budget of that share of the card, a sentence each."""
    above = total.value * (1 - utilization)
    asked = f"--gpu-memory-utilization {utilization:g} leaves {gib(above)} of a card"
    if unified and above < constants.host_bytes:
        most = 1 - constants.host_bytes / total.value
        host = (
            f"the host, which has the same memory, takes about {gib(constants.host_bytes)} "
            "(assumed; its page cache may count too)"
        )
        return [
            (
                f"{asked}, and {host}: it refuses to start where less is free than it asks "
                f"for, which is likely above {most:.2f}"
            )
        ]
    if above < constants.context_bytes:
        most = 1 - constants.context_bytes / total.value
        return [
            (
                f"{asked}, and the engine's context alone takes about "
                f"{gib(constants.context_bytes)}: it refuses to start above {most:.3f}"
            )
        ]
    return []


def available_bytes(total: Estimate, utilization: float, parts: Footprint) -> list[Estimate]:
    """Return the memory left for the KV pool on a GPU of each pipeline stage. The tower runs on the
    first stage only, the sampler on the last.

    Errors: none; a negative value means that the model does not fit.
    """
    budget = total.value * utilization
    result = []
    for size, activated in zip(parts.stage_weights, parts.stage_activations, strict=True):
        scale = size / parts.weights.value if parts.weights.value else 1.0
        counted = (
            activated,
            parts.adapters,
            parts.non_torch,
            *((parts.graphs,) if parts.graphs_counted else ()),
        )
        spent = size + sum(part.value for part in counted)
        up = (
            (total.high - total.value) * utilization,
            (parts.weights.value - parts.weights.low) * scale,
            *(e.value - e.low for e in counted),
        )
        down = (
            (total.value - total.low) * utilization,
            (parts.weights.high - parts.weights.value) * scale,
            *(e.high - e.value for e in counted),
        )
        left = budget - spent
        low, high = left - sum(x * x for x in down) ** 0.5, left + sum(x * x for x in up) ** 0.5
        result.append(
            Estimate(
                "available KV memory",
                left,
                low,
                high,
                "total x utilisation less weights, activations, non-torch and counted graphs",
            )
        )
    return result
