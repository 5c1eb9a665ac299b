"""Invalid value for an argument.

Meaning: text instead of a number, a share of memory above 1, a unit that vLLM does not accept
(`4Gi`), an unknown choice; a value after a switch (`--enforce-eager=true`), or a missing value;
JSON whose quotes the shell removed, or with a trailing comma.
Impact: the server refuses to start.

Bad:

    vllm serve Qwen/Qwen3-8B --gpu-memory-utilization 90

Good:

    vllm serve Qwen/Qwen3-8B --gpu-memory-utilization 0.90

Fix: shares are from 0 to 1; integers may end in k, K, m, M, g, G (25G), not in Gi. A switch takes
no value; its opposite is `--no-enforce-eager`.
Source: vLLM 0.32.0 vllm/config (bounds of the fields), argparse_utils.human_readable_int;
argparse.BooleanOptionalAction.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

from barostat.catalog.settings.table import SETTINGS, bounds_of, is_switch
from barostat.lint.document import Edit
from barostat.lint.edits import changed
from barostat.lint.facts import Argument, Engine, Scene
from barostat.lint.rule import Found, Rule

_QUOTED = "the whole value in single quotes, its names in double ones: '{\"name\": 1}'"
_CHECKED = ("scheduling_policy", "performance_mode", "dtype")


def judge(scene: Scene) -> Iterator[Found]:
    """Find values that cannot be parsed or are out of bounds."""
    for engine in scene.engines:
        for argument in engine.arguments.values():
            if (found := _of_switch(engine, argument) or _without_value(argument)) is not None:
                yield found
                continue
            flag = SETTINGS.get(argument.name)
            if (
                flag is None
                or argument.text is None
                or "$" in argument.text
                or "{{" in argument.text
            ):
                continue
            if argument.value is None:
                yield Found(
                    argument.place,
                    f"{flag.option}: {argument.text!r} is not a valid value",
                    _meant(argument),
                )
            elif (
                flag.kind == "json"
                and argument.origin == "flag"
                and (why := _no_json(engine, argument.name, argument.text))
            ):
                yield Found(argument.place, f"{flag.option}: {why[0]}", why[1])
            elif (
                argument.name in _CHECKED
                and str(argument.value).lower() not in SETTINGS[argument.name].choices
            ):
                yield Found(
                    argument.place,
                    f"{flag.option}: {argument.text!r} is none of "
                    f"{', '.join(SETTINGS[argument.name].choices)}",
                )
            elif (
                (span := bounds_of(argument.name)) is not None
                and (number := argument.number) is not None
                and number not in span
                and not (flag.kind == "length" and number == -1)
            ):
                percent = argument.name == "gpu_memory_utilization" and 10 <= number <= 100
                fix = f"{number / 100:g}, if {number:g} % is meant" if percent else ""
                yield Found(
                    argument.place,
                    f"{flag.option} takes numbers {span}, not {argument.text}",
                    fix,
                    _share(argument) if percent else (),
                )


def _no_json(engine: Engine, name: str, text: str) -> tuple[str, str] | None:
    """Return why the text is not the JSON that the argument needs, and the fix; None if it is. Text
    that does not start with `{` is only checked for --limit-mm-per-prompt.
    """
    if not text.startswith("{"):
        pairs = (
            re.fullmatch(r"\w+=\d+(?:,\w+=\d+)*", text) is not None
            and name == "limit_mm_per_prompt"
        )
        newest = engine.version is None and engine.floating and engine.own_image
        old = not newest and (engine.version is None or engine.version.before("0.10.0"))
        return (
            (f"{text!r} is read up to 0.9.2 only, JSON since", _QUOTED)
            if pairs and not old
            else None
        )
    try:
        json.loads(text)
    except ValueError:
        return _what_is_wrong(text)
    except RecursionError:
        return None
    return None


def _what_is_wrong(text: str) -> tuple[str, str] | None:
    """Return the mistake in the JSON and its fix; None for a placeholder (`{...}`, `<model>`)."""
    if "..." in text or re.search(r"<[A-Za-z_][\w-]*>", text):
        return None
    shown = f"{' '.join(text.split())[:60]!r} is no JSON"
    if re.search(r"[{,]\s*[A-Za-z_]\w*\s*:", text):
        return f"{shown}: its keys have no quotes; the shell removes unescaped quotes", _QUOTED
    if (comma := re.search(r",\s*([}\]])", text)) is not None:
        return (
            f"{shown}: there is a comma before a {comma[1]}",
            "remove the trailing comma",
        )
    if re.search(r"\\\r?\n", text):
        return (
            f"{shown}: a line ends in a backslash, which single quotes preserve",
            "remove the backslash: a quoted string may span lines",
        )
    return shown, _QUOTED


def _of_switch(engine: Engine, argument: Argument) -> Found | None:
    """Report a switch with a value, which argparse rejects; before 0.9.0 some switches took one.

    vLLM takes a separate word as the model, so it is rejected only if the model precedes it.
    """
    apart = (
        argument.origin == "flag"
        and len(argument.words) == 2
        and not engine.has("model")
        and engine.model is not None
    )
    old = engine.version is not None and engine.version.before("0.9.0")
    if old or not (argument.joined or apart) or not is_switch(argument.name):
        return None
    head, value = argument.spelled.replace("=", " ", 1).split(" ", 1)
    on = value.strip("'\"").lower() == "true"
    off = (
        "leave it out"
        if argument.name.startswith("disable_")
        else "--no-" + argument.name.replace("_", "-")
    )
    edits = changed(argument.place, head) if on and argument.joined else ()
    return Found(
        argument.place,
        f"{head} takes no value: vLLM rejects {value!r} after it",
        head if on else off,
        edits,
    )


def _without_value(argument: Argument) -> Found | None:
    """Report an argument that needs a value and has none."""
    flag = SETTINGS.get(argument.name)
    alone = (
        argument.origin == "flag"
        and argument.text is None
        and len(argument.words) == 1
        and not argument.joined
    )
    if flag is None or not alone or "$" in argument.spelled or "{{" in argument.spelled:
        return None
    return Found(argument.place, f"{flag.option} has no value: vLLM refuses to start")


def _meant(argument: Argument) -> str:
    text = argument.text or ""
    return (
        f"{text[:-1]}: units are written k, M, G"
        if text.endswith("i") and text[:-2].isdigit()
        else ""
    )


def _share(argument: Argument) -> tuple[Edit, ...]:
    place = argument.words[-1]
    head = argument.spelled.partition("=")[0] + "=" if argument.joined else ""
    number = argument.number or 0.0
    return (
        changed(place, f"{head}{number / 100:g}")
        if place.end - place.start == len(head) + len(argument.text or "")
        else ()
    )


RULE = Rule("bad-flag-value", "a value that the argument does not take", judge, "error")
