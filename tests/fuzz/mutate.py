"""Inputs made of inputs: by bytes, by lines, by the tree of a JSON or YAML document, by the members
of an archive.

Every choice comes from the generator that is given: the same seed makes the same inputs.
"""

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable, Sequence
from typing import Any

import yaml
from tests.fuzz.archives import changed_archive
from tests.fuzz.front import Shape
from tests.fuzz.tokens import HTTP, NUMBERS, SHELL, TEXTS, YAML

LONGEST_BYTES = 1 << 20
_USUAL_BYTES = 1 << 14
_HTTP_HEAD_END = b"\r\n\r\n"
_NUMBER = re.compile(rb"-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?")
_KEY_VALUE = re.compile(rb"(?m)^(\s*(?:- )?[\w./-]+:[ \t]+)([^\n]*)$")
Change = Callable[[bytes, random.Random, Sequence[bytes]], bytes]


def mutated(
    data: bytes,
    shape: Shape,
    dice: random.Random,
    others: Sequence[bytes],
    words: Sequence[str] = (),
) -> bytes:
    """A changed input. `others`: what pieces may be taken from. Never longer than
    `LONGEST_BYTES`.
    """
    for _ in range(dice.choice((1, 1, 1, 2, 2, 3, 5, 8))):
        if words and dice.random() < 0.12:
            data = _put_in(data, dice.choice(words).encode("utf-8", "surrogatepass"), dice)
        else:
            data = dice.choice(_CHANGES[shape])(data, dice, others)
        if len(data) > _USUAL_BYTES and dice.random() < 0.95:
            at = dice.randrange(len(data) - _USUAL_BYTES) if shape != "tar" else 0
            data = data[at : at + _USUAL_BYTES] if shape not in ("json", "tar") else data
        data = data[:LONGEST_BYTES]
    return data


def _span(data: bytes, dice: random.Random, most: int = 256) -> tuple[int, int]:
    begin = dice.randrange(len(data) + 1)
    return begin, min(len(data), begin + int(most ** dice.random()))


def _put_in(data: bytes, piece: bytes, dice: random.Random) -> bytes:
    begin, end = _span(data, dice)
    return data[:begin] + piece + data[end if dice.random() < 0.5 else begin :]


def _token(data: bytes, dice: random.Random, _: Sequence[bytes]) -> bytes:
    return _put_in(
        data, dice.choice(dice.choice((NUMBERS, TEXTS))).encode("utf-8", "surrogatepass"), dice
    )


def _random_bytes(data: bytes, dice: random.Random, _: Sequence[bytes]) -> bytes:
    return _put_in(data, dice.randbytes(dice.choice((1, 1, 2, 4, 16))), dice)


def _bit(data: bytes, dice: random.Random, _: Sequence[bytes]) -> bytes:
    if not data:
        return data
    at = dice.randrange(len(data))
    return data[:at] + bytes((data[at] ^ 1 << dice.randrange(8),)) + data[at + 1 :]


def _removed(data: bytes, dice: random.Random, _: Sequence[bytes]) -> bytes:
    begin, end = _span(data, dice, 4096)
    return data[:begin] + data[end:]


