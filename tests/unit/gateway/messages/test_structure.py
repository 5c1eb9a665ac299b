"""What of a body is read, and that nothing of one holds the gateway's loop: CPU time, the least of
three.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from typing import TypeVar

import pytest
from tests.support.machine_pace import slower

from barostat.gateway.messages.output_cap import capped
from barostat.gateway.messages.shape import Malformed, shape_of
from barostat.gateway.messages.structure import COMMAS, ESCAPES, TEXTS_AND_BRACKETS, too_much_of
from barostat.gateway.messages.tokenize_question import questions_of

T = TypeVar("T")
MOST_S = 0.05
LARGEST = 4 << 20
"""What is larger and read is one text, or media: 32 MiB of it, the most that is taken, are walked
at 3 to 13 ns a byte.
"""
PIECES = [
    b"[],", b"{},", b'{"a":1},', b"[[[[[[]]]]]],", b"[1," * 900 + b"1" + b"]" * 900 + b",", b"1,", b'"x",', b'"\\u00e9",',
    b'{"role":"user","content":[]},', b" ", b"1",
]  # fmt: skip
IN_TEXT = [b"x", b"\\u00e9", b'\\"', b"[,{:", b"\\\\"]


def body(piece: bytes, size: int, *, quoted: bool) -> bytes:
    inner = piece * (size // len(piece))
    return (
        b'{"messages":['
        + (b'"' + inner + b'",1' if quoted else inner + b"1")
        + b'],"max_tokens":900}'
    )


def allowed(piece: bytes, *, quoted: bool) -> bytes:
    """The longest body of that piece that is read."""
    low, high = 1, LARGEST // len(piece)
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (
            (low, middle - 1)
            if too_much_of(body(piece, middle * len(piece), quoted=quoted))
            else (middle, high)
        )
    return body(piece, low * len(piece), quoted=quoted)


@pytest.mark.sweep
@pytest.mark.parametrize(
    ("piece", "quoted"), [*((one, False) for one in PIECES), *((one, True) for one in IN_TEXT)]
)
def test_nothing_that_is_done_with_a_body_holds_the_loop(piece: bytes, quoted: bool) -> None:
    for given in (
        allowed(piece, quoted=quoted),
        body(piece, 400_000, quoted=quoted),
        body(piece, LARGEST, quoted=quoted),
    ):
        _held(given)


def _held(given: bytes) -> None:
    shape = in_time(lambda: shape_of("chat", given), f"{len(given):,} bytes read")
    if isinstance(shape, Malformed):
        return
    in_time(lambda: capped("chat", given, 7), f"{len(given):,} bytes capped")
    in_time(lambda: questions_of(shape, given), f"{len(given):,} bytes asked about")


def in_time(work: Callable[[], T], told: str) -> T:
    """What it comes to, where the least of its times is short enough on this machine."""
    found_s = []
    for _ in range(3):
        began = time.process_time()
        result = work()
        found_s.append(time.process_time() - began)
        if found_s[-1] <= MOST_S:
            return result
    assert min(found_s) <= MOST_S * slower(), told
    return result


def test_structure_is_bounded_and_told() -> None:
    found = shape_of("chat", b'{"messages":[' + b"[]," * TEXTS_AND_BRACKETS + b"1]}")
    assert found == Malformed("The request body has more than 65,536 lists, objects and texts.")
    assert too_much_of(b'{"a":[' + b"1," * COMMAS + b"1,1]}") == "1,000,000 commas"
    assert too_much_of(b'{"a":"' + b"\\n" * (ESCAPES + 1) + b'"}') == "1,000,000 backslashes"


def test_what_is_text_is_no_structure() -> None:
    text = json.dumps({"messages": [{"role": "user", "content": '[{"x": 1}, ' * 400_000}]}).encode()
    assert not isinstance(shape_of("chat", text), Malformed)


def test_much_that_is_usual_is_read() -> None:
    messages = [{"role": "user", "content": "what, [really]?"}] * 5_000
    assert not isinstance(
        shape_of("chat", json.dumps({"messages": messages, "model": "m"}).encode()), Malformed
    )
    assert not isinstance(
        shape_of(
            "completions", json.dumps({"prompt": [50_000] * 1_000_000, "model": "m"}).encode()
        ),
        Malformed,
    )
