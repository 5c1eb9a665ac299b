"""A stream is measured whatever way its bytes are cut; how it ended is told without what was
said.
"""

from __future__ import annotations

import pytest

from barostat.judge.load_test.figures import Gaps, Sent
from barostat.load.stream import Stream

EVENT = b'data: {"id":"c","choices":[{"index":0,"text":" %b","finish_reason":null}]}\n\n'
USAGE = b'data: {"id":"c","choices":[],"usage":{"prompt_tokens":101,"completion_tokens":7}}\n\n'
DONE = b"data: [DONE]\n\n"
WHOLE = EVENT % b"one" + EVENT % b'\\"error\\":' + EVENT % b"three" + USAGE + DONE


def stream() -> tuple[Stream, Sent, Gaps, list[Stream]]:
    record, gaps, ended = Sent(0.0, 0.0, 100, 7), Gaps(), list[Stream]()
    return Stream(b"", record, gaps, 50.0, ended.append), record, gaps, ended


@pytest.mark.parametrize("size", [1, 2, 3, 7, 31, 80, 1000])
def test_events_are_counted_however_they_are_cut(size: int) -> None:
    one, record, gaps, ended = stream()
    one.answered(200, 50.5)
    for at in range(0, len(WHOLE), size):
        one.body(WHOLE[at : at + size], 51.0 + at / 1000)
    one.complete(52.0)
    assert (record.fate, record.reason) == ("ok", "")
    assert (record.events, record.produced, record.counted_input) == (3, 7, 101)
    assert gaps.spread().count == 2
    assert record.ended_s == 2.0
    assert len(ended) == 1


def test_the_first_token_and_the_gaps_are_timed() -> None:
    one, record, gaps, _ = stream()
    one.answered(200, 50.1)
    for place, at in enumerate((50.3, 50.4, 50.6)):
        one.body(EVENT % (b"%d" % place), at)
    one.body(USAGE + DONE, 50.7)
    assert record.first_s == pytest.approx(0.3)
    assert record.last_s == pytest.approx(0.6)
    assert gaps.spread().highest == pytest.approx(0.2, rel=0.01)


def test_lines_that_end_as_windows_ends_them() -> None:
    one, record, _, _ = stream()
    one.answered(200, 50.1)
    for event in (EVENT % b"a", USAGE, DONE):
        one.body(event.replace(b"\n", b"\r\n"), 50.2)
    one.complete(51)
    assert (record.fate, record.events, record.produced) == ("ok", 1, 7)


@pytest.mark.parametrize(
    ("status", "body", "fate", "reason"),
    [
        (429, b'{"error":{"message":"secret words","type":"rate_limit_error","code":"queue-full"}}', "refused", "429 queue-full"),
        (400, b'{"error":{"message":"secret words","type":"BadRequestError","code":400}}', "refused", "400 BadRequestError"),
        (503, b"no json", "refused", "503"),
        (500, b'{"error":{"message":"x","type":"a secret: with words"}}', "error", "500"),
        (200, b"", "error", "response without a token"),
        (200, EVENT % b"x", "error", "stream ended without [DONE]"),
        (200, EVENT % b"x" + b'data: {"error":{"message":"secret","type":"InternalServerError"}}\n\n' + DONE, "error",
         "error in the stream: InternalServerError"),
    ],
)  # fmt: skip
def test_how_it_ended_in_the_servers_names_and_never_its_words(
    status: int, body: bytes, fate: str, reason: str
) -> None:
    one, record, _, _ = stream()
    one.answered(status, 50.1)
    one.body(body, 50.2)
    one.complete(50.3)
    assert (record.fate, record.reason) == (fate, reason)


def test_it_ends_once() -> None:
    one, record, _, ended = stream()
    one.failed("connection refused", 51.0)
    one.failed("again", 52.0)
    assert len(ended) == 1
    assert record.fate == "error"
