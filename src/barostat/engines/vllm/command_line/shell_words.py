"""A shell text taken apart into words, each with its place in the text, so that one word can be
changed and the rest kept byte for byte.

Only what command lines of containers use: quotes, backslashes, line continuations, comments,
operators, redirections, here-documents, `$VAR`, `${VAR}`, `${VAR:-default}` and Kubernetes'
`$(VAR)`. What a substitution would print is not known: it is passed over whole.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from barostat.engines.vllm.command_line.shell_extents import (
    end_of_double,
    end_of_expansion,
    end_of_here_document,
)

_REFERENCE = re.compile(
    r"\$(?:\((?P<kube>[A-Za-z_][\w.-]*)\)|\{(?P<brace>[A-Za-z_]\w*)(?P<default>:?-[^}]{0,1024})?\}|(?P<bare>[A-Za-z_]\w*))"
)
_OPERATORS = ("&&", "||", ";;", ";", "|", "&", "\n", "(", ")")
_REDIRECTION = re.compile(r"\d*(?:>>|>&|>\||<<<|<&|<>|&>>|&>|>|<)(?:&?\d+|-)?")
_HERE = re.compile(r"\d*(<<-?)(?!<)")
_ESCAPED_IN_QUOTES = '$`"\\'
LONGEST = 131_072
"""Characters of a shell text that are read: what Linux takes as one argument (MAX_ARG_STRLEN)."""
MOST_WORDS = 20_000
MOST_SCRIPT_WORDS = 100_000
MOST_PROBLEMS = 20
"""Stop after this many unclosed constructs (fewer in a longer text): each search for an end scans
the rest of the text.
"""


@dataclass(frozen=True, slots=True)
class Word:
    """One word. `text` is what the program receives; `start` and `end` its position in the text of
    element number `element`.

    `shell`: part of a shell text, so a new value must be quoted. `operator`: ends a command.
    `missing`: undefined variables that it refers to. `raw`: as written in a shell text.
    """

    text: str
    start: int
    end: int
    element: int = 0
    shell: bool = True
    operator: bool = False
    missing: tuple[str, ...] = ()
    raw: str = ""


@dataclass(frozen=True, slots=True)
class ShellText:
    """A shell text as read. `hidden`: here-documents and substitutions, which are no words.
    `doubts`: what shells read differently. `here_documents`: start and end of the body of each.
    """

    words: tuple[Word, ...]
    problems: tuple[str, ...]
    hidden: tuple[str, ...]
    doubts: tuple[str, ...]
    here_documents: tuple[tuple[int, int], ...] = ()


@dataclass(slots=True)
class _Reader:
    """State of one pass over the text."""

    text: str
    env: Mapping[str, str]
    at: int = 0
    words: list[Word] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    hidden: list[str] = field(default_factory=list)
    doubts: list[str] = field(default_factory=list)
    here: list[tuple[str, bool]] = field(default_factory=list)
    bodies: list[tuple[int, int]] = field(default_factory=list)

    def lost(self) -> bool:
        """True if there are too many errors to continue."""
        return len(self.problems) >= MOST_PROBLEMS * LONGEST // max(LONGEST, len(self.text))

    def unclosed(self, quote: str) -> bool:
        """True, with a problem noted, if the quote at `at` has no partner: it then reads as a
        letter, so that the rest is not lost.
        """
        close = (
            end_of_double(self.text, self.at)
            if quote == '"'
            else self.text.find(quote, self.at + 1)
        )
        if close >= 0:
            return False
        self.problems.append(f"a {quote} at character {self.at + 1} of the command is never closed")
        return True


def expand(text: str, env: Mapping[str, str]) -> tuple[str, tuple[str, ...]]:
    """Replace every reference found in `env`; return the text and the names of the others, which
    are kept.
    """
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


def split_words(
    text: str, env: Mapping[str, str], element: int = 0, *, whole_script: bool = False
) -> tuple[list[Word], list[str]]:
    """Split a shell text into words and operators, with its problems. Never raises.

    `whole_script`: a file, which may be longer than one argument; its reader has its own bound.
    """
    found = read_shell(text, env, element, whole_script=whole_script)
    return list(found.words), list(found.problems)


def read_shell(
    text: str, env: Mapping[str, str], element: int = 0, *, whole_script: bool = False
) -> ShellText:
    """Return the words and the text between them. Never raises."""
    reader = _Reader(text if whole_script else text[:LONGEST], env)
    if len(text) > len(reader.text):
        reader.problems.append(
            f"the command is longer than {LONGEST:,} characters, which Linux starts for "
            "nobody; the rest was not read"
        )
    text = reader.text
    skip_next: str | None = None
    most_words = MOST_SCRIPT_WORDS if whole_script else MOST_WORDS
    while reader.at < len(text) and not reader.lost():
        if len(reader.words) >= most_words:
            reader.problems.append(
                f"the command has more than {most_words:,} words; the rest was not read"
            )
            break
        char = text[reader.at]
        if char in " \t\r" or text.startswith(("\\\n", "\\\r\n"), reader.at):
            reader.at += 1 if char != "\\" else 2
            continue
        if char == "#":
            end = text.find("\n", reader.at)
            reader.at = len(text) if end < 0 else end
            continue
        if (here := _HERE.match(text, reader.at)) is not None:
            reader.at, skip_next = here.end(), here[1]
            continue
        if (
            not text.startswith(("<(", ">("), reader.at)
            and (redirection := _REDIRECTION.match(text, reader.at)) is not None
        ):
            reader.at = redirection.end()
            skip_next = None if redirection[0][-1].isdigit() or redirection[0][-1] == "-" else ""
            if re.match(r"\d\d", redirection[0]):
                reader.doubts.append(
                    f"{redirection[0]!r} is a number and a redirection for one shell, and "
                    "a redirection alone for another"
                )
            continue
        operator = next((found for found in _OPERATORS if text.startswith(found, reader.at)), None)
        if operator is not None:
            reader.words.append(Word(operator, reader.at, reader.at + len(operator), operator=True))
            reader.at += len(operator)
            skip_next = None
            if operator == "\n" and reader.here:
                _here_documents(reader)
            continue
        word = _word(reader)
        if skip_next is None:
            reader.words.append(word)
        elif skip_next:
            reader.here.append((word.text, skip_next == "<<-"))
        skip_next = None
    if reader.here:
        reader.problems.append("a here-document is never closed")
    return ShellText(
        tuple(
            replace(word, element=element, raw=text[word.start : word.end]) for word in reader.words
        ),
        tuple(reader.problems),
        tuple(reader.hidden),
        tuple(reader.doubts),
        tuple(reader.bodies),
    )


def _here_documents(reader: _Reader) -> None:
    """Skip the here-documents announced on the line that just ended."""
    for marker, tabs in reader.here:
        end = end_of_here_document(reader.text, reader.at, marker, tabs=tabs)
        if end < 0:
            reader.problems.append(f"a here-document is never closed: no line is {marker[:40]}")
            break
        reader.hidden.append(reader.text[reader.at : end])
        reader.bodies.append((reader.at, reader.text.rfind("\n", 0, end - 1) + 1))
        reader.at = end
    reader.here.clear()


def _word(reader: _Reader) -> Word:
    """Read the word at the current position."""
    text, start = reader.text, reader.at
    out: list[str] = []
    missing: list[str] = []
    split_at: tuple[str, ...] = (" ", "\t", "\r", "\n", ";", "|", "&", "<", ">", "(", ")")
    if text.startswith(("<(", ">("), start):
        _unknown(reader, out, missing)
    while reader.at < len(text) and not text.startswith(split_at, reader.at) and not reader.lost():
        char = text[reader.at]
        if char == "$":
            if text.startswith(("$'", '$"'), reader.at):
                reader.doubts.append(
                    "it has a string in $'..' or $\"..\" "
                    f"({text[reader.at : reader.at + 20]!r}), which shells read differently"
                )
            _reference(reader, out, missing)
        elif char == "`":
            _unknown(reader, out, missing)
        elif char == "\\":
            if reader.at + 1 == len(text):
                reader.problems.append("it ends in a backslash, which would hold for what is added")
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
    while reader.at < len(text) and text[reader.at] != quote and not reader.lost():
        char = text[reader.at]
        if quote == '"' and char == "\\" and text[reader.at + 1 : reader.at + 2] == "\n":
            reader.at += 2
        elif (
            quote == '"'
            and char == "\\"
            and text[reader.at + 1 : reader.at + 2] in _ESCAPED_IN_QUOTES
        ):
            out.append(text[reader.at + 1 : reader.at + 2])
            reader.at += 2
        elif char == "$" and (quote == '"' or text.startswith("$(", reader.at)):
            # Kubernetes replaces $(VAR) before any shell sees the text, between single quotes too.
            _reference(reader, out, missing)
        elif quote == '"' and char == "`":
            _unknown(reader, out, missing)
        else:
            out.append(char)
            reader.at += 1
    reader.at += 1


def _reference(reader: _Reader, out: list[str], missing: list[str]) -> None:
    match = _REFERENCE.match(reader.text, reader.at)
    if match is not None and not (match["default"] and re.search(r"[$`'\"\\\s]", match["default"])):
        value, absent = expand(match[0], reader.env)
        out.append(value)
        missing.extend(absent)
        reader.at = match.end()
        return
    if reader.text.startswith(("$(", "${"), reader.at):
        _unknown(reader, out, missing)
        return
    out.append("$")
    reader.at += 1


def _unknown(reader: _Reader, out: list[str], missing: list[str]) -> None:
    """Read a substitution as one piece of the word."""
    end = end_of_expansion(reader.text, reader.at)
    if end < 0:
        reader.problems.append(
            f"what begins at character {reader.at + 1} of the command "
            f"({reader.text[reader.at : reader.at + 20]!r}) is not followed"
        )
        end = reader.at + 1
    piece = reader.text[reader.at : end]
    out.append(piece)
    missing.append(piece)
    reader.hidden.append(piece)
    reader.at = end
