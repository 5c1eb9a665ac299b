"""Edits of a file's text: a value changed, an argument taken out, a key added beside another.
Comments and formatting stay.

None is made where the place cannot be edited (it was rendered from a chart) or the text there is
not plain enough to be sure.
"""

from __future__ import annotations

import json
import re
from dataclasses import replace

from barostat.lint.document import Edit, Place
from barostat.lint.facts import Argument, Scene

_PLAIN = re.compile(r"[A-Za-z/_$][^\s:#]*(?::[^\s:#]+)*")
_NO_TEXT = frozenset(("true", "false", "yes", "no", "on", "off", "y", "n", "null"))
"""Words that YAML 1.1 takes for something else than text, in whatever case."""


def changed(place: Place, text: str) -> tuple[Edit, ...]:
    """Replace the text at this place."""
    return (Edit(place.file, place.start, place.end, text),) if 0 <= place.start < place.end else ()


def with_value(argument: Argument, shown: str) -> tuple[Edit, ...]:
    """The argument's value becomes `shown`."""
    place = argument.words[-1] if argument.words else argument.place
    if argument.origin != "flag":
        return (
            changed(place, shown)
            if argument.origin == "values" and place.end - place.start == len(argument.text or "")
            else ()
        )
    head = argument.spelled.partition("=")[0] + "=" if argument.joined else ""
    return (
        changed(place, f"{head}{shown}")
        if place.end - place.start == len(head) + len(argument.text or "")
        else ()
    )


def without_argument(scene: Scene, argument: Argument) -> tuple[Edit, ...]:
    """Remove the argument, including lines that contain nothing else."""
    text = scene.text_of(argument.place.file)
    if (
        text is None
        or argument.origin == "values"
        or any(word.start < 0 for word in argument.words)
    ):
        return ()
    if argument.origin == "config-file":
        row = _line_of_setting(text, argument.place)
        return (Edit(argument.place.file, *row, ""),) if row is not None else ()
    spans = [_line_of_item(text, word) for word in argument.words]
    if all(span is not None for span in spans):
        return tuple(Edit(argument.place.file, *span, "") for span in spans if span is not None)
    first, last = argument.words[0], argument.words[-1]
    item = (
        _line_of_item(text, replace(first, end=last.end))
        if "\n" not in text[first.start : last.end]
        else None
    )
    if item is not None:
        return (Edit(argument.place.file, *item, ""),)
    whole = _line_in_script(text, first.start, last.end)
    if whole is not None:
        return (Edit(argument.place.file, *whole, ""),)
    listed = _items_in_flow(text, first.start, last.end)
    if listed is not None:
        return (Edit(argument.place.file, *listed, ""),)
    between = text[first.start : last.end]
    if (
        "\n" in between
        or text[first.start - 1 : first.start] != " "
        or any(mark in between for mark in "'\"[],")
    ):
        return ()
    return (Edit(argument.place.file, first.start - 1, last.end, ""),)


def split_item(scene: Scene, place: Place, option: str) -> tuple[Edit, ...]:
    """An item `- --flag value` becomes two, each on its line; one within brackets becomes
    `--flag=value`.

    None if more than one value is in it: another argument, or words that a shell would have put
    together.
    """
    text = scene.text_of(place.file)
    span = _line_of_item(text, place) if text is not None else None
    in_brackets = (
        text is not None
        and span is None
        and _items_in_flow(text, place.start, place.end) is not None
    )
    if text is None or (span is None and not in_brackets):
        return ()
    written = text[place.start : place.end]
    quote = written[0] if written[:1] in "'\"" and written[:1] == written[-1:] else ""
    inner = written[1:-1] if quote else written
    head, _, value = inner.strip().partition(" ")
    if head != option or not value.strip() or "\n" in inner or (quote and quote in value):
        return ()
    value = value.strip()
    several = any(char.isspace() for char in value)
    if several and (span is None or not _is_json(value)):
        return ()
    if span is None:
        return (Edit(place.file, place.start, place.end, f"{quote}{head}={value}{quote}"),)
    line = text[span[0] : span[1]]
    indent = line[: len(line) - len(line.lstrip())]
    end = "\r\n" if line.endswith("\r\n") else "\n"
    shown = (
        f"{quote}{value}{quote}"
        if quote
        else value
        if _PLAIN.fullmatch(value) and value.lower() not in _NO_TEXT
        else _quoted(value)
    )
    return (
        Edit(place.file, place.start, place.end, f"{quote}{head}{quote}{end}{indent}- {shown}"),
    )


def _quoted(value: str) -> str:
    return (
        f'"{value}"'
        if '"' not in value and "\\" not in value
        else "'" + value.replace("'", "''") + "'"
    )


def _is_json(value: str) -> bool:
    """True for one object or list."""
    try:
        return value[:1] in ("{", "[") and json.loads(value) is not None
    except (ValueError, RecursionError):
        return False


def _line_of_item(text: str, place: Place) -> tuple[int, int] | None:
    """Return the range of the line if it contains only this list item; otherwise None."""
    if place.start < 0:
        return None
    start = text.rfind("\n", 0, place.start) + 1
    stop = text.find("\n", place.end)
    stop = len(text) if stop < 0 else stop + 1
    before, after = (
        text[start : place.start].strip(" \"'"),
        text[place.end : stop].strip(" \"'\r\n"),
    )
    return (start, stop) if before == "-" and (not after or after.startswith("#")) else None


def _line_in_script(text: str, first: int, last: int) -> tuple[int, int] | None:
    """The line of a shell command that holds only these words and a backslash."""
    start = text.rfind("\n", 0, first) + 1
    stop = text.find("\n", last)
    if stop < 0 or text[start:first].strip() or text[last:stop].strip() != "\\":
        return None
    return start, stop + 1


def _line_of_setting(text: str, place: Place) -> tuple[int, int] | None:
    """The line of a configuration file that holds only this setting, and perhaps a comment."""
    start = text.rfind("\n", 0, place.start) + 1
    stop = text.find("\n", place.end)
    stop = len(text) if stop < 0 else stop + 1
    after = text[place.end : stop].strip()
    return (
        (start, stop)
        if place.start >= 0
        and not text[start : place.start].strip()
        and (not after or after.startswith("#"))
        else None
    )


def _items_in_flow(text: str, first: int, last: int) -> tuple[int, int] | None:
    """The items of a `[a, b]` list in one line from the first word to the last, with the comma that
    goes with them; None elsewhere.
    """
    if first < 0 or "\n" in text[first:last]:
        return None
    start = first - 1 if text[first - 1 : first] in ("'", '"') else first
    stop = last + 1 if text[last : last + 1] in ("'", '"') else last
    before, after = text[:start].rstrip(), text[stop:].lstrip()
    if before[-1:] not in ("[", ",") or after[:1] not in ("]", ","):
        return None
    if before.endswith(","):
        return len(before) - 1, stop
    return (
        (start, len(text) - len(after[1:].lstrip(" "))) if after.startswith(",") else (start, stop)
    )
