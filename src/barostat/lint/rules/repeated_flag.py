"""An argument that is given twice with different values.

Meaning: argparse takes the last one and says nothing.
Impact: whoever changes the first one changes nothing.

Bad:

    vllm serve Qwen/Qwen3-8B --max-num-seqs 64 --port 8000 --max-num-seqs 256

Good:

    vllm serve Qwen/Qwen3-8B --max-num-seqs 64 --port 8000

Fix: keep one.
Source: Python's argparse (action "store").
"""

from __future__ import annotations

from collections.abc import Iterator

from barostat.catalog.settings.table import SETTINGS
from barostat.lint.facts import Scene
from barostat.lint.rule import Found, Rule


def judge(scene: Scene) -> Iterator[Found]:
    """Every argument whose earlier value is overruled by a later one."""
    for engine in scene.engines:
        for index, argument in enumerate(engine.occurrences):
            flag = SETTINGS.get(argument.name)
            later = [
                other for other in engine.occurrences[index + 1 :] if other.name == argument.name
            ]
            if (
                flag is None
                or flag.kind in ("list", "json")
                or not later
                or later[-1].text == argument.text
            ):
                continue
            yield Found(
                argument.place,
                f"{argument.spelled} does not hold: {later[-1].spelled} in line "
                f"{later[-1].place.line} overrules it",
                "keep one of them",
            )


RULE = Rule("repeated-flag", "an argument given twice with different values", judge, "warning")
