"""A file taken apart into values, each with the line and column at which a person edits it.

    Document(file, text, roots)      one root for each YAML document in it
      Node  map | list | scalar      line and column from 1; start and end are offsets into the text
      Place                          the same without the tree: what a finding points at and an edit replaces

A value may hold a command line; `Document.within` finds the place of a word of it, through quotes,
folds and block scalars.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Literal

Kind = Literal["map", "list", "scalar"]
_NULL = ("", "~", "null", "Null", "NULL")


@dataclass(frozen=True, slots=True)
class Place:
    """A stretch of a file. `line` 0: the file as a whole. `start`, `end`: offsets into its text, -1
    where it cannot be edited (rendered text).
    """

    file: str
    line: int
    column: int
    start: int = -1
    end: int = -1


@dataclass(frozen=True, slots=True)
class Problem:
    """Why a file, or the rest of it, could not be read."""

    place: Place
    reason: str

    def __str__(self) -> str:
        place = self.place
        where = f"{place.file}:{place.line}:{place.column}" if place.line else place.file
        return f"{where}: {self.reason}"


@dataclass(frozen=True, slots=True)
class Edit:
    """Replace the file's text from `start` to `end` with `text`."""

    file: str
    start: int
    end: int
    text: str


@dataclass(slots=True, eq=False)
class Node:
    """One value. A scalar's `style` is how it is quoted: `'`, `"`, `|`, `>` or nothing; `text` for
    a file that is one text.
    """

    kind: Kind
    line: int
    column: int
    start: int
    end: int
    text: str = ""
    style: str = ""
    items: list[Node] = field(default_factory=list)
    entries: dict[str, Node] = field(default_factory=dict)
    keys: dict[str, Node] = field(default_factory=dict)
    repeated: list[Node] = field(default_factory=list)

    def get(self, *route: str | int) -> Node | None:
        """The value there, or None if the route ends before; a null is None too."""
        node: Node | None = self
        for step in route:
            if node is None:
                return None
            if isinstance(step, int):
                node = node.items[step] if -len(node.items) <= step < len(node.items) else None
            else:
                node = node.entries.get(step)
        return None if node is None or node.is_null else node

    def word(self, *route: str | int) -> str:
        """The scalar there as text, or the empty text."""
        node = self.get(*route)
        return node.text if node is not None and node.kind == "scalar" else ""

    def list_at(self, *route: str | int) -> list[Node]:
        """The items of the list there, or none."""
        node = self.get(*route)
        return node.items if node is not None else []

    def maps_at(self, *route: str | int) -> list[Node]:
        """The mappings of the list there."""
        return [item for item in self.list_at(*route) if item.kind == "map"]

    def number(self, *route: str | int) -> float | None:
        """The scalar there as a number, or None if it is none."""
        try:
            value = float(self.word(*route).replace("_", "") or "x")
        except ValueError:
            return None
        return value if -1e18 < value < 1e18 else None

    def is_true(self, *route: str | int) -> bool:
        """True if the scalar there says so."""
        return self.word(*route).lower() in ("true", "yes", "on")

    @property
    def is_null(self) -> bool:
        """True for a plain `null`, `~` or nothing."""
        return self.kind == "scalar" and not self.style and self.text in _NULL

    def walk(self) -> Iterator[Node]:
        """The node and all below it, in order; the reader has bounded how many that can be."""
        stack = [self]
        while stack:
            node = stack.pop()
            yield node
            stack.extend(reversed([*node.items, *node.entries.values()]))


@dataclass(slots=True, eq=False)
class Document:
    """One file. `problem`: why reading stopped; `roots` holds what was read before that.

    `is_template`: a tool must render the file first. `variables`: values for `${NAME}`, from the
    `.env` next to a compose file.
    """

    file: str
    text: str
    roots: list[Node] = field(default_factory=list)
    problem: Problem | None = None
    is_template: bool = False
    variables: dict[str, str] = field(default_factory=dict)
    _lines: list[int] = field(default_factory=list)
    _known: dict[int, Sequence[int]] = field(default_factory=dict)

    def objects(self) -> Iterator[Node]:
        """The roots without scalars of one word, which hold nothing to start; a hostile file has a
        million of them.
        """
        for root in self.roots:
            if root.kind != "scalar" or len(root.text.split(None, 1)) > 1:
                yield root

    def place(self, node: Node) -> Place:
        return Place(self.file, node.line, node.column, node.start, node.end)

    def key_place(self, parent: Node, key: str) -> Place:
        """Return the place of the key in the mapping; of the mapping itself if the key is missing."""
        return self.place(parent.keys.get(key, parent))

    def at(self, start: int, end: int) -> Place:
        """The place of a stretch of the text."""
        from bisect import bisect_right

        if not self._lines:
            self._lines = [0]
            found = -1
            while (found := self.text.find("\n", found + 1)) >= 0:
                self._lines.append(found + 1)
        row = bisect_right(self._lines, start) - 1
        return Place(self.file, row + 1, start - self._lines[row] + 1, start, end)

    def within(self, node: Node, start: int, end: int) -> Place:
        """The place of characters `start` to `end` of a scalar's value; the scalar's own if they
        cannot be distinguished.
        """
        offsets = self._offsets(node)
        if start < 0 or max(start + 1, end) > len(offsets):
            return self.place(node)
        first, last = offsets[start], offsets[end - 1] if end > start else offsets[start]
        return self.at(first, last + 1)

    def _offsets(self, node: Node) -> Sequence[int]:
        """The offset in the file of each character of the scalar's value, as far as they can be
        told.
        """
        kept = self._known.get(id(node))
        if kept is None:
            kept = self._known[id(node)] = _source_offsets(self.text, node)
        return kept


def _source_offsets(text: str, node: Node) -> Sequence[int]:
    """Both texts are walked side by side, white space apart, up to where they cannot be matched (an
    escape that stands for a letter).
    """
    at, end, value = node.start, node.end, node.text
    if node.style == "text":
        return range(at, at + len(value))
    if node.style in ("|", ">"):
        at = text.find("\n", at) + 1
    elif node.style in ("'", '"'):
        at += 1
    elif text.startswith(value, at):
        return range(at, at + len(value))
    found: list[int] = []
    for char in value:
        if char.isspace():
            found.append(at)
            continue
        while at < end and text[at].isspace():
            at += 1
        if node.style == '"' and text[at : at + 1] == "\\":
            at = _unescaped(text, at, end, char)
        if text[at : at + 1] != char:
            return found
        found.append(at)
        at += 2 if node.style == "'" and char == "'" else 1
    return found


def _unescaped(text: str, at: int, end: int, char: str) -> int:
    """Return the index after escaped line ends and after the backslash of an escaped character."""
    while text.startswith(("\\\n", "\\\r\n"), at):
        at += 1
        while at < end and text[at].isspace():
            at += 1
    return at + 1 if text[at : at + 1] == "\\" and text[at + 1 : at + 2] == char else at


def edited(text: str, edits: list[Edit]) -> tuple[str, int]:
    """The text with the edits made, and how many were; of two that touch each other the first is
    made.
    """
    made, last = 0, -1
    kept: list[Edit] = []
    for edit in sorted(dict.fromkeys(edits), key=lambda edit: (edit.start, edit.end)):
        if 0 <= edit.start >= last and edit.end <= len(text):
            kept.append(edit)
            last = max(edit.end, edit.start + 1)
            made += 1
    for edit in reversed(kept):
        text = text[: edit.start] + edit.text + text[edit.end :]
    return text, made
