"""An engine's resolved configuration and its pool -> the twin's settings: the one way to make them,
whether the configuration comes from a running engine, a bundle, a plan or a command line.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

from barostat.catalog.settings.setting import Setting
from barostat.catalog.settings.table import SETTINGS
from barostat.core.config import ConfigScalar, ConfigValue, EngineConfig
from barostat.core.errors import InputError
from barostat.twin.settings import KvGroup, Settings, for_version, has_field

_SEQS = "max_num_seqs"
_BUDGET = "max_num_batched_tokens"
_CAN_BE_LEFT_OUT = {
    "max_num_active_seqs": None,
    "max_num_queued_reqs": None,
    "max_num_queued_tokens": None,
    "long_prefill_token_threshold": 0,
    "watermark": 0.0,
    "max_loras": 1,
}
"""Settings that can be off, with the field's value then."""


def settings_of(
    config: EngineConfig, version: str, *, kv_blocks: int, groups: tuple[KvGroup, ...]
) -> Settings:
    """Return the twin's settings: each field as the setting that names it in the table resolved.

    A model length that nothing states is the whole pool's. A token budget that is only a default
    rises to what the other settings need.
    Errors: InputError for a version that is not simulated, and for what the engine would refuse.
    """
    pool_tokens = max(1, kv_blocks - 1) * min(group.block_tokens for group in groups)
    fields: dict[str, Any] = {"max_model_len": pool_tokens}
    for setting in SETTINGS.values():
        value = _value(setting, config.get(setting.name)) if setting.twin else None
        if value is not None:
            fields[setting.twin] = value
    draft = replace(Settings(kv_blocks, groups), **fields)
    budget = config.get(_BUDGET)
    if budget is None or budget.provenance == "version-default":
        needed = draft.max_num_batched_tokens
        if not draft.chunked_prefill:
            needed = max(needed, draft.max_model_len)
        seqs = config.get(_SEQS)
        if budget is None or not budget.certain or (seqs is not None and not seqs.certain):
            needed = max(needed, draft.max_num_seqs)
        draft = replace(draft, max_num_batched_tokens=needed)
    return for_version(draft, version)


def with_setting(settings: Settings, name: str, value: ConfigScalar | None) -> Settings:
    """Return the settings with one of the engine's changed; None: it is not given.

    Errors: InputError for a setting that the twin does not have or cannot leave out, one that its
    version lacks, and a value of another kind.
    """
    setting = SETTINGS.get(name)
    if setting is None or not setting.twin:
        raise InputError("acts on what the twin does not model (the start, the host, the network)")
    if value is not None and not has_field(settings.behaviour, setting.twin):
        raise InputError(f"is not in this version; it came with {setting.since}")
    if setting.kind == "bool" and not isinstance(value, bool):
        raise InputError("is true or false")
    if value is None and name not in _CAN_BE_LEFT_OUT:
        raise InputError("cannot be left out of a twin: give a value")
    field: Any = _CAN_BE_LEFT_OUT[name] if value is None else _of_kind(setting, value)
    return replace(settings, **{setting.twin: field})


def _of_kind(setting: Setting, value: ConfigScalar) -> ConfigScalar:
    """Errors: InputError for a value of another kind."""
    if setting.kind == "bool" or (setting.kind == "text" and value in setting.choices):
        return value
    if setting.kind == "text":
        raise InputError(f"is {' or '.join(setting.choices)}, not {value!r}")
    if isinstance(value, bool | str) or not math.isfinite(value):
        raise InputError(f"is a number, not {value!r}")
    if setting.kind == "float":
        return float(value)
    if value != int(value) or value < 1:
        raise InputError(f"is a whole number above 0, not {value}")
    return int(value)


def _value(setting: Setting, found: ConfigValue | None) -> ConfigScalar | None:
    """The value as the twin's field takes it; None if it is not stated or of another kind."""
    value = None if found is None else found.value
    if setting.kind == "bool" or isinstance(value, bool):
        return value if setting.kind == "bool" and isinstance(value, bool) else None
    if setting.kind == "text":
        return value if isinstance(value, str) and value in setting.choices else None
    if not isinstance(value, int | float):
        return None
    if setting.kind == "float":
        return float(value)
    return int(value) if value >= 0 else None
