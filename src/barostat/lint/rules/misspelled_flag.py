"""An argument that no version of vLLM has, and that looks like one that exists.

Meaning: the name is in no argument parser that we have read, and differs by a few letters from a
name that is. argparse takes unique beginnings of a name and nothing else.
Impact: the server exits with "unrecognized arguments" before it loads anything.

Bad:

    vllm serve Qwen/Qwen3-8B --max-model-length 8192

Good:

    vllm serve Qwen/Qwen3-8B --max-model-len 8192

Fix: write the name as vLLM has it (`vllm serve --help=all`).
Source: argument parsers of vLLM 0.6.6 to 0.33.0; Python's argparse (allow_abbrev).
"""

from __future__ import annotations

import difflib
from collections.abc import Iterator

from barostat.catalog.settings.table import argument_names
from barostat.lint.document import Edit
from barostat.lint.facts import Argument, Scene
from barostat.lint.rule import Found, Rule


def judge(scene: Scene) -> Iterator[Found]:
    """Every argument of an unknown name that is close to a known one."""
    known = argument_names()
    for engine in scene.engines:
        for argument in engine.occurrences:
            name = argument.name.partition(".")[0]
            if (
                name.startswith("-")
                or name in known
                or len(name) < 8
                or any(other.startswith(name) for other in known)
            ):
                continue
            switched = [
                other
                for other in (f"enable_{name}", name.removeprefix("enable_"))
                if other in known
            ]
            close = switched or difflib.get_close_matches(name, known, n=1, cutoff=0.86)
            if close and argument.origin == "flag":
                wrong, right = (f"--{text.replace('_', '-')}" for text in (name, close[0]))
                yield Found(
                    argument.place,
                    f"no vLLM has {wrong}: {right} is what is meant?",
                    f"write {right}",
                    _renamed(argument, wrong, right),
                )


def _renamed(argument: Argument, wrong: str, right: str) -> tuple[Edit, ...]:
    place = argument.words[0]
    spelled = argument.spelled.split("=")[0].split(" ")[0]
    return (
        (Edit(place.file, place.start, place.start + len(wrong), right),)
        if spelled == wrong and place.end - place.start >= len(wrong)
        else ()
    )


RULE = Rule("misspelled-flag", "an argument that no version has", judge, "error", "medium")
