"""The engine's arguments for other inputs than text: whether it accepts any, and videos.

Source: vLLM 0.32.0, MultiModalConfig.get_limit_per_prompt, --language-model-only.
"""

from __future__ import annotations

import json

from barostat.core.config import EngineConfig
from barostat.judge.sizing.state_caching import is_given


def is_text_only(config: EngineConfig) -> bool:
    """True if the engine is configured to serve text only: --language-model-only, or no item of any
    modality in --limit-mm-per-prompt.
    """
    if is_given(config, "language_model_only") and is_on(
        config, "language_model_only", default=False
    ):
        return True
    limits = _limits(config)
    return bool(limits) and all(value == 0 for value in limits.values())


def takes_videos(config: EngineConfig) -> bool:
    """True unless it is configured to accept none."""
    return _limits(config).get("video") != 0


def is_on(config: EngineConfig, name: str, *, default: bool) -> bool:
    """A switch, as given or else the default."""
    found = config.get(name)
    if found is None:
        return default
    return (
        found.value
        if isinstance(found.value, bool)
        else str(found.value).lower() not in ("false", "0", "no", "none")
    )


def _limits(config: EngineConfig) -> dict[str, object]:
    """Items of each modality in --limit-mm-per-prompt; empty if it is not given or not read."""
    found = config.get("limit_mm_per_prompt")
    limits: object = found.value if found is not None else None
    if isinstance(limits, str):
        try:
            limits = json.loads(limits)
        except ValueError:
            return {}
    return limits if isinstance(limits, dict) else {}
