"""How an engine caches the states of a hybrid model: by flag, by version and by family.

    prefix caching on:    before 0.11.1   0.11.1       0.15.0    0.20.0 with drafts   0.28.0
    Mamba, Mamba-2, conv  none            all          all       align                align
    delta nets, linear    none            none         align     align                align

It is off by default for models with states before 0.28.0. Source: vLLM's pull requests 25752,
30877, 40454 and 50991, its start-up logs.
"""

from __future__ import annotations

from barostat.core.config import EngineConfig
from barostat.core.version import EngineVersion
from barostat.kv.architecture import Architecture, State
from barostat.kv.deployment import StateMode

# Kinds of state whose family could cache one state for every block.
_ALL_KINDS = frozenset(("mamba", "mamba2", "short convolution"))


def prefix_caching_default(model: Architecture, version: EngineVersion) -> bool:
    """Default of prefix caching: since 0.8, but for models with states since 0.28.0."""
    return not _kinds(model) or version.at_least("0.28.0")


def is_given(config: EngineConfig, name: str) -> bool:
    """True if the setting was declared or reported rather than filled in by the version."""
    found = config.get(name)
    return found is not None and found.provenance != "version-default"


def state_mode(
    model: Architecture,
    config: EngineConfig,
    version: EngineVersion,
    *,
    prefix_caching: bool,
    drafts: int,
) -> StateMode:
    """The mode of this engine; `none` for a model without states."""
    kinds = _kinds(model)
    if not kinds or not prefix_caching:
        return "none"
    given = config.get("mamba_cache_mode")
    if given is not None and (stated := str(given.value)) in ("none", "align"):
        return "align" if stated == "align" else "none"
    if version.at_least("0.28.0"):
        return "align"
    if kinds <= _ALL_KINDS:
        if version.at_least("0.20.0") and drafts:
            return "align"
        return "all" if version.at_least("0.11.1") else "none"
    return "align" if version.at_least("0.15.0") else "none"


def state_chunk_tokens(model: Architecture) -> int:
    """Return the number of tokens of which a state's block is a multiple in mode `all`. Source:
    vLLM 0.20.0, ModelConfig.get_mamba_chunk_size.
    """
    for name in ("mamba_chunk_size", "chunk_size"):
        found = model.text.get(name)
        if isinstance(found, int) and not isinstance(found, bool) and 0 < found <= 65_536:
            return found
    return 2048


def _kinds(model: Architecture) -> frozenset[str]:
    return frozenset(
        cache.kind for layer in model.layers for cache in layer if isinstance(cache, State)
    )
