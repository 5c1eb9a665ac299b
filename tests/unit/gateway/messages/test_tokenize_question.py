"""What the engine is asked in order to count: the form of each route, and all that a template
sees.
"""

from __future__ import annotations

import json
from typing import Any

import pytest

from barostat.gateway.messages.guarded import GUARDED_PARAMETERS
from barostat.gateway.messages.routes import Route
from barostat.gateway.messages.shape import Shape, shape_of
from barostat.gateway.messages.tokenize_question import TokenizeQuestions, questions_of

TOOL = {"name": "f", "description": "d", "input_schema": {"type": "object"}}
HI = {"role": "user", "content": "hi"}
BE_KIND = {"role": "system", "content": "be kind"}


def questions(route: Route, **document: Any) -> TokenizeQuestions | None:
    body = json.dumps({"model": "m", **document}).encode()
    shape = shape_of(route, body, set(GUARDED_PARAMETERS))
    assert isinstance(shape, Shape)
    return questions_of(shape, body)


def asked(route: Route, **document: Any) -> list[dict[str, Any]] | None:
    found = questions(route, **document)
    return None if found is None else [one.document for one in found.asked]


def test_the_form_of_each_route() -> None:
    assert asked("chat", messages=[HI], tools=[1], max_tokens=5) == [
        {"model": "m", "messages": [HI], "tools": [1]}
    ]
    assert asked("completions", prompt=["a", "b"]) == [
        {"model": "m", "prompt": "a"},
        {"model": "m", "prompt": "b"},
    ]
    assert asked("completions", prompt="a", prompt_embeds="x") is None
    assert asked("embeddings", input="a") == [{"model": "m", "prompt": "a"}]
    assert asked("batch", messages=[[HI], [BE_KIND, HI]], max_tokens=5) == [
        {"model": "m", "messages": [HI]},
        {"model": "m", "messages": [BE_KIND, HI]},
    ]
    assert asked("score", query="a", documents=["b"]) is None


@pytest.mark.parametrize(
    ("prompt", "known"),
    [([1, 2], (2,)), ([[1, 2], [3]], (2, 1)), (["a", [1, 2, 3]], (3,)), ("a", ())],
)
def test_prompts_of_ids_are_known_without_a_question(
    prompt: object, known: tuple[int, ...]
) -> None:
    found = questions("completions", prompt=prompt)
    assert found is not None
    assert found.known == known
    assert all(isinstance(one.document["prompt"], str) for one in found.asked)


def test_all_that_a_template_sees_of_a_chat_is_asked_with() -> None:
    (found,) = (
        asked(
            "chat",
            messages=[HI],
            continue_final_message=True,
            add_generation_prompt=False,
            chat_template="x",
        )
        or []
    )
    assert found == {
        "model": "m",
        "messages": [HI],
        "continue_final_message": True,
        "add_generation_prompt": False,
        "chat_template": "x",
    }
    (found,) = (
        asked(
            "chat",
            messages=[HI],
            documents=[{"a": 1}],
            reasoning_effort="low",
            chat_template_kwargs={"b": 2},
        )
        or []
    )
    assert found["chat_template_kwargs"] == {
        "b": 2,
        "documents": [{"a": 1}],
        "reasoning_effort": "low",
        "enable_thinking": True,
    }
    (found,) = (
        asked(
            "chat",
            messages=[HI],
            reasoning_effort="none",
            chat_template_kwargs={"enable_thinking": True},
        )
        or []
    )
    assert found["chat_template_kwargs"] == {"enable_thinking": True, "reasoning_effort": "none"}


@pytest.mark.parametrize(
    ("cut", "most"), [(7, 7), (0, 0), (-1, -1), (-2, None), (None, None), ("5", None)]
)
def test_a_prompt_that_the_engine_cuts_is_counted_so(cut: object, most: int | None) -> None:
    found = questions("chat", messages=[HI], truncate_prompt_tokens=cut)
    assert found is not None
    assert found.cut == most


