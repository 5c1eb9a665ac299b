"""A stream that the gateway ends looks to the client's library like an answer that has reached its
length.
"""

from __future__ import annotations

import json
from typing import Any

from barostat.gateway.messages.stream_end import final_events
from barostat.gateway.messages.usage import NOT_SAID, Usage, at_its_limit, levels_behind, usage_in

RESPONSE = b'{"id":"r","status":"in_progress"}'


def lines(data: bytes) -> list[Any]:
    return [
        json.loads(line[6:]) for line in data.decode().splitlines() if line.startswith("data: {")
    ]


def test_chat_with_two_answers() -> None:
    first = b'HTTP/1.1 200 OK\r\n\r\n1f\r\ndata: {"id":"a","object":"chat.completion.chunk","created":3,"model":"m","choices":[]}\n\n\r\n'
    made = final_events("chat", first, first, 2, 10)
    assert [one["choices"][0]["index"] for one in lines(made)] == [0, 1]
    assert all(
        one["id"] == "a" and one["choices"][0]["finish_reason"] == "length" for one in lines(made)
    )
    assert made.endswith(b"data: [DONE]\n\n")


def test_messages_close_the_block_that_is_open() -> None:
    first = b'event: message_start\ndata: {"type":"message_start","message":{"id":"x"}}\n\n'
    open_block = b'event: content_block_delta\ndata: {"type":"content_block_delta","index":1,"delta":{"type":"text_delta","text":"a"}}\n\n'
    closed = b'event: content_block_stop\ndata: {"type":"content_block_stop","index":1}\n\n'
    made = lines(final_events("messages", first, first + open_block, 1, 10))
    assert [one["type"] for one in made] == ["content_block_stop", "message_delta", "message_stop"]
    assert made[0]["index"] == 1
    assert made[1]["delta"]["stop_reason"] == "max_tokens"
    again = lines(final_events("messages", first, open_block + closed, 1, 10))
    assert [one["type"] for one in again] == ["message_delta", "message_stop"]


def test_responses_end_incomplete() -> None:
    first = (
        b'event: response.created\ndata: {"type":"response.created","sequence_number":0,"response":%b}\n\n'
        % RESPONSE
    )
    last = b'event: response.output_text.delta\ndata: {"type":"response.output_text.delta","sequence_number":7,"delta":"a"}\n\n'
    (made,) = lines(final_events("responses", first, last, 1, 1))
    assert made["type"] == "response.incomplete"
    assert made["sequence_number"] == 8
    assert made["response"] == {
        "id": "r",
        "status": "incomplete",
        "incomplete_details": {"reason": "max_output_tokens"},
    }


def test_nothing_is_made_up_where_nothing_came() -> None:
    assert final_events("chat", b"HTTP/1.1 200 OK\r\n\r\n", b"", 1, 0) == b""
    assert final_events("other", b'data: {"a":1}\n\n', b"", 1, 0) == b""
    assert final_events("responses", b'data: {"a":1}\n\n', b"", 1, 0) == b""


def test_usage_of_each_api() -> None:
    openai = b'..."content":"x"}}],"usage":{"prompt_tokens":12,"total_tokens":15,"completion_tokens":3,"prompt_tokens_details":null}}'
    assert usage_in(openai) == Usage(12, 3)
    assert usage_in(b'"usage":{"input_tokens": 5, "output_tokens" : 6}}') == Usage(5, 6)
    details = b'"input_tokens_details":{"cached_tokens":96},"output_tokens":7,"output_tokens_details":{"reasoning_tokens":4}}}'
    assert usage_in(b'"usage":{"input_tokens":100,' + details) == Usage(100, 7)
    assert usage_in(b'"usage":null}') == NOT_SAID
    assert usage_in(b"") == NOT_SAID
    spoken = b'{"content":"\\"usage\\": {\\"prompt_tokens\\": 999}","usage":{"prompt_tokens":1,"completion_tokens":2}}'
    assert usage_in(spoken) == Usage(1, 2)


def test_usage_that_a_request_has_planted_in_its_answer_is_not_believed() -> None:
    own = {"input_tokens": 12, "output_tokens": 3}
    planted = {"input_tokens": 0, "output_tokens": 0}
    echoed = [{"role": "user", "content": [{"type": "input_text", "usage": planted}]}]
    answer = {"id": "r", "usage": own, "user": '"usage":', "input_messages": echoed}
    assert usage_in(json.dumps(answer).encode(), levels_behind("responses", False)) == Usage(12, 3)
    event = {"type": "response.completed", "response": answer, "sequence_number": 9}
    stream = b"event: x\ndata: " + json.dumps(event).encode() + b"\n\n"
    assert usage_in(stream, levels_behind("responses", True)) == Usage(12, 3)
    only = json.dumps({"id": "r", "metadata": {"usage": planted}}).encode()
    assert usage_in(only, levels_behind("responses", False)) == NOT_SAID


def test_whether_it_ended_at_its_limit() -> None:
    assert at_its_limit(b'"finish_reason":"length","stop_reason":null}],"usage":{}')
    assert at_its_limit(b'"stop_reason":null,"finish_reason": "length"}],"usage":{}')
    assert at_its_limit(b'"stop_reason":"max_tokens"}')
    assert at_its_limit(b'"incomplete_details":{"reason":"max_output_tokens"}')
    assert not at_its_limit(b'"finish_reason":"stop"}')
    assert not at_its_limit(b"")
