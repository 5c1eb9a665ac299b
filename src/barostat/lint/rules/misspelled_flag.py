"""An argument that no version of vLLM has.

Meaning: the name is in no argument parser that we have read. Where it differs by a few letters from
a name that is, that is what was meant. A name like no other is told only of vLLM's own images, since
plugins and forks add arguments. argparse takes unique beginnings of a name and nothing else.
Impact: the server exits with "unrecognized arguments" before it loads anything.

Bad:

    vllm serve Qwen/Qwen3-8B --max-model-length 8192

Good:

    vllm serve Qwen/Qwen3-8B --max-model-len 8192

Fix: write the name as vLLM has it (`vllm serve --help=all`). What belongs to a request (temperature,
top_p) is no argument of the server: `--override-generation-config` sets its defaults.
Source: argument parsers of vLLM 0.6.6 to 0.33.0; Python's argparse (allow_abbrev).
"""

from __future__ import annotations

import difflib
from collections.abc import Iterator

from barostat.catalog.settings.table import argument_names
from barostat.catalog.vllm_versions import NEWEST_READ, OLDEST_READ
from barostat.core.version import parse_version
from barostat.lint.document import Edit
from barostat.lint.facts import Argument, Engine, Scene
from barostat.lint.rule import Found, Rule
from barostat.lint.rules._images import vllms_own

_TOO_SHORT_TO_GUESS = 8


def judge(scene: Scene) -> Iterator[Found]:
    """Every argument of an unknown name that is close to a known one, or of an engine whose
    arguments are all known.
    """
    known = argument_names()
    for engine in scene.engines:
        for argument in engine.occurrences:
            name = argument.name.partition(".")[0]
            if (
                name.startswith("-")
                or name in known
                or any(other.startswith(name) for other in known)
            ):
                continue
            switched = [
                other
                for other in (f"enable_{name}", name.removeprefix("enable_"))
                if other in known
            ]
            alike = difflib.get_close_matches(name, known, n=1, cutoff=0.86)
            close = switched or (alike if len(name) >= _TOO_SHORT_TO_GUESS else [])
            if close and argument.origin == "flag":
                wrong, right = (f"--{text.replace('_', '-')}" for text in (name, close[0]))
                yield Found(
                    argument.place,
                    f"no vLLM has {wrong}: {right} is what is meant?",
                    f"write {right}",
                    _renamed(argument, wrong, right),
                )
            elif argument.origin == "flag" and _all_known(engine):
                wrong = f"--{name.replace('_', '-')}"
                yield Found(
                    argument.place,
                    f"no vLLM has {wrong}: the server exits with 'unrecognized arguments'",
                    f"remove {wrong}",
                )


def _all_known(engine: Engine) -> bool:
    """True for vLLM's own image of a version that was read; of a tag that moves, the newest."""
    if engine.image is None or not vllms_own(engine.image.text) or engine.is_cpu:
        return False
    version, newest = engine.version, parse_version(NEWEST_READ)
    if version is None or newest is None:
        return engine.floating
    return version.at_least(OLDEST_READ) and newest.release >= version.release


def _renamed(argument: Argument, wrong: str, right: str) -> tuple[Edit, ...]:
    place = argument.words[0]
    spelled = argument.spelled.split("=")[0].split(" ")[0]
    return (
        (Edit(place.file, place.start, place.start + len(wrong), right),)
        if spelled == wrong and place.end - place.start >= len(wrong)
        else ()
    )


RULE = Rule("misspelled-flag", "an argument that no version has", judge, "error", "medium")
