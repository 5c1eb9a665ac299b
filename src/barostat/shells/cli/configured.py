"""Reads flags that are not on the command line from environment variables and files. Every flag can
be set in both.

    command line  >  BAROSTAT_PLAN_GPU  >  BAROSTAT_GPU  >  .barostat.toml of the repository  >
    ~/.config/barostat/config.toml

    gpu = "H100"            # for every verb that has --gpu
    [plan]
    max-model-len = 8192    # for this verb

A repository's file is not trusted: it cannot select the cluster, and it is ignored by verbs that
change or open something.
"""

from __future__ import annotations

import argparse
import difflib
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from barostat.core.errors import InputError
from barostat.io.input_files.piped import STDIN
from barostat.shells.cli.diagnose.named_file import ends_as_recording

REPOSITORY_FILE = ".barostat.toml"
_CLUSTER = ("namespace", "context", "kubeconfig", "selector", "all_namespaces")
_NOT_OF_A_CLUSTER = ("--bundle", "--log", "--pid")
_ONLY_YOURS = ("kubeconfig", "context", "exec_gpu_tools", "engine_key_file", "keys")
_ONLY_YOUR_VERBS = (
    "mitigate",
    "rollback",
    "verify",
    "incident",
    "operator",
    "gateway",
    "twin",
    "mcp",
    "collect",
    "load",
    "validate",
)
_NOT_SET = ("help", "version")
_OTHER_VARIABLES = (
    "BAROSTAT_TRACEBACK",
    "BAROSTAT_PACKAGE",
    "BAROSTAT_CACHE",
    "BAROSTAT_VLLM_IMAGE",
)


@dataclass(frozen=True, slots=True)
class Source:
    """A file with settings. `own`: written by the user. `values`: by flag, for all verbs;
    `by_verb`: by verb and flag.
    """

    name: str
    own: bool
    values: Mapping[str, Any]
    by_verb: Mapping[str, Mapping[str, Any]]


@dataclass(frozen=True, slots=True)
class ConfiguredFlag:
    """A configured value of a flag, and its source."""

    flag: str
    value: Any
    source: str


def with_settings(words: Sequence[str], verb: str, top: argparse.ArgumentParser) -> list[str]:
    """Return the command line with configured flags inserted before the given ones.

    Errors: InputError for a file that is not TOML, and for a flag that the verb does not have.
    """
    place = list(words).index(verb) + 1
    parser, given = _inner(top, verb), list(words)
    while (more := _subparsers(parser)) is not None and place < len(given) and given[place] in more:
        parser, place = more[given[place]], place + 1
    said = given[: given.index("--")] if "--" in given else given
    found = [
        word
        for setting, action in _applying(parser, verb, said)
        for word in _as_words(action, setting)
    ]
    return [*given[:place], *found, *given[place:]] if found else given


def settings(verb: str, top: argparse.ArgumentParser) -> list[ConfiguredFlag]:
    """Return the configured flags of this verb, ignoring the command line.

    Errors: InputError as `with_settings`.
    """
    return [setting for setting, _ in _applying(_inner(top, verb), verb, ())]


def unread(tops: Mapping[str, argparse.ArgumentParser]) -> list[str]:
    """Return the entries in files and environment that no verb reads, with their source. `tops`:
    the parser of each verb.

    Errors: InputError as `with_settings`.
    """
    by_verb = {verb: set(_all_names(_inner(top, verb))) for verb, top in tops.items()}
    flags = set().union(*by_verb.values())
    found: list[str] = []
    for source in _sources():
        found += [
            f"{source.name}: no verb is called {name!r}{_near(name, tops)}"
            for name in source.by_verb
            if name not in tops
        ]
        found += [
            (
                f"{source.name}: no verb has "
                f"--{_dashed(name)}{_near(_dashed(name), map(_dashed, flags))}"
            )
            for name in source.values
            if name not in flags
        ]
    known = {f"BAROSTAT_{flag}".upper() for flag in flags}
    known |= {
        f"BAROSTAT_{_plain(verb)}_{flag}".upper()
        for verb, names in by_verb.items()
        for flag in names
    }
    variables = [
        name
        for name in sorted(os.environ)
        if name.startswith("BAROSTAT_") and name not in {*known, *_OTHER_VARIABLES}
    ]
    return [
        *found,
        *(f"{name}: no flag has this variable{_near(name, known)}" for name in variables),
    ]


def _all_names(parser: argparse.ArgumentParser) -> Iterator[str]:
    for action in parser._actions:
        yield from _names(action)
    for inner in (_subparsers(parser) or {}).values():
        yield from _all_names(inner)


def _near(name: str, known: Iterable[str]) -> str:
    close = difflib.get_close_matches(name, list(known), n=1)
    return f"; did you mean {close[0]}?" if close else ""


def files() -> list[Path]:
    """Return the files that are read, in order of precedence, whether they exist or not."""
    home = (
        Path(os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config")
        / "barostat"
        / "config.toml"
    )
    return [*([found] if (found := _of_repository()) is not None else []), home]


def _of_repository() -> Path | None:
    """Return the settings file in the current folder or the nearest parent within the repository;
    None if there is none.
    """
    try:
        here = Path.cwd()
    except OSError:
        return None
    for folder in (here, *here.parents):
        if (folder / REPOSITORY_FILE).is_file():
            return folder / REPOSITORY_FILE
        if (folder / ".git").exists():
            return None
    return None


def _sources() -> Iterator[Source]:
    for path in files():
        if path.is_file():
            yield _read(path, own=path.name != REPOSITORY_FILE)


def _read(path: Path, *, own: bool) -> Source:
    import tomllib

    try:
        found = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"cannot be read: {error}", str(path)) from None
    except RecursionError:
        raise InputError("is no TOML: nested too deeply", str(path)) from None
    except ValueError as error:
        raise InputError(f"is no TOML: {error}", str(path)) from None
    if not _fits(found):
        raise InputError("is no TOML: a number in it is larger than 64 bits", str(path))
    verbs = {
        name: {_plain(key): one for key, one in value.items()}
        for name, value in found.items()
        if isinstance(value, dict)
    }
    return Source(
        str(path),
        own,
        {_plain(name): value for name, value in found.items() if not isinstance(value, dict)},
        verbs,
    )


