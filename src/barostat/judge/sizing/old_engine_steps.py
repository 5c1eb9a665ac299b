"""Tokens in one step of the engine before 0.8: a whole prompt, or a chunk of it where the model
takes long ones.

Source: vLLM 0.7.2, EngineArgs.create_engine_config; a log of 0.7.2 with a length of 131,072 takes
0.19 GiB of activations, as a step of 2,048 tokens does, one of 0.6.4 less with a length of 35,000
than with one of 29,000.
"""

from __future__ import annotations

from barostat.core.config import EngineConfig
from barostat.core.version import EngineVersion
from barostat.judge.sizing.modalities import is_on
from barostat.judge.sizing.state_caching import is_given
from barostat.kv.architecture import Architecture
from barostat.kv.profiled.towers import tower_weights

# Prompts of models longer than this are chunked, unless the engine is told otherwise.
_CHUNKED_BEYOND_TOKENS = 32 * 1024


def old_step_tokens(
    model: Architecture, config: EngineConfig, length: int, version: EngineVersion
) -> int:
    """The old engine's budget where none is given. Prompts of latents and of several modalities it
    does not chunk by itself.
    """
    chunks = (
        length > _CHUNKED_BEYOND_TOKENS
        and not model.uses_mla
        and not (model.is_multimodal or tower_weights(model))
    )
    if is_given(config, "enable_chunked_prefill"):
        chunks = is_on(config, "enable_chunked_prefill", default=chunks)
    if not chunks:
        return max(2048, length)
    return 2048 if version.at_least("0.7.0") else 512
