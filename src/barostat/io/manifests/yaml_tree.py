"""YAML and JSON text -> a Document with the place of every value. Bounded: hostile input is one
sentence, never a hang.

PyYAML's event stream is read, from libyaml where it is there (ten times as fast); no tag is ever
constructed. An alias is the node it stands for; how large a document becomes with all of them
spelled out is reckoned beforehand and bounded.
"""

from __future__ import annotations

import re
from typing import Any

import yaml

from barostat.core.bounds import MANIFEST_NODES
from barostat.lint.document import Document, Node, Place, Problem

LARGEST_BYTES = 8 << 20
TOO_LARGE = f"larger than {LARGEST_BYTES >> 20} MB: too large for a manifest"
LARGEST_NODES = MANIFEST_NODES.most
DEEPEST = 120
LARGE_CHARS = 64_000
_MERGE = "<<"
_DEFINITION = re.compile(r"^kind:[ \t]*[\"']?CustomResourceDefinition\b", re.MULTILINE)


class _TooMuch(Exception):
    """The document goes beyond a bound; the text says which."""


class _Builder:
    """Events -> nodes, with the size of each once its aliases are spelled out; `total`: of all
    documents of the text.
    """

    def __init__(self) -> None:
        self.anchors: dict[str, Node] = {}
        self.sizes: dict[int, int] = {}
        self.total = 0

    def document(self, events: Any) -> Node:
        """The root of the document whose first event comes next."""
        self.anchors, self.sizes = {}, {}
        return self.value(events, next(events), 0)

    def value(self, events: Any, event: Any, depth: int) -> Node:
        if depth > DEEPEST:
            raise _TooMuch(f"nested more than {DEEPEST} deep")
        if isinstance(event, yaml.AliasEvent):
            found = self.anchors.get(str(event.anchor))
            if found is None:
                raise _TooMuch(f"the alias *{event.anchor} names no anchor")
            if found.kind != "scalar" and id(found) not in self.sizes:
                raise _TooMuch(f"the alias *{event.anchor} stands inside of what it names")
            self.count(self.sizes.get(id(found), 1))
            return found
        self.count(1)
        before = self.total
        mark = event.start_mark
        if isinstance(event, yaml.ScalarEvent):
            node = Node(
                "scalar",
                mark.line + 1,
                mark.column + 1,
                mark.index,
                _index(event.end_mark),
                event.value,
                event.style or "",
            )
            if event.anchor:
                self.anchors[event.anchor] = node
            return node
        if isinstance(event, yaml.SequenceStartEvent):
            node = Node("list", mark.line + 1, mark.column + 1, mark.index, mark.index)
            if event.anchor:
                self.anchors[event.anchor] = node
            while not isinstance(event := next(events), yaml.SequenceEndEvent):
                node.items.append(self.value(events, event, depth + 1))
        else:
            node = Node("map", mark.line + 1, mark.column + 1, mark.index, mark.index)
            if event.anchor:
                self.anchors[event.anchor] = node
            while not isinstance(event := next(events), yaml.MappingEndEvent):
                self.entry(
                    node,
                    self.value(events, event, depth + 1),
                    self.value(events, next(events), depth + 1),
                )
        node.end = event.end_mark.index
        if self.anchors:
            self.sizes[id(node)] = self.total - before + 1
        return node

    @staticmethod
    def entry(node: Node, key: Node, value: Node) -> None:
        """Add the pair. A repeated key is noted and the later one wins, as in YAML parsers."""
        name = key.text if key.kind == "scalar" else ""
        if name == _MERGE and not key.style:
            for source in value.items if value.kind == "list" else [value]:
                for merged, inner in source.entries.items():
                    if merged not in node.entries:
                        node.entries[merged], node.keys[merged] = inner, source.keys[merged]
            return
        if name in node.keys and node.keys[name].start > node.start:
            node.repeated.append(key)
        node.entries[name], node.keys[name] = value, key

    def count(self, nodes: int) -> None:
        """Notes that so many more were read. Errors: _TooMuch beyond the bound."""
        self.total += nodes
        if self.total > LARGEST_NODES:
            raise _TooMuch(f"more than {LARGEST_NODES:,} values once its aliases are spelled out")


def read_yaml(text: str, file: str) -> Document:
    """Read the documents of the text. Never raises: what could not be read is the `problem`."""
    document = Document(file, text)
    if len(text) > LARGEST_BYTES:
        document.problem = whole_file(file, TOO_LARGE)
        return document
    try:
        events = yaml.parse(
            _without_definitions(text), Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader)
        )
        builder = _Builder()
        for event in events:
            if isinstance(event, yaml.DocumentStartEvent):
                root = builder.document(events)
                if not root.is_null:
                    document.roots.append(root)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        cause = " ".join(part for part in (error.problem, error.context) if part)
        reason = f"not valid YAML: {cause or 'it cannot be parsed'}{_hint(text, mark)}"
        document.problem = (
            Problem(Place(file, mark.line + 1, mark.column + 1), reason)
            if mark is not None
            else whole_file(file, reason)
        )
    except _TooMuch as error:
        document.problem = whole_file(file, str(error))
    except (yaml.YAMLError, RecursionError, ValueError) as error:
        cause = (
            "nested too deeply"
            if isinstance(error, RecursionError)
            else (str(error).splitlines() or [type(error).__name__])[0]
        )
        document.problem = whole_file(file, f"not valid YAML: {cause[:200]}")
    return document


def whole_file(file: str, reason: str) -> Problem:
    """Return the problem of a file that could not be read at all."""
    return Problem(Place(file, 0, 0), reason)


def _without_definitions(text: str) -> str:
    """A large text with the definitions of custom resources left blank, place for place: they are
    long, and none is a manifest of ours.
    """
    if len(text) < LARGE_CHARS or "CustomResourceDefinition" not in text:
        return text
    parts = re.split(r"(?m)^(?=---)", text)
    return "".join(
        re.sub(r"[^\n]", " ", part) if _DEFINITION.search(part) else part for part in parts
    )


def _index(mark: Any) -> int:
    """The mark's offset; PyYAML's types allow for none, its parsers always give one."""
    return int(mark.index)


def _hint(text: str, mark: Any) -> str:
    """What the offending line probably is."""
    if mark is None:
        return ""
    lines = text.split("\n")
    around = "\n".join(lines[max(0, mark.line - 1) : mark.line + 1])
    if "{{" in around:
        return " (a template: give the chart's folder, or its rendered output)"
    return " (a tab: YAML is indented with spaces)" if "\t" in around else ""


def plain_text(text: str, file: str, shell: str) -> Document:
    """Return a script or a unit file as one value. `shell`: the text as a shell reads it, of the
    same length.
    """
    return Document(file, text, [Node("scalar", 1, 1, 0, len(text), shell, "text")])
