"""Changes one setting in the YAML file of --config and keeps every other byte.

Such a file is a flat mapping with one `key: value` per line. Other forms are rejected.

Source: vLLM 0.32.0 FlexibleArgumentParser, `--config`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import NamedTuple

from barostat.catalog.settings.table import canonical_name
from barostat.core.config import ConfigScalar

_HEAD = re.compile(
    r"(?P<quote>[\"']?)(?P<key>[A-Za-z][\w.-]*)(?P=quote)(?P<between>[ \t]*:)(?P<space>[ \t]*)"
)
_COMMENT = re.compile(r"(?<=[ \t])#")
_PLAIN = re.compile(r"^[A-Za-z0-9_./+][A-Za-z0-9_./+ -]*$")
_NOT_TEXT = re.compile(
    r"^(?:[-+]?[\d.][\d._eE+-]*|0[xo][\da-fA-F]+|true|false|yes|no|on|off|null|~|y|n)$",
    re.IGNORECASE,
)
_NO_TEXT = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x85\u2028\u2029]")
"""Some end a line for Python, and none for YAML."""
_OPENS = ("[", "{", "|", ">", "&", "*", "!", "%", "@", "`")


@dataclass(frozen=True, slots=True)
class NotPlain:
    """The file, or this entry of it, is written in a way that is not changed line by line."""

    why: str


def value_in(text: str, name: str) -> str | None:
    """The setting as it is written there, or None if it is not."""
    found = _find(text.splitlines(), canonical_name(name))
    return found[1].value if found is not None else None


def with_setting(text: str, name: str, value: ConfigScalar | None) -> str | NotPlain:
    """The text with that setting at `value`: changed in its line, added at the end, or its line
    taken away where `value` is None.
    """
    wanted = canonical_name(name)
    lines = text.splitlines(keepends=True)
    if _NO_TEXT.search(text):
        return NotPlain("it has characters that are no text")
    if any(
        line.lstrip().startswith(("{", "---", "- ", "%", "\t")) for line in lines if line.strip()
    ):
        return NotPlain("it is no plain list of `key: value` lines")
    if (
        sum(1 for line in lines if (entry := _entry(line)) and canonical_name(entry.key) == wanted)
        > 1
    ):
        return NotPlain(f"{wanted} stands there twice")
    found = _find(lines, wanted)
    if found is None:
        if value is None:
            return text
        ending = "\r\n" if "\r\n" in text else "\n"
        before = "" if not text or text.endswith(("\n", "\r")) else ending
        after = ending if not text or not before else ""
        return f"{text}{before}{wanted.replace('_', '-')}: {_scalar(value)}{after}"
    place, entry = found
    line = lines[place]
    ending = line[len(line.rstrip("\r\n")) :]
    written = entry.value
    goes_on = (
        place + 1 < len(lines)
        and lines[place + 1][:1] in " \t-"
        and lines[place + 1].strip()
        and not lines[place + 1].lstrip().startswith("#")
    )
    if (
        goes_on
        or written.startswith(_OPENS)
        or (written[:1] in "'\"" and written[:1] and not _closed(written))
    ):
        return NotPlain(f"{wanted} is written over several lines or as a list")
    if value is None:
        return "".join(lines[:place] + lines[place + 1 :])
    rest = (
        f" {entry.rest}" if entry.rest.startswith("#") else entry.rest
    )  # without a value, its space was the key's
    return "".join(
        [
            *lines[:place],
            f"{entry.head}{entry.space or ' '}{_scalar(value)}{rest}{ending}",
            *lines[place + 1 :],
        ]
    )


class _Entry(NamedTuple):
    """One line: `head` up to the colon, then the value between blanks and what follows it."""

    head: str
    key: str
    space: str
    value: str
    rest: str


def _entry(line: str) -> _Entry | None:
    line = line.rstrip("\r\n")
    found = _HEAD.match(line)
    if found is None:
        return None
    head, space, tail = line[: found.end("between")], found["space"], line[found.end() :]
    if tail and not space:
        return None
    comment = (
        0
        if tail.startswith("#")
        else next((mark.start() for mark in _COMMENT.finditer(tail)), len(tail))
    )
    value = tail[:comment].rstrip(" \t")
    return _Entry(head, found["key"], space, value, tail[len(value) :])


def _find(lines: list[str], wanted: str) -> tuple[int, _Entry] | None:
    for place, line in enumerate(lines):
        entry = _entry(line)
        if entry is not None and canonical_name(entry.key) == wanted:
            return place, entry
    return None


def _closed(written: str) -> bool:
    quote = written[0]
    return (
        len(written) > 1
        and written.endswith(quote)
        and quote not in written[1:-1].replace("\\" + quote, "")
    )


def _scalar(value: ConfigScalar) -> str:
    """The value as YAML reads it back equal."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value)
    if isinstance(value, float):
        text = f"{value:.10g}"
        return text if "e" not in text or "." in text else text.replace("e", ".0e")
    if (
        _PLAIN.match(value)
        and not _NOT_TEXT.match(value)
        and value == value.strip()
        and ": " not in value
        and " #" not in value
    ):
        return value
    return '"' + "".join(_escaped(char) for char in value) + '"'


def _escaped(char: str) -> str:
    if char in '"\\':
        return "\\" + char
    return char if char.isprintable() else f"\\U{ord(char):08x}"