def _repeated(data: bytes, dice: random.Random, _: Sequence[bytes]) -> bytes:
    begin, end = _span(data, dice)
    times = dice.choice((2, 2, 2, 3, 3, 8, 8, 64, 64, 1000)) if dice.random() < 0.97 else 20_000
    return (
        data[:end] + data[begin:end] * min(times, LONGEST_BYTES // max(1, end - begin)) + data[end:]
    )


def _cut(data: bytes, dice: random.Random, _: Sequence[bytes]) -> bytes:
    return (
        data[: dice.randrange(len(data) + 1)]
        if dice.random() < 0.5
        else data[dice.randrange(len(data) + 1) :]
    )


def _spliced(data: bytes, dice: random.Random, others: Sequence[bytes]) -> bytes:
    other = dice.choice(others)
    begin, end = _span(other, dice, 4096)
    return _put_in(data, other[begin:end], dice)


def _other_number(data: bytes, dice: random.Random, _: Sequence[bytes]) -> bytes:
    found = list(_NUMBER.finditer(data, *_window(data, dice)))
    if not found:
        return data
    one = dice.choice(found)
    return data[: one.start()] + dice.choice(NUMBERS).encode() + data[one.end() :]


def _window(data: bytes, dice: random.Random) -> tuple[int, int]:
    """A stretch of a long input: searching all of it for each change would be most of the work."""
    begin = dice.randrange(max(1, len(data) - 2048))
    return begin, begin + 4096


def _by_lines(data: bytes, dice: random.Random, others: Sequence[bytes]) -> bytes:
    lines = data.splitlines(keepends=True) or [b""]
    at = dice.randrange(len(lines))
    match dice.randrange(7):
        case 0:
            del lines[at : at + dice.choice((1, 1, 3, 20))]
        case 1:
            lines[at:at] = [lines[at]] * dice.choice((1, 2, 10, 500))
        case 2:
            other = dice.choice(others).splitlines(keepends=True) or [b""]
            begin = dice.randrange(len(other))
            lines[at:at] = other[begin : begin + dice.choice((1, 1, 3, 20))]
        case 3:
            other_at = dice.randrange(len(lines))
            lines[at], lines[other_at] = lines[other_at], lines[at]
        case 4:
            lines[at] = lines[at].rstrip(b"\r\n")
        case 5:
            lines[at] = (
                b" " * dice.choice((1, 2, 4, 8)) + lines[at]
                if dice.random() < 0.5
                else lines[at].lstrip()
            )
        case _:
            lines[at] = _token(lines[at], dice, others)
    return b"".join(lines)


def _by_value(data: bytes, dice: random.Random, _: Sequence[bytes]) -> bytes:
    """The value of one `key: value` line is another."""
    found = list(_KEY_VALUE.finditer(data))
    if not found:
        return data
    one = dice.choice(found)
    value = dice.choice(
        (*NUMBERS, *TEXTS, *YAML, "{}", "[]", "[[]]", "{a: 1}", "''", "[1, x]")
    ).encode("utf-8", "surrogatepass")
    return data[: one.start(2)] + value + data[one.end(2) :]


def _grammar(words: Sequence[str]) -> Change:
    def change(data: bytes, dice: random.Random, _: Sequence[bytes]) -> bytes:
        return _put_in(data, dice.choice(words).encode(), dice)

    return change


def _strange(dice: random.Random) -> Any:
    match dice.randrange(8):
        case 0 | 1:
            return dice.choice(TEXTS)
        case 2:
            return dice.choice(
                (None, True, False, {}, [], [[]], {"": ""}, [None], {"a": {"b": []}})
            )
        case 3:
            return dice.choice(NUMBERS)
        case 4:
            nested: Any = 0
            for _ in range(dice.choice((3, 50, 120, 990))):
                nested = [nested] if dice.random() < 0.5 else {"a": nested}
            return nested
        case 5:
            return [dice.choice(TEXTS)] * dice.choice((1, 100, 5000))
        case _:
            return dice.choice(
                (
                    0,
                    -1,
                    1,
                    2**31,
                    2**53,
                    2**63,
                    2**64,
                    -(2**63),
                    10**30,
                    1e308,
                    -1e308,
                    1e-320,
                    float("inf"),
                    float("nan"),
                    0.5,
                )
            )


def changed_tree(tree: Any, dice: random.Random, others: Sequence[Any] = ()) -> Any:
    """The document with one place of it changed: another value, a key more or less, a piece of
    another document, a list far longer.
    """
    places: list[tuple[Any, Any]] = []
    pending = [tree]
    while pending and len(places) < 4000:
        found = pending.pop()
        for key, value in (
            found.items()
            if isinstance(found, dict)
            else enumerate(found)
            if isinstance(found, list)
            else ()
        ):
            places.append((found, key))
            pending.append(value)
    if not places:
        return _strange(dice)
    holder, key = dice.choice(places)
    match dice.randrange(9):
        case 0:
            del holder[key]
        case 1 if isinstance(holder, dict):
            holder[dice.choice((*TEXTS, *NUMBERS))] = holder.pop(key)
        case 1 | 2 if isinstance(holder, list):
            most = LONGEST_BYTES // len(json.dumps(holder[key], default=str)) + 1
            holder += [holder[key]] * min(most, dice.choice((1, 10, 1000)))
        case 2 | 3 if others:
            other = dice.choice(others)
            held = [
                other,
                *(
                    other.values()
                    if isinstance(other, dict)
                    else other
                    if isinstance(other, list)
                    else ()
                ),
            ]
            holder[key] = json.loads(json.dumps(dice.choice(held), default=str))
        case 4:
            holder[key] = [holder[key]]
        case 5:
            holder[key] = {"a": holder[key]} if dice.random() < 0.5 else str(holder[key])
        case 6 if isinstance(holder[key], str):
            holder[key] = _token(holder[key].encode("utf-8", "surrogatepass"), dice, ()).decode(
                "utf-8", "replace"
            )
        case _:
            holder[key] = _strange(dice)
    return tree


def _by_tree(data: bytes, dice: random.Random, others: Sequence[bytes]) -> bytes:
    """A JSON document, or a line of JSON lines, changed in its tree; other text in its lines."""
    try:
        return json.dumps(changed_tree(json.loads(data), dice, _decoded(others, dice))).encode(
            "utf-8", "surrogatepass"
        )
    except (ValueError, RecursionError):
        lines = data.splitlines() or [b""]
    at = dice.randrange(len(lines))
    try:
        lines[at] = json.dumps(changed_tree(json.loads(lines[at]), dice)).encode(
            "utf-8", "surrogatepass"
        )
    except (ValueError, RecursionError):
        return _by_lines(data, dice, others)
    return b"\n".join(lines)


def _decoded(others: Sequence[bytes], dice: random.Random) -> list[Any]:
    try:
        return [json.loads(dice.choice(others))]
    except (ValueError, RecursionError):
        return []


def _by_yaml_tree(data: bytes, dice: random.Random, others: Sequence[bytes]) -> bytes:
    if len(data) > 16_384:
        return _by_value(data, dice, others)
    try:
        documents = list(yaml.load_all(data, yaml.CSafeLoader))
        at = dice.randrange(len(documents))
        documents[at] = changed_tree(documents[at], dice)
        return yaml.dump_all(
            documents, Dumper=yaml.CSafeDumper, sort_keys=False, allow_unicode=dice.random() < 0.5
        ).encode("utf-8", "surrogatepass")
    except (
        yaml.YAMLError,
        ValueError,
        TypeError,
        LookupError,
        AttributeError,
        RecursionError,
    ):  # its constructors raise what they like
        return _by_value(data, dice, others)


def _by_body(data: bytes, dice: random.Random, others: Sequence[bytes]) -> bytes:
    """The body of a request changed in its tree, with a length that fits."""
    head, end, body = data.partition(_HTTP_HEAD_END)
    if not body.lstrip().startswith(b"{"):
        return _by_lines(data, dice, others)
    body = _by_tree(body, dice, [other.partition(_HTTP_HEAD_END)[2] for other in others[:8]])
    return (
        re.sub(rb"(?i)content-length: *\d+", b"Content-Length: %d" % len(body), head) + end + body
    )


def _by_member(data: bytes, dice: random.Random, others: Sequence[bytes]) -> bytes:
    return changed_archive(
        data,
        dice,
        lambda name, content: mutated(
            content, _shape_of(name), dice, (content, dice.choice(others)[:4096])
        ),
    )


def _shape_of(name: str) -> Shape:
    return "json" if name.endswith(".json") else "yaml" if name.endswith(".yaml") else "lines"


_BYTES: tuple[Change, ...] = (
    _token,
    _random_bytes,
    _bit,
    _removed,
    _repeated,
    _cut,
    _spliced,
    _other_number,
)
_CHANGES: dict[Shape, tuple[Change, ...]] = {
    "bytes": _BYTES,
    "lines": (*_BYTES, _by_lines, _by_lines, _by_lines, _other_number),
    "json": (*_BYTES[:4], _other_number, *(_by_tree,) * 12),
    "yaml": (
        *_BYTES,
        _by_lines,
        _by_lines,
        _by_value,
        _by_value,
        _by_value,
        _by_yaml_tree,
        _by_yaml_tree,
        _by_yaml_tree,
        _grammar(YAML),
    ),
    "tar": (_token, _cut, *(_by_member,) * 30),
    "http": (*_BYTES, _by_lines, _grammar(HTTP), _grammar(HTTP), *(_by_body,) * 6),
    "shell": (*_BYTES, _by_lines, *(_grammar(SHELL),) * 6),
}
