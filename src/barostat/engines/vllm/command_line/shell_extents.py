"""Finds the end of shell constructs: quotes, substitutions, parameters in braces, here-documents.

Source: POSIX.1-2024, Shell Command Language (quoting, word expansions, here-document); Bash 5.2
manual (process substitution).
"""

from __future__ import annotations

import re

_PARAMETER = re.compile(r"\$(?:\w+|[@*#?$!-])")
_DEEPEST = 50
_CASE = re.compile(r"\bcase\s.*\sin\s", re.DOTALL)


def end_of_double(text: str, start: int, depth: int = 0) -> int:
    """Return the index after the double quote that closes the one before `start`; -1 if there is
    none.
    """
    at = start + 1
    while 0 <= at < len(text):
        char = text[at]
        if char == '"':
            return at + 1
        if char == "\\":
            at += 2
        elif char == "`" or text.startswith(("$(", "${"), at):
            at = end_of_expansion(text, at, depth + 1)
        else:
            at += 1
    return -1


def end_of_expansion(text: str, start: int, depth: int = 0) -> int:
    """The place behind the substitution or parameter at `start` (`$(..)`, `$((..))`, `${..}`,
    backticks, `<(..)`); -1 where it has no end.

    A `case` inside is not followed, as its patterns end with a bracket that opens nowhere: -1 as
    well.
    """
    if depth > _DEEPEST:
        return -1
    if text[start] == "`":
        at = start + 1
        while at < len(text) and text[at] != "`":
            at += 2 if text[at] == "\\" else 1
        return at + 1 if at < len(text) else -1
    opening = text[start + 1]
    end = _end_of_brackets(text, start + 2, "}" if opening == "{" else ")", depth)
    return -1 if end > 0 and opening == "(" and _CASE.search(text, start, end) else end


def _end_of_brackets(text: str, start: int, closing: str, depth: int) -> int:
    at, inner = start, 0
    while 0 <= at < len(text):
        char = text[at]
        if char == closing and not inner:
            return at + 1
        if char == "\\":
            at += 2
            continue
        if char == "'":
            at = text.find("'", at + 1) + 1 or -1
            continue
        if char == '"':
            at = end_of_double(text, at, depth + 1)
            continue
        if char == "`" or text.startswith(("$(", "${"), at):
            at = end_of_expansion(text, at, depth + 1)
            continue
        if closing == ")" and char == "#" and text[at - 1] in " \t\n;":
            at = text.find("\n", at)
            continue
        if closing == ")":
            inner += {"(": 1, ")": -1}.get(char, 0)
        at += 1
    return -1


def end_of_here_document(text: str, start: int, marker: str, *, tabs: bool) -> int:
    """Return the index after the line that ends the here-document whose first line begins at
    `start`; -1 if there is none.
    """
    at = start
    while at < len(text):
        stop = text.find("\n", at)
        line = text[at : stop if stop >= 0 else len(text)]
        at = stop + 1 if stop >= 0 else len(text)
        if (line.lstrip("\t") if tabs else line) == marker:
            return at
    return -1


def references(raw: str) -> list[tuple[str, bool]]:
    """Return the expansions in a raw word, each with whether it is in double quotes."""
    found: list[tuple[str, bool]] = []
    at, quoted = 0, False
    while at < len(raw):
        char = raw[at]
        end = at + 1
        if char == "\\":
            end = at + 2
        elif char == '"':
            quoted = not quoted
        elif char == "'" and not quoted:
            end = raw.find("'", at + 1) + 1 or len(raw)
        elif (
            char == "`"
            or raw.startswith(("$(", "${"), at)
            or (raw.startswith(("<(", ">("), at) and not quoted)
        ):
            end = end_of_expansion(raw, at)
            end = end if end > 0 else len(raw)
            found.append((raw[at:end], quoted))
        elif (parameter := _PARAMETER.match(raw, at)) is not None:
            end = parameter.end()
            found.append((parameter[0], quoted))
        at = end
    return found
