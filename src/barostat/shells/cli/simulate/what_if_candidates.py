"""`--set NAME=VALUE,...`, or the words of a proposal -> a candidate, beside the engine that the
arguments name.
"""

from __future__ import annotations

import argparse
import copy
from collections.abc import Container, Sequence
from dataclasses import replace
from difflib import get_close_matches
from typing import Any

from barostat.catalog.settings.defaults import BLOCK_TOKENS
from barostat.catalog.settings.table import SETTINGS, canonical_name
from barostat.core.errors import InputError
from barostat.judge.experiments.candidates import Candidate, Today, candidate
from barostat.judge.experiments.lever_words import EDGE, ENGINE, FLEET, OFFLOADING, Asked, asked_in
from barostat.judge.experiments.pool_change import SIZING, Sizing
from barostat.shells.cli.simulate.simulate import add_engine_arguments
from barostat.shells.cli.simulate.simulate_inputs import Engine, engine_of

_ON = ("true", "on", "yes")
_BESIDES = (*EDGE, *FLEET, OFFLOADING)
_NOT_PLANNED = Sizing(lacks="the model's shape (--model-config) and the card (--gpu)")


def candidate_of(
    arguments: argparse.Namespace, words: str, sizing: Sizing = _NOT_PLANNED, replicas: int = 1
) -> tuple[Candidate, Engine]:
    """The candidate, and the engine as the arguments alone have it with what of the words is an
    argument.

    Blocks of another size take the same memory. `sizing`, `replicas`: of an engine that was looked
    at.
    Errors: InputError naming what is not known, has no such value, or cannot be reckoned.
    """
    own, besides = _divided(arguments, words)
    changed = with_values(arguments, own, words)
    names = [one.name for one in own]
    if "block-size" in names and "kv-blocks" not in names and arguments.kv_blocks is not None:
        changed.kv_blocks = (arguments.kv_blocks - 1) * (
            arguments.block_size or BLOCK_TOKENS
        ) // changed.block_size + 1
    engine = engine_of(changed)
    found = candidate(words, besides, Today(engine.settings, sizing, replicas))
    if any(
        one.name == "enforce-eager" and (one.value or "").lower() in _ON for one in (*own, *besides)
    ):
        found = replace(
            found,
            told=(
                *found.told,
                (
                    f"--set {words}: only the pool is reckoned; without graphs small steps "
                    "take longer too"
                ),
            ),
        )
    return found, engine


def with_changes(arguments: argparse.Namespace, words: str) -> argparse.Namespace:
    """The arguments with those of the words that are arguments in place of what they say.

    Errors: InputError naming what is not known or has no such value.
    """
    return with_values(arguments, _divided(arguments, words)[0], words)


def with_values(
    arguments: argparse.Namespace, values: Sequence[Asked], words: str
) -> argparse.Namespace:
    """The arguments with these in place of what they say.

    Errors: InputError naming the words.
    """

    class Strict(argparse.ArgumentParser):
        def error(self, message: str) -> Any:
            raise InputError(message, f"--set {words}")

    given: list[str] = []
    for name, value in values:
        if value is None:
            raise InputError(f"{name} cannot be left out here: give a value", f"--set {words}")
        if value.lower() in ("true", "false", "on", "yes", "no"):
            given.append(f"--{name}" if value.lower() in _ON else f"--no-{name}")
        else:
            given += [f"--{name}", value]
    parser = Strict(add_help=False, allow_abbrev=False)
    add_engine_arguments(parser)
    changed = copy.copy(arguments)
    for name, found in vars(parser.parse_args(given)).items():
        if found not in (None, []):
            setattr(changed, name, found)
    return changed


def _divided(arguments: argparse.Namespace, words: str) -> tuple[list[Asked], list[Asked]]:
    """What is an argument of the engine that is described here, and what is beside it: the edge,
    the fleet, a pool that was seen.
    """
    planned = (
        arguments.model_config is not None
        and arguments.kv_blocks is None
        and getattr(arguments, "source", None) is None
    )
    own: list[Asked] = []
    besides: list[Asked] = []
    for asked in asked_in(words):
        one = asked._replace(name=_known(asked.name, words))
        off = one.value is None and one.name not in SIZING
        beside = (
            one.name in _BESIDES
            or off
            or (one.name in SIZING and not planned)
            or _is_of_the_host(one.name)
        )
        (besides if beside else own).append(one)
    return own, besides


def _known(name: str, words: str) -> str:
    """The setting's whole name, where it is the beginning of one, as vLLM reads it.

    Errors: InputError for what nothing is called, with what is called so nearly.
    """
    if name in _BESIDES or name in SIZING or f"--{name}" in _engine_options():
        return name
    if (whole := canonical_name(f"--{name}")) in SETTINGS:
        return whole.replace("_", "-")
    close = get_close_matches(name, (*ENGINE, *SIZING, *_BESIDES), n=2, cutoff=0.5)
    hint = (
        f"did you mean {' or '.join(close)}?"
        if close
        else "barostat what-if --help says which there are"
    )
    raise InputError(f"no setting is called {name!r}; {hint}", f"--set {words}")


def _is_of_the_host(name: str) -> bool:
    """True for an argument of vLLM that a scheduler knows nothing of."""
    return canonical_name(f"--{name}") in SETTINGS and f"--{name}" not in _engine_options()


def _engine_options() -> Container[str]:
    parser = argparse.ArgumentParser(add_help=False)
    add_engine_arguments(parser)
    return parser._option_string_actions
