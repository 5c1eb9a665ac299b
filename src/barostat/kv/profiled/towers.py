"""Towers of multimodal models: what they weigh, and what the engine takes while it profiles the
largest image or video.

    patches -> [ tower layer ] x depth -> merger -> encoder outputs, kept while the text model is
    profiled
                 '- x before and after attention, norm, MLP in and out: alive at once

Source: vLLM 0.32.0, GPUModelRunner.profile_run, MultiModalBudget, Qwen3_VisionTransformer,
Qwen2_5_VisionTransformer, Gemma4's AutoModel tower; transformers 5, the towers' own configurations.
"""

from __future__ import annotations

from dataclasses import dataclass

from barostat.kv.architecture import Architecture
from barostat.kv.config_json import ConfigJson
from barostat.kv.deployment import Deployment
from barostat.kv.dtypes import item_bytes

# Towers of multimodal architectures whose config.json lacks the tower's own part. Source: the
# published sizes of these towers.
_TOWER_WORDS = {
    "Qwen2VL": 670_000_000, "Qwen2_5_VL": 670_000_000, "Gemma3ForConditional": 420_000_000, "KimiVL": 430_000_000,
    "Mistral3": 430_000_000, "Pixtral": 430_000_000, "Mllama": 860_000_000,
}  # fmt: skip
# Towers that rotate queries and keys in float32, step by step. Source: vLLM 0.12.0,
# DotsVisionAttention, apply_rotary_pos_emb_vision.
_DOTS = ("dotsocr", "dots_vit")
# Towers whose MLP has a gate, and those whose patches are merged by four into one token.
_GATED = ("gemma4_vision", "qwen2_5_vl", "pixtral", *_DOTS)
_MERGING = ("qwen2_vl", "qwen2vl", "qwen2_5_vl", "qwen3", *_DOTS)
# Architectures whose tower is transformers' own: every rank holds all of it.
_WHOLE_ON_EACH_RANK = ("Gemma4", "Gemma3n")

# The most tokens that an image of these families comes to with their published processors:
# 12,845,056 pixels of 28 x 28, or 16,777,216 of 32 x 32; of dots.ocr 11,289,600 of 28 x 28.
# Start-up logs say so, too.
_IMAGE_TOKENS, _IMAGE_TOKENS_DOTS = 16_384, 14_400
# Of these families a video is profiled: up to 14 frames, two of which are as large as an image, as
# many as the model's length has room for. Logs of 0.8.5 say 98,304 tokens at a length of 128,000,
# where an image's are set aside first, those of 0.10.2 and 0.23.0 do not.
_VIDEO_KINDS = ("qwen2_vl", "qwen2vl", "qwen2_5_vl")
_VIDEO_IMAGES = 7
_IMAGE_SET_ASIDE_UNTIL = "0.10.0"
# A layer of an audio tower: two feed-forwards of four times the width, attention with positions,
# and a convolution.
_CONFORMER_SQUARES = 24
_CONFORMERS = ("gemma4_audio", "gemma3n_audio")
# What the E models' audio tower has by its published size; copies of their configurations lack it.
_GEMMA4_AUDIO_PARAMETERS = 300_000_000


@dataclass(frozen=True, slots=True)
class TowerProfile:
    """One profiling run of the tower. `kept_bytes`: its outputs, while the text model runs."""

    patches: int
    peak_bytes: float
    kept_bytes: float


def _kind(config: ConfigJson, model: Architecture) -> str:
    """The tower's own type, or the model's where it has none."""
    return config.model_type or model.name.lower()


def _merges(config: ConfigJson, model: Architecture) -> bool:
    kind = _kind(config, model)
    return kind.startswith(_MERGING) and "audio" not in kind


def _widths(config: ConfigJson) -> tuple[int, int, int]:
    """Width, inner width and depth of a tower."""
    hidden = (
        config.integer("embed_dim", 0)
        or config.integer("hidden_size", 0)
        or config.integer("vt_hidden_size", 0)
    )
    inner = config.integer("intermediate_size", 0) or config.integer("vt_intermediate_size", 0)
    inner = inner or int(config.number("mlp_ratio", 4.0) * hidden)
    layers = (
        config.integer("num_hidden_layers", 0)
        or config.integer("depth", 0)
        or config.integer("vt_num_hidden_layers", 0)
    )
    return hidden, inner, layers