def test_the_items_of_a_response_are_the_chat_that_they_become() -> None:
    assert asked("responses", input="hi", instructions="be kind") == [
        {"model": "m", "messages": [BE_KIND, HI]}
    ]
    said = {
        "role": "assistant",
        "content": [{"type": "output_text", "text": "yes"}, {"type": "output_text", "text": "no"}],
    }
    tools = [{"type": "function", "name": "f", "parameters": {}}]
    parts = [
        {"type": "input_text", "text": "what is it"},
        {"type": "input_image", "image_url": "data:x"},
    ]
    (found,) = asked("responses", input=[{"role": "user", "content": parts}]) or []
    seen = [
        {"type": "text", "text": "what is it"},
        {"type": "image_url", "image_url": {"url": "data:x"}},
    ]
    assert found["messages"] == [{"role": "user", "content": seen}]
    (found,) = asked("responses", input=[HI, said], tools=tools, reasoning={"effort": "high"}) or []
    assert found["messages"] == [HI, {"role": "assistant", "content": "yes"}]
    assert found["tools"] == [{"type": "function", "function": {"name": "f", "parameters": {}}}]
    assert found["chat_template_kwargs"] == {"reasoning_effort": "high", "enable_thinking": True}


def test_calls_and_their_outputs_are_counted_as_the_messages_that_they_become() -> None:
    items = [
        HI,
        {"type": "reasoning", "summary": [], "content": [{"type": "reasoning_text", "text": "hm"}]},
        {"type": "function_call", "call_id": "1", "name": "f", "arguments": "{}"},
        {"type": "function_call", "call_id": "2", "name": "g", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "1", "output": "long " * 50},
        {
            "type": "function_call_output",
            "call_id": "2",
            "output": [{"type": "input_text", "text": "b"}],
        },
        {
            "type": "message",
            "role": "assistant",
            "content": [{"type": "output_text", "text": "so"}],
        },
    ]
    (found,) = asked("responses", input=items) or []
    called = [
        {"id": number, "type": "function", "function": {"name": name, "arguments": "{}"}}
        for number, name in (("1", "f"), ("2", "g"))
    ]
    assert found["messages"] == [
        HI,
        {"role": "assistant", "reasoning": "hm", "tool_calls": called},
        {"role": "tool", "tool_call_id": "1", "content": "long " * 50},
        {"role": "tool", "tool_call_id": "2", "content": [{"type": "text", "text": "b"}]},
        {"role": "assistant", "content": "so"},
    ]


def test_a_conversation_to_embed_is_counted_without_a_generation_prompt() -> None:
    (found,) = asked("embeddings", messages=[HI]) or []
    assert found == {"model": "m", "messages": [HI], "add_generation_prompt": False}


@pytest.mark.parametrize(
    "document",
    [
        {"input": [{"type": "function_call_output"}]},
        {"input": [{"type": "item_reference", "id": "x"}]},
        {"input": [3]},
        {"input": [{"role": "user", "content": [{"type": "input_file"}]}]},
        {"input": "hi", "previous_response_id": "resp_1"},
        {"input": [{"role": "assistant", "content": "so", "status": "incomplete"}]},
        {"input": "hi", "tools": [{"type": "web_search"}]},
    ],
)
def test_what_only_the_engine_knows_has_no_form(document: dict[str, Any]) -> None:
    assert asked("responses", **document) is None


def test_messages_are_counted_where_anthropics_clients_count_them_and_otherwise_as_a_chat() -> None:
    found = questions(
        "messages",
        messages=[HI],
        system=[{"type": "text", "text": "be "}, {"type": "text", "text": "kind"}],
        tools=[TOOL],
    )
    assert found is not None
    (one,) = found.asked
    assert (one.path, one.answered) == (b"/v1/messages/count_tokens", "input_tokens")
    assert set(one.document) == {"model", "messages", "system", "tools"}
    assert one.otherwise is not None
    assert one.otherwise["messages"] == [BE_KIND, HI]
    assert one.otherwise["tools"][0]["function"] == {
        "name": "f",
        "description": "d",
        "parameters": {"type": "object"},
    }
    picture = [{"role": "user", "content": [{"type": "image", "source": {}}]}]
    found = questions("messages", messages=picture)
    assert found is not None
    assert found.asked[0].otherwise is None


@pytest.mark.parametrize(
    ("route", "more"),
    [
        ("messages", {"messages": 1}),
        ("messages", {"messages": [HI], "system": [{"text": 5}]}),
        ("responses", {"input": "x", "reasoning": "high"}),
        ("responses", {"input": "x", "chat_template_kwargs": [1]}),
    ],
)
def test_what_has_a_wrong_type_is_the_engines_to_refuse(route: Route, more: dict[str, Any]) -> None:
    found = questions(route, **more)
    assert found is None or all(isinstance(one.document, dict) for one in found.asked)
