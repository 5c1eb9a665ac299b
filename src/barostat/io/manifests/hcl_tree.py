"""HCL text (Terraform, Nomad) -> a Document with the place of every value.

Blocks are lists of mappings under their type; the first label is their `name` where they have none.
What is no literal (`var.model`, a function's result) is a text that begins with `$`, so that it
reads as a reference that nothing resolves. Bounded in depth; text that is no HCL ends the reading.
Source: HCL native syntax specification.
"""

from __future__ import annotations

import re

from barostat.io.manifests.yaml_tree import DEEPEST, LARGEST_BYTES, TOO_LARGE, whole_file
from barostat.lint.document import Document, Node, Place, Problem

_BLANK = re.compile(r"(?:[ \t\r\n,;]+|#[^\n]*|//[^\n]*|/\*.*?\*/)+", re.DOTALL)
_SPACE = re.compile(r"(?:[ \t\r]+|/\*.*?\*/)+", re.DOTALL)
_NAME = re.compile(r"[A-Za-z_][\w.-]*")
_LITERAL = re.compile(r"-?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?|true|false|null")
_HERE = re.compile(r"<<-?[ \t]*([A-Za-z_]\w*)[ \t]*\r?\n")
_CALL = re.compile(r"[A-Za-z_]\w*\(")
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", '"': '"', "\\": "\\"}
_JOINS = ("concat", "flatten", "compact")


class _NotHcl(Exception):
    """The text at `at` is no HCL."""

    def __init__(self, at: int, reason: str) -> None:
        super().__init__(reason)
        self.at = at
        self.reason = reason


