"""Options for the engine's own settings, made from the table: one for each that sizes memory or
steers the scheduler. `plan`, `simulate`, `twin`, `what-if` and `tune` have the same.
"""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from barostat.catalog.settings.setting import Setting, option_of
from barostat.catalog.settings.table import SETTINGS, bounds_of

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable

    from barostat.core.config import ConfigScalar

OFFERED = tuple(setting for setting in SETTINGS.values() if setting.sized or setting.twin)
_MOST_CHOICES = 3
_MOST_SHOWN = 40
_METAVAR = {"int": "N", "length": "N", "float": "X", "text": "NAME", "json": "JSON", "list": "N"}


_DEFAULTS = "Defaults are those of the vLLM version."


def add_engine_settings(parser: argparse.ArgumentParser) -> None:
    """Add an option for each setting, by vLLM's own names and by our short ones. The destination is
    vLLM's long name with underscores.
    """
    scheduler = parser.add_argument_group("vLLM arguments: scheduling", _DEFAULTS)
    memory = parser.add_argument_group("vLLM arguments: memory and parallelism", _DEFAULTS)
    for setting in OFFERED:
        _add(scheduler if setting.twin else memory, setting)


def _add(group: argparse._ArgumentGroup, setting: Setting) -> None:
    letters = (name for name in setting.aliases if name.startswith("-"))
    names = (*letters, *setting.short, setting.option)
    if setting.kind == "bool":
        group.add_argument(
            *names,
            dest=setting.name,
            action=argparse.BooleanOptionalAction,
            default=None,
            help=setting.effect,
        )
        return
    if setting.kind == "list":
        group.add_argument(
            *names, dest=setting.name, nargs="+", metavar=_METAVAR["list"], help=setting.effect
        )
        return
    few = 0 < len(setting.choices) <= _MOST_CHOICES
    group.add_argument(
        *names,
        dest=setting.name,
        type=_reader(setting),
        choices=setting.choices if few else None,
        metavar=None if few else _METAVAR[setting.kind],
        help=setting.effect,
    )


def _reader(setting: Setting) -> Callable[[str], ConfigScalar]:
    """Return what reads a value as vLLM does: `4k`, `25G`, `auto`."""

    def read(text: str) -> ConfigScalar:
        from barostat.core.errors import InputError
        from barostat.engines.vllm.command_line.config import read_value

        value, bounds = read_value(setting.name, text), bounds_of(setting.name)
        is_auto = setting.kind == "length" and value == -1
        if value is not None and (bounds is None or value in bounds or is_auto):
            return value
        shown = repr(text if len(text) <= _MOST_SHOWN else f"{text[:_MOST_SHOWN]}...")
        expected = "" if bounds is None else f"; a number {bounds} was expected"
        raise InputError(f"{shown} is no value that an engine can have{expected}", setting.option)

    return read


def given_words(arguments: argparse.Namespace, besides: Collection[str] = ()) -> list[str]:
    """Return the settings that are given as vLLM's own arguments, but for those in `besides`."""
    return [
        word
        for setting in OFFERED
        if setting.name not in besides and (value := getattr(arguments, setting.name)) is not None
        for word in _words(setting, value)
    ]


def _words(setting: Setting, value: ConfigScalar | list[str]) -> Iterable[str]:
    if isinstance(value, list):
        return (setting.option, *value)
    if isinstance(value, bool):
        return (setting.option if value else option_of(f"no_{setting.name}"),)
    return (setting.option, f"{value:.10g}" if isinstance(value, float) else str(value))
