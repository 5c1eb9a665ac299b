"""The value of `--set` as a candidate beside the engine that the arguments describe."""

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
from barostat.core.proposed_change import SetFlag, UnsetFlag
from barostat.judge.experiments.candidates import (
    OFFLOADING,
    Candidate,
    Today,
    TrialChange,
    candidate,
)
from barostat.judge.experiments.pool_change import SIZING, Sizing
from barostat.shells.cli.simulate.set_option import EDGE, FLEET, changes_in
from barostat.shells.cli.simulate.simulate import add_engine_arguments
from barostat.shells.cli.simulate.simulate_inputs import Engine, engine_of
from barostat.shells.cli.simulate.unused_options import OF_THE_MODEL

_NOT_PLANNED = Sizing(lacks="the model's shape (--model-config) and the card (--gpu)")


def candidate_of(
    arguments: argparse.Namespace, words: str, sizing: Sizing = _NOT_PLANNED, replicas: int = 1
) -> tuple[Candidate, Engine]:
    """The candidate, and the engine as the arguments alone describe it with those changes that are
    arguments.

    Blocks of another size take the same memory. `sizing`, `replicas`: of an engine that was looked
    at.
    Errors: InputError for a name that is not known, a value that it does not take, and a pool that
    cannot be calculated.
    """
    own, others = _divided(arguments, words)
    changed = with_flags(arguments, own, words)
    names = [flag.name for flag in own]
    if "block_size" in names and "kv_blocks" not in names and arguments.kv_blocks is not None:
        changed.kv_blocks = (arguments.kv_blocks - 1) * (
            arguments.block_size or BLOCK_TOKENS
        ) // changed.block_size + 1
    engine = engine_of(changed)
    made = candidate(words, others, Today(engine.settings, sizing, replicas))
    if SetFlag("enforce_eager", True) in (*own, *others):
        only_pool = (
            f"--set {words}: only the pool is recalculated; without CUDA graphs small steps take "
            "longer too"
        )
        made = replace(made, notes=(*made.notes, only_pool))
    return made, engine


def with_changes(arguments: argparse.Namespace, words: str) -> argparse.Namespace:
    """The arguments with those changes that are arguments.

    Errors: InputError for a name that is not known, and a value that it does not take.
    """
    return with_flags(arguments, _divided(arguments, words)[0], words)


def with_flags(
    arguments: argparse.Namespace, flags: Sequence[SetFlag | UnsetFlag], words: str
) -> argparse.Namespace:
    """The arguments with these flags.

    Errors: InputError naming the words.
    """

    class Strict(argparse.ArgumentParser):
        def error(self, message: str) -> Any:
            raise InputError(message, f"--set {words}")

    given: list[str] = []
    for flag in flags:
        option = flag.name.replace("_", "-")
        match flag:
            case UnsetFlag():
                raise InputError(
                    f"{option} cannot be left out here: give a value", f"--set {words}"
                )
            case SetFlag(_, bool(value)):
                given.append(f"--{option}" if value else f"--no-{option}")
            case SetFlag(_, value):
                given += [f"--{option}", str(value)]
    parser = Strict(add_help=False, allow_abbrev=False)
    add_engine_arguments(parser)
    changed = copy.copy(arguments)
    try:
        parsed = vars(parser.parse_args(given))
    except InputError as error:
        raise InputError(str(error).removeprefix("--"), f"--set {words}") from None
    for name, value in parsed.items():
        if value not in (None, []):
            setattr(changed, name, value)
    return changed


def _divided(
    arguments: argparse.Namespace, words: str
) -> tuple[list[SetFlag | UnsetFlag], list[TrialChange]]:
    """The changes of arguments of the engine that is described here, and the others: of the edge,
    the fleet, and a pool that was seen.
    """
    planned = (
        arguments.model_config is not None
        and arguments.kv_blocks is None
        and getattr(arguments, "source", None) is None
    )
    own: list[SetFlag | UnsetFlag] = []
    others: list[TrialChange] = []
    for change in changes_in(words):
        if not isinstance(change, SetFlag | UnsetFlag):
            others.append(change)
            continue
        flag = replace(change, name=_known(change.name, words))
        sized = flag.name in SIZING
        is_other = (
            flag.name == OFFLOADING
            or (isinstance(flag, UnsetFlag) and not sized)
            or (not planned and (sized or flag.name in OF_THE_MODEL))
            or _is_of_the_host(flag.name)
        )
        if is_other:
            others.append(flag)
        else:
            own.append(flag)
    return own, others


def _known(name: str, words: str) -> str:
    """The setting's whole name, where `name` is the beginning of one, as vLLM reads it.

    Errors: InputError for an unknown name, with the names closest to it.
    """
    if name == OFFLOADING or name in SIZING or _option(name) in _engine_options():
        return name
    if (whole := canonical_name(_option(name))) in SETTINGS:
        return whole
    known = (*_ENGINE, *(one.replace("_", "-") for one in (*SIZING, OFFLOADING)), *EDGE, *FLEET)
    shown = name.replace("_", "-")
    close = get_close_matches(shown, known, n=2, cutoff=0.5)
    hint = f"did you mean {' or '.join(close)}?" if close else "barostat what-if --help lists them"
    raise InputError(f"no setting is called {shown!r}; {hint}", f"--set {words}")


_ENGINE = (
    "max-num-seqs", "max-num-active-seqs", "max-num-batched-tokens", "max-model-len", "watermark", "long-prefill-token-threshold",
    "scheduling-policy", "max-num-queued-reqs", "max-num-queued-tokens", "enable-prefix-caching", "enable-chunked-prefill",
    "async-scheduling", "scheduler-reserve-full-isl", "block-size", "kv-blocks",
)  # fmt: skip
"""The scheduler's settings that the twin has as the engine has them."""


def _is_of_the_host(name: str) -> bool:
    """True for an argument of vLLM that a scheduler knows nothing of."""
    return canonical_name(_option(name)) in SETTINGS and _option(name) not in _engine_options()


def _option(name: str) -> str:
    return "--" + name.replace("_", "-")


def _engine_options() -> Container[str]:
    parser = argparse.ArgumentParser(add_help=False)
    add_engine_arguments(parser)
    return parser._option_string_actions