class _Reader:
    """State of one pass over the text."""

    def __init__(self, document: Document) -> None:
        self.document = document
        self.text = document.text
        self.at = 0

    def body(self, end: str, depth: int) -> Node:
        """Read attributes and blocks up to the closing bracket, or the end of the text."""
        if depth > DEEPEST:
            raise _NotHcl(self.at, f"nested more than {DEEPEST} deep")
        node = self._node("map", self.at)
        while True:
            self._skip(_BLANK)
            if self.at >= len(self.text):
                if end:
                    raise _NotHcl(node.start, "a bracket that is never closed")
                break
            if end and self.text[self.at] == end:
                self.at += 1
                break
            self._entry(node, depth)
        node.end = self.at
        return node

    def _entry(self, node: Node, depth: int) -> None:
        key = self._word()
        labels: list[Node] = []
        while True:
            self._skip(_SPACE)
            char = self.text[self.at : self.at + 1]
            if char in ("=", ":"):
                self.at += 1
                self._skip(_BLANK)
                node.entries[key.text], node.keys[key.text] = self._value(depth), key
                return
            if char == "{":
                self.at += 1
                block = self.body("}", depth + 1)
                if labels and "name" not in block.entries:
                    block.entries["name"], block.keys["name"] = labels[-1], labels[-1]
                held = node.entries.setdefault(key.text, self._node("list", block.start))
                node.keys.setdefault(key.text, key)
                held.items.append(block)
                held.end = self.at
                return
            labels.append(self._word())

    def _word(self) -> Node:
        start = self.at
        if self.text[start : start + 1] == '"':
            return self._string()
        match = _NAME.match(self.text, start)
        if match is None:
            raise _NotHcl(start, f"unexpected {self.text[start : start + 1]!r}")
        self.at = match.end()
        return self._scalar(match[0], start, self.at)

    def _value(self, depth: int) -> Node:
        if depth > DEEPEST:
            raise _NotHcl(self.at, f"nested more than {DEEPEST} deep")
        start = self.at
        char = self.text[start : start + 1]
        if char == "{":
            self.at += 1
            return self._plain_rest(self.body("}", depth + 1))
        if char == "[":
            self.at += 1
            return self._plain_rest(self._items("]", start, depth))
        if (here := _HERE.match(self.text, start)) is not None:
            return self._here_document(here)
        if char == '"':
            return self._plain_rest(self._string())
        if (call := _CALL.match(self.text, start)) is not None:
            return self._call(call, depth)
        return self._expression(start)

    def _items(self, end: str, start: int, depth: int) -> Node:
        node = self._node("list", start)
        while True:
            self._skip(_BLANK)
            if self.at >= len(self.text):
                raise _NotHcl(start, "a bracket that is never closed")
            if self.text[self.at] == end:
                self.at += 1
                node.end = self.at
                return node
            before = self.at
            node.items.append(self._value(depth + 1))
            if self.at == before:
                raise _NotHcl(before, f"unexpected {self.text[before]!r}")

    def _call(self, call: re.Match[str], depth: int) -> Node:
        """Read the arguments of a function: lists that it joins as one list, one value as itself."""
        self.at = call.end()
        arguments = self._items(")", call.start(), depth)
        name = call[0][:-1]
        if name in _JOINS:
            joined = [item for each in arguments.items for item in each.items or [each]]
            arguments.items = joined
            return self._plain_rest(arguments)
        if name in ("jsonencode", "yamlencode", "tolist", "toset", "tostring", "trimspace"):
            return self._plain_rest(arguments.items[0] if arguments.items else arguments)
        return self._expression(call.start())

    def _plain_rest(self, node: Node) -> Node:
        """Return the node; an operator behind it makes an expression that is not evaluated."""
        match = re.compile(r"[ \t]*(?:\?|==|!=|[-+*/%<>]|&&|\|\||\[|\.)").match(self.text, self.at)
        return self._expression(node.start) if match is not None else node

    def _expression(self, start: int) -> Node:
        """Read a non-literal expression, to the end of the line or of the enclosing list."""
        at, inner = start, 0
        while at < len(self.text):
            char = self.text[at]
            if char == '"':
                self.at = at
                self._string()
                at = self.at
                continue
            if not inner and (char in ",\n]})" or self.text.startswith(("//", "#"), at)):
                break
            inner += {"(": 1, "[": 1, "{": 1, ")": -1, "]": -1, "}": -1}.get(char, 0)
            at += 1
        raw = self.text[start:at].rstrip()
        self.at = start + len(raw)
        if _LITERAL.fullmatch(raw):
            return self._scalar(raw, start, self.at)
        return self._scalar("$" + raw[1:], start, self.at, "text")

    def _string(self) -> Node:
        start = self.at
        out: list[str] = []
        self.at += 1
        while self.at < len(self.text):
            char = self.text[self.at]
            if char == '"':
                self.at += 1
                return self._scalar("".join(out), start, self.at, '"')
            if char == "\n":
                break
            if char == "\\":
                following = self.text[self.at + 1 : self.at + 2]
                out.append(_ESCAPES.get(following, following))
                self.at += 2
            elif self.text.startswith(("${", "%{"), self.at):
                stop = self._interpolation_end(self.at + 2)
                out.append(self.text[self.at : stop])
                self.at = stop
            else:
                out.append(char)
                self.at += 1
        raise _NotHcl(start, "a string that is never closed")

    def _interpolation_end(self, start: int) -> int:
        at, inner = start, 1
        while at < len(self.text) and inner and self.text[at] != "\n":
            inner += {"{": 1, "}": -1}.get(self.text[at], 0)
            at += 1
        return at

    def _here_document(self, match: re.Match[str]) -> Node:
        end = re.compile(rf"^[ \t]*{re.escape(match[1])}[ \t]*\r?$", re.MULTILINE)
        closing = end.search(self.text, match.end())
        if closing is None:
            raise _NotHcl(match.start(), f"a here-document is never closed: no line is {match[1]}")
        self.at = closing.end()
        body = self.text[match.end() : closing.start()]
        return self._scalar(body, match.end(), closing.start(), "text")

    def _skip(self, pattern: re.Pattern[str]) -> None:
        match = pattern.match(self.text, self.at)
        if match is not None:
            self.at = match.end()

    def _scalar(self, text: str, start: int, end: int, style: str = "") -> Node:
        node = self._node("scalar", start)
        node.text, node.end, node.style = text, end, style
        return node

    def _node(self, kind: str, start: int) -> Node:
        place = self.document.at(start, start)
        made = Node("map", place.line, place.column, start, start)
        made.kind = "list" if kind == "list" else "scalar" if kind == "scalar" else "map"
        return made


def read_hcl(text: str, file: str) -> Document:
    """Read the text as one mapping. Never raises: what could not be read is the `problem`."""
    document = Document(file, text)
    if len(text) > LARGEST_BYTES:
        document.problem = whole_file(file, TOO_LARGE)
        return document
    try:
        document.roots.append(_Reader(document).body("", 0))
    except _NotHcl as error:
        at = document.at(error.at, error.at)
        document.problem = Problem(
            Place(file, at.line, at.column), f"not valid HCL: {error.reason}"
        )
    except RecursionError:
        document.problem = whole_file(file, "not valid HCL: nested too deeply")
    return document
