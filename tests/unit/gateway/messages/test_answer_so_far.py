"""Tokens of a stream are counted by its events, joined ones too, and the end of an answer is kept
however it comes.
"""

from __future__ import annotations

import pytest
from tests.support.gateway_wire import chunk, event

from barostat.gateway.messages.answer_so_far import AnswerSoFar
from barostat.gateway.messages.usage import TAIL_BYTES, Usage, at_its_limit, usage_in


def piece(text: str, reason: str | None = None) -> bytes:
    return chunk(
        event(
            {
                "id": "x" * 30,
                "choices": [{"index": 0, "delta": {"content": text}, "finish_reason": reason}],
            }
        )
    )


def counted(*pieces: bytes) -> int:
    answer = AnswerSoFar()
    for one in pieces:
        answer.note(one, True)
    return answer.produced


def test_an_event_is_a_token() -> None:
    assert counted(*[piece(" word")] * 20) == 20
    assert counted(piece(" word") * 20) == 20


@pytest.mark.parametrize("joined", [5, 20, 100])
def test_joined_tokens_count_about_as_many(joined: int) -> None:
    produced = counted(*[piece(" word")] * 3, piece(" word" * joined))
    assert abs(produced - 3 - joined) <= 1 + joined // 20


def test_the_last_event_is_longer_for_other_reasons() -> None:
    assert counted(*[piece(" word")] * 3, piece(" word", "length, and much more besides")) == 4


def test_the_end_is_kept_in_any_pieces() -> None:
    data = bytes(range(256)) * 10
    for size in (1, 7, 500, 3000):
        answer = AnswerSoFar()
        for at in range(0, len(data), size):
            answer.note(data[at : at + size], False)
        assert data.endswith(answer.tail)
        assert len(answer.tail) == (
            TAIL_BYTES if size >= TAIL_BYTES else min(TAIL_BYTES, len(answer.recent))
        )
        assert answer.passed_bytes == len(data)
        assert answer.first == b""


def test_usage_is_found_where_every_event_is_a_read_of_its_own() -> None:
    answer = AnswerSoFar()
    usage = chunk(
        event(
            {
                "id": "x" * 30,
                "choices": [],
                "usage": {"prompt_tokens": 7, "total_tokens": 16, "completion_tokens": 9},
            }
        )
    )
    for one in (
        *[piece(" word")] * 8,
        piece(" word", "length"),
        usage,
        chunk(b"data: [DONE]\n\n"),
        b"0\r\n\r\n",
    ):
        answer.note(one, True)
    assert usage_in(answer.tail) == Usage(7, 9)
    assert at_its_limit(answer.tail)


def test_the_end_of_a_whole_answer_is_kept_in_any_pieces() -> None:
    data = bytes(range(256)) * 10
    for size in (1, 7, 500, 900, 3000):
        answer = AnswerSoFar()
        for at in range(0, len(data), size):
            answer.note(data[at : at + size], False)
        assert answer.tail == data[-TAIL_BYTES:]
