"""The table of settings by name, and what a command line's spellings mean.

The table is no complete list of vLLM's arguments: it has those that matter for KV pressure, serving
and start-up. `other_arguments` has the bare names of the rest.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, NamedTuple

from barostat.catalog.settings import execution, model, pool, scheduling, server
from barostat.catalog.settings.other_arguments import LISTS, REMOVED, SHORT, SWITCHES, VALUED
from barostat.catalog.settings.setting import Setting, ValueBounds, option_of
from barostat.catalog.vllm_versions import OLDEST_READ

if TYPE_CHECKING:
    from barostat.core.version import EngineVersion

Presence = Literal["present", "absent", "unknown version", "not in our catalogue"]

SETTINGS: dict[str, Setting] = {
    setting.name: setting
    for rows in (pool, scheduling, execution, model, server)
    for setting in rows.SETTINGS
}
ALIASES: dict[str, str] = SHORT | {
    alias: setting.name for setting in SETTINGS.values() for alias in setting.aliases
}
OUR_NAMES: dict[str, str] = {
    short.removeprefix("--"): setting.name
    for setting in SETTINGS.values()
    for short in setting.short
}
"""Our own short names, with dashes: `tp`, `policy`."""
OF_LIMITS: dict[str, Setting] = {
    setting.limit: setting for setting in SETTINGS.values() if setting.limit
}
"""The settings that limits bound, by the field of EngineLimits."""
_SHORTEST_BEGINNING = 8


def canonical_name(spelled: str) -> str:
    """Return vLLM's own name for an argument as spelled: `--max-num-seqs`, `-tp`, `max_num_seqs`,
    `--device-memory-utilization`.

    The beginning of a single name of the table stands for it, as in argparse. Unknown names come
    back unchanged, with underscores.
    """
    if spelled.startswith("-") and not spelled.startswith("--"):
        return ALIASES.get(spelled, spelled)
    name = spelled.removeprefix("--").replace("-", "_")
    if name in SETTINGS or name in SWITCHES or name in LISTS:
        return name
    if name in ALIASES:
        return ALIASES[name]
    if len(name) < _SHORTEST_BEGINNING or not spelled.startswith("--"):
        return name
    starts = [known for known in SETTINGS if known.startswith(name)]
    return starts[0] if len(starts) == 1 else name


def is_switch(name: str) -> bool:
    """True if the argument of that name is known to take no value."""
    setting = SETTINGS.get(name)
    return name in SWITCHES or (setting is not None and setting.kind == "bool")


def is_unset(name: str, text: str) -> bool:
    """True for an empty value, or `None`, of an argument that then takes its default.

    Source: vLLM 0.32.0, engine/arg_utils optional_type.
    """
    return text in ("", "None") and name in SETTINGS and SETTINGS[name].optional


def bounds_of(name: str) -> ValueBounds | None:
    """Return the numbers that the argument takes, None if it takes no numbers. Most take at least
    1, amounts and shares at least 0.

    Source: vLLM 0.32.0, the bounds of the fields in vllm/config.
    """
    setting = SETTINGS.get(name)
    if setting is None or setting.kind not in ("int", "length", "float"):
        return None
    return setting.bounds or ValueBounds(0.0 if setting.kind == "float" else 1)


def known_flag(name: str, version: EngineVersion | None) -> Presence:
    """Return whether that version has the argument. "absent" only where the table is sure."""
    setting = SETTINGS.get(canonical_name(name))
    if setting is None:
        return "not in our catalogue"
    if version is None:
        return "unknown version"
    if setting.gone and version.at_least(setting.gone):
        return "absent"
    if setting.since and version.at_least(setting.since):
        return "present"
    if setting.since:
        return "absent" if setting.since_sure else "unknown version"
    return "present" if version.at_least(OLDEST_READ) else "unknown version"


def has_flag(name: str, version: EngineVersion | None) -> bool | None:
    """Return whether that version has the argument; None if the table does not say."""
    return {"present": True, "absent": False}.get(known_flag(name, version))


def argument_names() -> frozenset[str]:
    """Return every name with underscores that some version of vLLM takes, as far as known."""
    return VALUED | LISTS | SWITCHES | frozenset(SETTINGS) | frozenset(REMOVED)


class Lacking(NamedTuple):
    """An argument that a version does not have: it came with `since`, or is `gone` since then, one
    of the two. `instead`: its replacement.
    """

    option: str
    since: str
    gone: str
    instead: str


def lacking(name: str, version: EngineVersion) -> Lacking | None:
    """Return why the version refuses the argument; None if it has it, or nothing is known of it."""
    setting = SETTINGS.get(name)
    if setting is None:
        removed = REMOVED.get(name)
        if removed is None or not version.at_least(removed.gone):
            return None
        return Lacking(option_of(name), "", removed.gone, removed.instead)
    if known_flag(name, version) != "absent":
        return None
    gone = setting.gone if setting.gone and version.at_least(setting.gone) else ""
    return Lacking(setting.option, "" if gone else setting.since, gone, setting.instead)
