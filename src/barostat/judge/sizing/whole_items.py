"""Models that see an image or a video both ways: each goes through the engine in one step, which
has to be as long.

    version       a shorter --max-num-batched-tokens   a shorter default
    before 0.20   is taken                             is taken
    0.20          ends the engine                      ends the engine
    0.22          ends the engine                      is raised (43051)

On CUDA. Source: vLLM's issue 42687 and pull request 43051, EngineArgs._get_min_mm_batched_tokens; a
log of 0.25.1 with 2,496 in place of 2,048.
"""

from __future__ import annotations

from barostat.core.config import EngineConfig
from barostat.core.version import EngineVersion
from barostat.judge.sizing.modalities import is_text_only, takes_videos
from barostat.judge.sizing.state_caching import is_given
from barostat.kv.architecture import Architecture

_WHOLE_SINCE = "0.20.0"
_RAISED_SINCE = "0.22.0"
# Of Gemma 4's videos: 32 frames of 70 tokens and 8 that part them.
_VIDEO_TOKENS = 32 * (70 + 8)


def step_with_items(
    model: Architecture, config: EngineConfig, version: EngineVersion, tokens: int
) -> tuple[int, tuple[str, ...]]:
    """Tokens a step once the longest item fits, and why the engine ends where it does not."""
    sees = _sees_both_ways(model) and takes_videos(config) and not is_text_only(config)
    if tokens >= _VIDEO_TOKENS or version.before(_WHOLE_SINCE) or not sees:
        return tokens, ()
    if not is_given(config, "max_num_batched_tokens") and version.at_least(_RAISED_SINCE):
        return _VIDEO_TOKENS, ()
    found = config.get("max_num_batched_tokens")
    if found is not None and not found.certain:  # of a card that is not known
        return tokens, ()
    short = (
        f"--max-num-batched-tokens {tokens:,} is below the {_VIDEO_TOKENS:,} tokens of a "
        "video, which goes through in one step"
    )
    return tokens, (
        f"{short}: vLLM {version} ends; raise it, or take no videos (--limit-mm-per-prompt)",
    )


def _sees_both_ways(model: Architecture) -> bool:
    """True for Gemma 4's larger models; copies of their configurations that leave the field out are
    told from the E models'.
    """
    if "Gemma4" not in model.name or not model.is_multimodal:
        return False
    said = model.text.get("use_bidirectional_attention")
    return said == "vision" if said else not model.fields.integer("hidden_size_per_layer_input", 0)
