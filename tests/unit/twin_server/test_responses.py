"""What a request to /v1/responses asks for, and the order and numbers of its events."""

from __future__ import annotations

import json
from typing import Any

import pytest

from barostat.engines.vllm.error_bodies import Refusal
from barostat.twin_server import responses
from barostat.twin_server.responses import AskedResponse, Events, ResponseReader

from .test_generation_request import reader


def read(**body: Any) -> AskedResponse | Refusal:
    return ResponseReader(reader()).read(json.dumps({"model": "m", **body}).encode())


def asked(**body: Any) -> AskedResponse:
    found = read(**body)
    assert isinstance(found, AskedResponse), found
    return found


def refused(**body: Any) -> Refusal:
    found = read(**body)
    assert isinstance(found, Refusal), found
    return found


def test_without_a_limit_the_answer_may_fill_the_context() -> None:
    found = asked(input="one two").asked
    assert found.wanted[0].max_tokens == 100 - found.prompt_tokens
    assert asked(input="one two", max_output_tokens=5).asked.wanted[0].max_tokens == 5
    assert asked(input="one two", max_tokens=5).asked.wanted[0].max_tokens > 5


def test_a_text_is_the_users_message_and_instructions_are_the_systems() -> None:
    chat = reader().chat_text
    alone = asked(input="one").asked.prompts[0].tokens
    assert alone == reader().tokenize(str(chat({"messages": [{"role": "user", "content": "one"}]})))
    message = {
        "type": "message",
        "role": "user",
        "content": [{"type": "input_text", "text": "one"}],
    }
    assert asked(input=[message]).asked.prompts[0].tokens == alone
    both = asked(input="one", instructions="be brief").asked.prompts[0].tokens
    assert len(both) > len(alone)


@pytest.mark.parametrize(
    "item",
    [
        {"type": "function_call", "name": "add", "arguments": "{}", "call_id": "1"},
        {"type": "function_call_output", "call_id": "1", "output": "3"},
        {"type": "reasoning", "summary": [], "content": [{"type": "reasoning_text", "text": "so"}]},
        {"type": "reasoning", "summary": [{"type": "summary_text", "text": "so"}]},
    ],
)
def test_every_kind_of_item_counts_as_tokens(item: dict[str, Any]) -> None:
    question = {"role": "user", "content": "one"}
    alone = asked(input=[question]).asked.prompt_tokens
    assert asked(input=[question, item]).asked.prompt_tokens > alone


@pytest.mark.parametrize(
    ("body", "status", "words"),
    [
        ({}, 400, "Field required"),
        ({"input": 5}, 400, "valid string"),
        ({"input": []}, 400, "empty conversation"),
        ({"input": ["x"]}, 400, "valid dictionary"),
        ({"input": [{"type": "item_reference"}]}, 400, "Unsupported input item type"),
        ({"input": [{"type": "reasoning", "encrypted_content": "x"}]}, 400, "not supported"),
        ({"input": "x", "model": "no"}, 404, "does not exist"),
        ({"input": "x", "background": True}, 400, "VLLM_ENABLE_RESPONSES_API_STORE=1"),
        ({"input": "x", "previous_response_id": "resp_1"}, 404, "'resp_1' not found"),
        ({"input": "x", "tool_choice": "required"}, 400, "must be specified with 'tools'"),
        ({"input": "x", "tool_choice": {"type": "function"}}, 400, "not found in 'tools'"),
        ({"input": "x", "max_output_tokens": 0}, 400, "max_tokens must be at least 1, got 0."),
        ({"input": "x", "max_output_tokens": "a"}, 400, "valid integer"),
        ({"input": "x", "max_output_tokens": 101}, 400, "max_output_tokens=101 cannot be greater"),
        ({"input": "word " * 200}, 400, "maximum context length is 100 tokens"),
        ({"input": "x", "temperature": -1}, 400, "temperature must be non-negative"),
        ({"input": "x", "stream": "perhaps"}, 400, "valid boolean"),
    ],
)
def test_what_cannot_be_answered_is_refused(body: dict[str, Any], status: int, words: str) -> None:
    found = refused(**body)
    assert found.status == status
    assert words in found.message


def test_a_prompt_that_fills_the_context_is_refused_unless_it_may_be_cut() -> None:
    read_all = [read(input=" word" * count) for count in range(70, 100)]
    said = [found.message for found in read_all if isinstance(found, Refusal)]
    assert "length 100 exceeds the max_model_len 100. Please reduce prompt" in said[0]
    assert all("maximum context length" in message for message in said[1:])
    found = asked(input="word " * 200, truncation="auto").asked
    assert (found.prompt_tokens, found.wanted[0].max_tokens) == (99, 1)


def test_the_answer_repeats_what_was_asked_and_the_defaults_of_the_rest() -> None:
    found = asked(
        input="x",
        request_id="resp_mine",
        user="me",
        metadata={"a": "b"},
        temperature=0.2,
        tools=[{"type": "function", "name": "add"}],
        max_output_tokens=4,
    )
    whole = responses.response(found, "completed", [], responses.usage(3, 0, 0, 4))
    assert whole["id"] == "resp_mine"
    assert (whole["user"], whole["metadata"], whole["temperature"]) == ("me", {"a": "b"}, 0.2)
    assert (whole["top_p"], whole["tool_choice"], whole["truncation"]) == (1.0, "auto", "disabled")
    assert asked(input="x").echoed["tool_choice"] == "none"
    assert whole["usage"]["total_tokens"] == 7


def test_events_are_numbered_from_0_and_the_message_opens_with_its_first_text() -> None:
    made = Events(asked(input="x", max_output_tokens=2))
    begun = list(made.begin())
    assert [one["type"] for one in begun] == ["response.created", "response.in_progress"]
    assert list(made.piece("")) == []
    pieces = [*made.piece(" ba"), *made.piece(" be")]
    ended = list(made.end("length", responses.usage(3, 0, 0, 2)))
    assert [one["type"].removeprefix("response.") for one in [*pieces, *ended]] == [
        "output_item.added", "content_part.added", "output_text.delta", "output_text.delta", "output_text.done",
        "content_part.done", "output_item.done", "completed",
    ]  # fmt: skip
    assert [one["sequence_number"] for one in [*begun, *pieces, *ended]] == list(range(10))
    whole = ended[-1]["response"]
    assert whole["output"][0]["content"][0]["text"] == " ba be"
    assert whole["output"][0]["id"] == pieces[0]["item"]["id"]
    assert whole["incomplete_details"] == {"reason": "max_output_tokens"}


def test_an_answer_without_text_has_no_message() -> None:
    made = Events(asked(input="x"))
    list(made.begin())
    (last,) = made.end("stop", responses.usage(3, 0, 0, 0))
    assert (last["response"]["status"], last["response"]["output"]) == ("completed", [])
