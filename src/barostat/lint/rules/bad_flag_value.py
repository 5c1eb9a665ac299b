"""A value that the argument does not take.

Meaning: text where a number is wanted, a share of memory above 1, a unit that vLLM does not read (`4Gi`), a choice that does not exist.
Impact: the server refuses to start.

Bad:

    vllm serve Qwen/Qwen3-8B --gpu-memory-utilization 90

Good:

    vllm serve Qwen/Qwen3-8B --gpu-memory-utilization 0.90

Fix: shares are from 0 to 1; integers may end in k, K, m, M, g, G (25G), not in Gi.
Source: vLLM 0.32.0 vllm/config (bounds of the fields), argparse_utils.human_readable_int.
"""

from __future__ import annotations

from collections.abc import Iterator

from barostat.catalog.vllm_flags import CHOICES, FLAGS, range_of
from barostat.lint.document import Edit
from barostat.lint.edits import changed
from barostat.lint.facts import Argument, Scene
from barostat.lint.rule import Found, Rule

_CHECKED = ("scheduling_policy", "performance_mode", "dtype")


def judge(scene: Scene) -> Iterator[Found]:
    """Every value that cannot be read, or lies outside what is allowed."""
    for engine in scene.engines:
        for argument in engine.arguments.values():
            flag = FLAGS.get(argument.name)
            if flag is None or argument.text is None or "$" in argument.text or "{{" in argument.text:
                continue
            if argument.value is None:
                yield Found(argument.place, f"{flag.option}: {argument.text!r} is no value for it", _meant(argument))
            elif argument.name in _CHECKED and str(argument.value).lower() not in CHOICES[argument.name]:
                yield Found(argument.place, f"{flag.option}: {argument.text!r} is none of {', '.join(CHOICES[argument.name])}")
            elif (
                (span := range_of(argument.name)) is not None
                and (number := argument.number) is not None
                and number not in span
                and not (flag.kind == "length" and number == -1)
            ):
                percent = argument.name == "gpu_memory_utilization" and 1 < number <= 100
                fix = f"{number / 100:g}, if {number:g} % is meant" if percent else ""
                yield Found(
                    argument.place, f"{flag.option} takes numbers {span}, not {argument.text}", fix, _share(argument) if percent else ()
                )


def _meant(argument: Argument) -> str:
    text = argument.text or ""
    return f"{text[:-1]}: units are written k, M, G" if text.endswith("i") and text[:-2].isdigit() else ""


def _share(argument: Argument) -> tuple[Edit, ...]:
    place = argument.words[-1]
    head = argument.spelled.partition("=")[0] + "=" if argument.joined else ""
    number = argument.number or 0.0
    return changed(place, f"{head}{number / 100:g}") if place.end - place.start == len(head) + len(argument.text or "") else ()


RULE = Rule("bad-flag-value", "a value that the argument does not take", judge, "error")
