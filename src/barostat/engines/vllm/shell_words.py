"""A shell text taken apart into words, each with its place in the text, so that one word can be changed and the rest kept byte for byte.

Only what command lines of containers use: quotes, backslashes, line continuations, comments, operators, redirections, `$VAR`, `${VAR}`,
`${VAR:-default}` and Kubernetes' `$(VAR)`. What a command substitution would print is not known and said so.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

_REFERENCE = re.compile(r"\$(?:\((?P<kube>[A-Za-z_][\w.-]*)\)|\{(?P<brace>[A-Za-z_]\w*)(?P<default>:?-[^}]*)?\}|(?P<bare>[A-Za-z_]\w*))")
_OPERATORS = ("&&", "||", ";;", ";", "|", "&", "\n", "(", ")")
_REDIRECTION = re.compile(r"\d*(?:>>|>&|>\||<<<|<<|<&|<>|&>>|&>|>|<)(?:&?\d+|-)?")
_ESCAPED_IN_QUOTES = '$`"\\'


@dataclass(frozen=True, slots=True)
class Word:
    """One word: `text` is what the program receives, `start` and `end` its place in the text of element number `element`.

    `shell`: it lies in a shell text, so that a new value must be quoted. `operator`: it ends a command. `missing`: names that it refers to
    and that nothing tells.
    """

    text: str
    start: int
    end: int
    element: int = 0
    shell: bool = True
    operator: bool = False
    missing: tuple[str, ...] = ()


@dataclass(slots=True)
class _Reader:
    """State of one pass over the text."""

    text: str
    env: Mapping[str, str]
    at: int = 0
    words: list[Word] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)

    def unclosed(self, quote: str) -> bool:
        """True, with a problem noted, if the quote at `at` has no partner: it then reads as a letter, so that the rest is not lost."""
        close = self.at + 1
        while (close := self.text.find(quote, close)) > 0 and quote == '"' and self.text[close - 1] == "\\":
            close += 1
        if close >= 0:
            return False
        self.problems.append(f"a {quote} at character {self.at + 1} of the command is never closed")
        return True


def expand(text: str, env: Mapping[str, str]) -> tuple[str, tuple[str, ...]]:
    """The text with every reference replaced that `env` tells, and the names of the others (left in the text as they are)."""
    missing: list[str] = []

    def value(match: re.Match[str]) -> str:
        name = match["kube"] or match["brace"] or match["bare"]
        if name in env:
            return env[name]
        if match["default"] is not None:
            return match["default"].lstrip(":").removeprefix("-")
        missing.append(name)
        return match[0]

    return _REFERENCE.sub(value, text), tuple(missing)


def split_words(text: str, env: Mapping[str, str], element: int = 0) -> tuple[list[Word], list[str]]:
    """The words and operators of a shell text in order, and what was wrong with it. Never raises."""
    reader = _Reader(text, env)
    skip_next = False
    while reader.at < len(text):
        char = text[reader.at]
        if char in " \t\r" or text.startswith(("\\\n", "\\\r\n"), reader.at):
            reader.at += 1 if char != "\\" else 2
            continue
        if char == "#":
            end = text.find("\n", reader.at)
            reader.at = len(text) if end < 0 else end
            continue
        if (redirection := _REDIRECTION.match(text, reader.at)) is not None:
            reader.at = redirection.end()
            skip_next = not redirection[0][-1].isdigit() and redirection[0][-1] != "-"
            continue
        operator = next((found for found in _OPERATORS if text.startswith(found, reader.at)), None)
        if operator is not None:
            reader.words.append(Word(operator, reader.at, reader.at + len(operator), operator=True))
            reader.at += len(operator)
            skip_next = False
            continue
        word = _word(reader)
        if not skip_next:
            reader.words.append(word)
        skip_next = False
    return [replace(word, element=element) for word in reader.words], reader.problems


def _word(reader: _Reader) -> Word:
    """The word that starts at `at`; the reader stands behind it afterwards."""
    text, start = reader.text, reader.at
    out: list[str] = []
    missing: list[str] = []
    split_at: tuple[str, ...] = (" ", "\t", "\r", "\n", ";", "|", "&", "<", ">", "(", ")")
    while reader.at < len(text) and not text.startswith(split_at, reader.at):
        char = text[reader.at]
        if char == "$":
            _reference(reader, out, missing)
        elif char == "\\":
            if not text.startswith(("\\\n", "\\\r\n"), reader.at):
                out.append(text[reader.at + 1 : reader.at + 2])
            reader.at += 2 if not text.startswith("\\\r\n", reader.at) else 3
        elif char in "'\"" and not reader.unclosed(char):
            _quoted(reader, char, out, missing)
        else:
            out.append(char)
            reader.at += 1
    return Word("".join(out), start, reader.at, missing=tuple(missing))


def _quoted(reader: _Reader, quote: str, out: list[str], missing: list[str]) -> None:
    text = reader.text
    reader.at += 1
    while reader.at < len(text) and text[reader.at] != quote:
        char = text[reader.at]
        if quote == '"' and char == "\\" and text[reader.at + 1 : reader.at + 2] == "\n":
            reader.at += 2
        elif quote == '"' and char == "\\" and text[reader.at + 1 : reader.at + 2] in _ESCAPED_IN_QUOTES:
            out.append(text[reader.at + 1 : reader.at + 2])
            reader.at += 2
        elif char == "$" and (quote == '"' or text.startswith("$(", reader.at)):
            # Kubernetes replaces $(VAR) before any shell sees the text, between single quotes too.
            _reference(reader, out, missing)
        else:
            out.append(char)
            reader.at += 1
    reader.at += 1


def _reference(reader: _Reader, out: list[str], missing: list[str]) -> None:
    match = _REFERENCE.match(reader.text, reader.at)
    if match is not None:
        value, absent = expand(match[0], reader.env)
        out.append(value)
        missing.extend(absent)
        reader.at = match.end()
        return
    if reader.text.startswith("$(", reader.at):
        depth, end = 0, reader.at + 1
        for end in range(reader.at + 1, len(reader.text)):
            depth += {"(": 1, ")": -1}.get(reader.text[end], 0)
            if depth == 0:
                break
        missing.append(reader.text[reader.at : end + 1])
        out.append(reader.text[reader.at : end + 1])
        reader.at = end + 1
        return
    out.append("$")
    reader.at += 1
