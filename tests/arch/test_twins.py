"""No two places of the source share more than fifteen lines, literally or in shape: what stands
twice is mended once.

A line counts as it is formatted, without comments, docstrings, imports and blank lines. By shape,
names, strings and numbers do not count: only what is done with them. A declaration (a field with
its type, an entry of a table, an argument of a long call) has the shape of every other, and is no
logic: by shape only lines that do something are compared, and a run of few kinds of line is a
table.
"""

from __future__ import annotations

import ast
import io
import keyword
import tokenize
from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SOURCES = sorted((ROOT / "src").rglob("*.py"))
MOST_LINES = 15

Line = tuple[int, str]
_SKIPPED = {
    tokenize.COMMENT,
    tokenize.NEWLINE,
    tokenize.NL,
    tokenize.INDENT,
    tokenize.DEDENT,
    tokenize.ENDMARKER,
    tokenize.ENCODING,
}
_NOTHING_DONE = {
    "NAME",
    "STRING",
    "NUMBER",
    "(",
    ")",
    "[",
    "]",
    "{",
    "}",
    ",",
    ":",
    "=",
    ".",
    "|",
    "None",
    "True",
    "False",
    "@",
}
_KINDS_OF_LINE = 6


def lines_of(text: str, *, shape: bool) -> list[Line]:
    """The lines that count, normalised, each with its number."""
    found: dict[int, list[str]] = defaultdict(list)
    for token in _tokens(text):
        found[token.start[0]].append(_folded(token) if shape else token.string)
    lines = [(number, " ".join(words)) for number, words in sorted(found.items())]
    return [(number, line) for number, line in lines if _does_something(line)] if shape else lines


@cache
def _tokens(text: str) -> list[tokenize.TokenInfo]:
    """What counts of a file."""
    passive = _passive(text)
    tokens = tokenize.generate_tokens(io.StringIO(text).readline)
    return [
        token for token in tokens if token.type not in _SKIPPED and token.start[0] not in passive
    ]


def _folded(token: tokenize.TokenInfo) -> str:
    if token.type == tokenize.NAME:
        return token.string if keyword.iskeyword(token.string) else "NAME"
    return {tokenize.STRING: "STRING", tokenize.NUMBER: "NUMBER"}.get(token.type, token.string)


def _does_something(line: str) -> bool:
    """False for what every table and every declaration is made of: nothing but names, constants and
    what stands between them.
    """
    return not set(line.split()) <= _NOTHING_DONE


def _passive(text: str) -> set[int]:
    """Lines of docstrings and imports."""
    found: set[int] = set()
    for node in ast.walk(ast.parse(text)):
        text_alone = (
            isinstance(node, ast.Expr)
            and isinstance(node.value, ast.Constant)
            and isinstance(node.value.value, str)
        )
        if text_alone or isinstance(node, ast.Import | ast.ImportFrom):
            assert isinstance(node, ast.stmt)
            found |= set(range(node.lineno, (node.end_lineno or node.lineno) + 1))
    return found


def twins(files: dict[str, str], *, shape: bool, most: int = MOST_LINES) -> Iterator[str]:
    """Pairs of places that share more than `most` lines in a row, each told once."""
    lines = {name: lines_of(text, shape=shape) for name, text in files.items()}
    seen: dict[tuple[str, ...], list[tuple[str, int]]] = defaultdict(list)
    for name, rows in lines.items():
        for start in range(len(rows) - most):
            run = tuple(line for _, line in rows[start : start + most + 1])
            if not shape or len(set(run)) >= _KINDS_OF_LINE:
                seen[run].append((name, start))
    told: set[tuple[str, str, int]] = set()
    for places in seen.values():
        for i, (one, at) in enumerate(places):
            for other, there in places[i + 1 :]:
                apart = there - at
                if (
                    one == other and apart <= most
                ):  # a run of alike lines overlaps itself: no second place
                    continue
                if (one, other, apart) not in told:
                    told.add((one, other, apart))
                    yield f"{one}:{lines[one][at][0]} and {other}:{lines[other][there][0]}"


def _sources() -> dict[str, str]:
    return {str(path.relative_to(ROOT)): path.read_text(encoding="utf-8") for path in SOURCES}


@pytest.mark.sweep
def test_no_two_places_are_the_same() -> None:
    files = _sources()
    assert len(files) > 400
    found = list(twins(files, shape=False))
    assert not found, "\n".join(found)


@pytest.mark.sweep
def test_no_two_places_have_the_same_shape() -> None:
    found = list(twins(_sources(), shape=True))
    assert not found, "\n".join(found)


_BODY = """
    found = []
    for item in items:
        if item > least and item not in found:
            found.append(item * 2)
        elif item < -least:
            raise ValueError("x" + str(item))
    while found and found[-1] > most:
        last = found.pop() + 1
        total -= last
    with opened(path) as file:
        for line in file:
            total += len(line) ** 2
    if total > limit:
        total = limit - last
    for rest in sorted(found):
        print(rest)
    assert total >= 0
    return [total, *found] if found else None
"""


def test_a_twin_is_found_and_its_shape_is() -> None:
    one = f'"""One."""\nimport os\n\n\ndef one() -> None:{_BODY}'
    other = f"x = 1\n\n\ndef other(total: int) -> None:\n    # said otherwise\n{_BODY}"
    assert list(twins({"one.py": one, "other.py": other}, shape=False)) == [
        "one.py:6 and other.py:7"
    ]
    renamed = other.replace("found", "kept").replace("2", "3").replace('"x"', '"another"')
    assert not list(twins({"one.py": one, "other.py": renamed}, shape=False))
    assert list(twins({"one.py": one, "other.py": renamed}, shape=True)) == [
        "one.py:7 and other.py:8"
    ]


def test_tables_and_declarations_are_no_twins() -> None:
    table = "".join(f"    field_{i}: int | None = {i}\n" for i in range(30))
    assert not list(
        twins(
            {
                "one.py": f"class One:\n{table}",
                "other.py": f"class Two:\n{table.replace('field', 'item')}",
            },
            shape=True,
        )
    )
    rules = "".join(f"    '{i}': lambda a: a + {i},\n" for i in range(30))
    assert not list(
        twins({"one.py": f"X = {{\n{rules}}}\n", "other.py": f"Y = {{\n{rules}}}\n"}, shape=True)
    )