def _fits(value: Any) -> bool:
    """True if every integer fits TOML's 64 bits. Python parses longer ones and cannot print the
    longest.
    """
    if isinstance(value, dict):
        return all(map(_fits, value.values()))
    if isinstance(value, list):
        return all(map(_fits, value))
    return not isinstance(value, int) or -(2**63) <= value < 2**63


def _plain(name: str) -> str:
    return name.replace("-", "_")


def _dashed(name: str) -> str:
    return name.replace("_", "-")


def _applying(
    parser: argparse.ArgumentParser, verb: str, said: Sequence[str]
) -> Iterator[tuple[ConfiguredFlag, argparse.Action]]:
    """Yield configured flags that the command line neither sets nor excludes."""
    sources = list(_sources())
    environment = any(name.startswith("BAROSTAT_") for name in os.environ)
    if not sources and not environment:
        return
    flags = {
        name: action
        for action in parser._actions
        if action.option_strings
        for name in _names(action)
    }
    for source in sources:
        _check(source, verb, flags)
    excluded = {
        id(action)
        for group in parser._mutually_exclusive_groups
        if any(_is_said(action, said) for action in group._group_actions)
        for action in group._group_actions
    }
    elsewhere = any(
        "://" in word
        or word in (*_NOT_OF_A_CLUSTER, STDIN)
        or (verb == "diagnose" and ends_as_recording(word))
        for word in said
    )
    for action in dict.fromkeys(flags.values()):
        if (
            id(action) in excluded
            or _is_said(action, said)
            or (elsewhere and action.dest in _CLUSTER)
        ):
            continue
        found = _value(action, verb, sources)
        if found is not None:
            yield found, action


def _names(action: argparse.Action) -> list[str]:
    """Return the flag's long names as used in files and environment variables."""
    return [
        _plain(name[2:])
        for name in action.option_strings
        if name.startswith("--") and name[2:] not in _NOT_SET
    ]


def _is_said(action: argparse.Action, said: Sequence[str]) -> bool:
    return any(
        word == name or word.startswith(f"{name}=")
        for word in said
        for name in action.option_strings
    )


def _value(action: argparse.Action, verb: str, sources: Sequence[Source]) -> ConfiguredFlag | None:
    names = _names(action)
    for prefix in (f"BAROSTAT_{_plain(verb).upper()}_", "BAROSTAT_"):
        for name in names:
            if (text := os.environ.get(f"{prefix}{name.upper()}")) is not None:
                return ConfiguredFlag(f"--{_dashed(name)}", text, f"{prefix}{name.upper()}")
    for source in sources:
        for table, where in (
            (source.by_verb.get(verb, {}), f"{source.name} [{verb}]"),
            (source.values, source.name),
        ):
            for name in names:
                if name in table and (
                    source.own or (name not in _ONLY_YOURS and verb not in _ONLY_YOUR_VERBS)
                ):
                    return ConfiguredFlag(f"--{_dashed(name)}", table[name], where)
    return None


def _check(source: Source, verb: str, flags: Mapping[str, argparse.Action]) -> None:
    """Reject entries of the verb's own table that the verb does not have or that a repository's
    file may not set.
    Errors: InputError.
    """
    for name in source.by_verb.get(verb, {}):
        if name not in flags:
            near = _near(_dashed(name), map(_dashed, flags))
            raise InputError(f"{verb} has no --{_dashed(name)}{near}", f"{source.name} [{verb}]")
        if not source.own and (name in _ONLY_YOURS or verb in _ONLY_YOUR_VERBS):
            told = (
                "is not read from a repository's file, which others may write: set it in "
                "~/.config/barostat/config.toml"
            )
            raise InputError(told, f"{source.name} [{verb}] {name}")


def _as_words(action: argparse.Action, setting: ConfiguredFlag) -> list[str]:
    """Return the setting as command-line words.

    Errors: InputError for a switch whose value is not a boolean.
    """
    if action.nargs == 0:
        text = str(setting.value).lower()
        if text not in ("true", "false", "1", "0", "yes", "no", "on", "off"):
            raise InputError(
                f"{setting.value!r} is neither true nor false", f"{setting.source}: {setting.flag}"
            )
        if text in ("true", "1", "yes", "on"):
            return [setting.flag]
        return (
            [f"--no-{setting.flag[2:]}"]
            if f"--no-{setting.flag[2:]}" in action.option_strings
            else []
        )
    values = setting.value if isinstance(setting.value, list) else [setting.value]
    return [f"{setting.flag}={value}" for value in values]


def _subparsers(parser: argparse.ArgumentParser) -> Mapping[str, argparse.ArgumentParser] | None:
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            return action.choices
    return None


def _inner(top: argparse.ArgumentParser, verb: str) -> argparse.ArgumentParser:
    return (_subparsers(top) or {})[verb]