def _mergers(config: ConfigJson) -> int:
    return 1 + len(config.listed("deepstack_visual_indexes"))


def _towers(model: Architecture) -> list[ConfigJson]:
    """The configurations of the towers that the model's describes."""
    found = ((name, model.config.get(name)) for name in ("vision_config", "audio_config"))
    return [ConfigJson(tower, tower, name) for name, tower in found if isinstance(tower, dict)]


def tower_weights(model: Architecture) -> int:
    """Parameters of the vision or audio tower and its projector, where the config describes one."""
    total = 0
    for config in _towers(model):
        hidden, inner, layers = _widths(config)
        if config.model_type.startswith(_CONFORMERS):
            total += layers * _CONFORMER_SQUARES * hidden * hidden + hidden * model.hidden_size
            continue
        projections = 3 if _kind(config, model).startswith(_GATED) else 2
        total += layers * (4 * hidden * hidden + projections * hidden * inner)
        if _merges(config, model):
            joined = 4 * hidden
            total += _mergers(config) * (joined * joined + joined * model.hidden_size)
        else:
            total += 4 * hidden * model.hidden_size
        total += (
            (2 * config.integer("position_embedding_size", 10_240) * hidden)
            if config.model_type == "gemma4_vision"
            else 0
        )
    if (
        total
        and "Gemma4" in model.name
        and model.fields.integer("hidden_size_per_layer_input", 0)
        and not model.config.get("audio_config")
    ):
        total += _GEMMA4_AUDIO_PARAMETERS
    if total == 0 and any(word in model.name for word in _TOWER_WORDS):
        return next(size for word, size in _TOWER_WORDS.items() if word in model.name)
    return total


def splits_tower(model: Architecture) -> bool:
    """True if tensor-parallel ranks divide the tower."""
    return not any(word in model.name for word in _WHOLE_ON_EACH_RANK)


def _video_images(config: ConfigJson, model: Architecture, flags: Deployment) -> int:
    """Return the size of the profiled video as a number of images; 0 if no video is profiled.

    Source: vLLM 0.23.0, Qwen2VLProcessingInfo.get_num_frames_with_most_features.
    """
    if not flags.videos or not _kind(config, model).startswith(_VIDEO_KINDS):
        return 0
    room = flags.max_model_len - (
        _IMAGE_TOKENS if flags.version.before(_IMAGE_SET_ASIDE_UNTIL) else 0
    )
    return min(_VIDEO_IMAGES, max(0, room) // _IMAGE_TOKENS)


def tower_profile(model: Architecture, flags: Deployment) -> TowerProfile | None:
    """Return the profiling run of a tower that merges patches; None for other towers, and in
    versions without one.

    At its peak, these are allocated: a layer's input, the residual after attention, its norm, and
    the MLP's input and output around the activation (for gated towers also the attention output);
    or, in attention, queries and keys separate and rotated, values, and the output (with float32
    rotation: all three twice, and queries and keys once unrotated and four times at double width).
    In addition: pixels, and learned positions.
    """
    if flags.generation == "V0":
        return None
    for config in _towers(model):
        hidden, inner, layers = _widths(config)
        if not _merges(config, model) or not hidden or not layers:
            continue
        wide = _kind(config, model).startswith(_DOTS)
        tokens = _IMAGE_TOKENS_DOTS if wide else _IMAGE_TOKENS
        images = max(
            1,
            min(flags.max_num_batched_tokens // tokens, flags.max_num_seqs),
            _video_images(config, model, flags),
        )
        patches = 4 * images * tokens
        copies = 3 if _kind(config, model).startswith(_GATED) else 2
        mlp = (copies + 1) * hidden + copies * inner / flags.tp
        attention = 2 * hidden + (24 if wide else 8) * hidden / flags.tp
        pixels = (
            3 * config.integer("temporal_patch_size", 2) * config.integer("patch_size", 14) ** 2
        )
        positions = hidden if config.has("num_position_embeddings") else 0
        size = item_bytes(flags.dtype)
        kept = images * tokens * model.hidden_size * _mergers(config) * size
        return TowerProfile(
            patches, patches * (max(mlp, attention) + pixels + positions) * size, float(kept)
        )
    return None
