"""Reads and changes the entries of one mapping in a YAML text line by line, keeping the order,
comments and quotes of everything else.

    engine_kwargs:             # blocks(text, "engine_kwargs")
      max_num_seqs: 64         # one entry; a value over several lines is none

Source: YAML 1.2 block mappings. Flow mappings (in braces) and anchors are not supported.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

_HEAD = re.compile(
    r"(?P<indent> *)(?P<dash>(?:- +)*)(?P<quote>[\"']?)(?P<key>[A-Za-z][\w.-]*)(?P=quote)[ ]?:"
)
_COMMENT = re.compile(r"(?<=[ \t])#")
_NO_SCALAR = ("[", "{", "|", ">", "&", "*", "!")


@dataclass(frozen=True, slots=True)
class Block:
    """A mapping in the text. `start`, `end`: its line range, starting below the key; `indent`:
    indentation of its entries. `entries`: scalars without their quotes, by key.
    """

    start: int
    end: int
    indent: int
    entries: Mapping[str, str]


class _Line(NamedTuple):
    """A line `key: value  # comment`. `depth`: the column of the key; `start`, `end`: of the value."""

    depth: int
    listed: bool
    key: str
    value: str
    start: int
    end: int


def blocks(text: str, key: str) -> list[Block]:
    """Return every block mapping under that key."""
    lines = text.splitlines()
    found = []
    for number, line in enumerate(lines):
        at = _read(line)
        if at is not None and at.key == key and not at.value:
            block = _block(lines, number + 1, at.depth)
            if block is not None:
                found.append(block)
    return found


def scalar_after(text: str, key: str) -> str | None:
    """Return the first scalar under that key anywhere in the text, without quotes; None if there is
    none.
    """
    for line in text.splitlines():
        at = _read(line)
        if at is not None and at.key == key and at.value:
            return _plain(at.value)
    return None


def with_scalar(text: str, key: str, wanted: str) -> str:
    """The text with another value in the line that `scalar_after` reads; the same text without it."""
    lines = text.splitlines(keepends=True)
    for number, line in enumerate(lines):
        at = _read(line)
        if at is not None and at.key == key and at.value:
            lines[number] = _changed(line, at, wanted)
            break
    return "".join(lines)


def with_entries(text: str, key: str, wanted: Mapping[str, str]) -> str:
    """Return the text with the entries of the only block under that key replaced by `wanted`:
    changed values stay on their line, new entries are appended, and others are removed.
    """
    (block,) = blocks(text, key)
    lines = text.splitlines(keepends=True)
    new: list[str] = []
    for line in lines[block.start : block.end]:
        at = _read(line)
        if at is None or at.depth != block.indent or at.key not in block.entries:
            new.append(line)
        elif at.key in wanted:
            new.append(_changed(line, at, wanted[at.key]))
    ending = "\r\n" if "\r\n" in text else "\n"
    for name in [name for name in wanted if name not in block.entries]:
        if new and not new[-1].endswith("\n"):
            new[-1] += ending
        new.append(f"{' ' * block.indent}{name}: {wanted[name]}{ending}")
    made = "".join([*lines[: block.start], *new, *lines[block.end :]])
    return made if text.endswith("\n") else made.removesuffix(ending)


def _block(lines: list[str], start: int, above: int) -> Block | None:
    end, indent, last = start, -1, start
    entries: dict[str, str] = {}
    while end < len(lines):
        line = lines[end]
        end += 1
        bare = line.strip()
        if not bare or bare.startswith("#"):
            continue
        depth = len(line) - len(line.lstrip(" "))
        if depth <= above:
            break
        indent, last = depth if indent < 0 else indent, end
        at = _read(line)
        if at is None or at.depth != indent or at.listed:
            continue
        if at.value and not at.value.startswith(_NO_SCALAR):
            entries[at.key] = _plain(at.value)
    return Block(start, last, indent, entries) if indent > 0 else None


def _read(line: str) -> _Line | None:
    line = line.rstrip("\r\n")
    head = _HEAD.match(line)
    if head is None:
        return None
    tail = line[head.end() :]
    value = tail.lstrip(" \t")
    if tail and value == tail:
        return None
    start = len(line) - len(value)
    closing = value.find(value[0], 1) if value[:1] in ("'", '"') and value else -1
    if closing > 0:
        value = value[: closing + 1]
    elif value.startswith("#"):
        value = ""
    elif comment := _COMMENT.search(value):
        value = value[: comment.start()]
    value = value.rstrip(" \t")
    depth = len(head["indent"]) + len(head["dash"])
    return _Line(depth, bool(head["dash"]), head["key"], value, start, start + len(value))


def _changed(line: str, at: _Line, wanted: str) -> str:
    if _plain(at.value) == wanted:
        return line
    quote = at.value[0] if at.value[0] in "\"'" else ""
    return f"{line[: at.start]}{quote}{wanted}{quote}{line[at.end :]}"


def _plain(written: str) -> str:
    if len(written) > 1 and written[0] in "\"'" and written[-1] == written[0]:
        return written[1:-1]
    return written
