"""How long inputs are, as the gateway knows it, beside what the real engine's `usage` says: the
count equal, the bound never below.

The chat template is one that shows all that templates can see: tools, documents, effort, thinking,
calls. Pictures need another model.
"""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from statistics import fmean
from typing import Any

import httpx
import pytest
from tests.integration.conftest import EngineFactory

from barostat.gateway.messages.routes import OUTPUT_PARAMETERS, Route
from barostat.gateway.messages.shape import Shape, is_plain, shape_of
from barostat.gateway.messages.token_bound import TokenCounts
from barostat.gateway.messages.tokenize_question import questions_of

TEMPLATE = (
    "{% if tools %}<|tools|>\n{% for tool in tools %}{{ tool | tojson(indent=4) }}\n{% "
    "endfor %}{% endif %}"
    "{% if documents %}{% for one in documents %}<|document|>{{ one['title'] }}\n{{ "
    "one['text'] }}\n{% endfor %}{% endif %}"
    "{% if reasoning_effort %}Reasoning: {{ reasoning_effort }}\n{% endif %}{% if "
    "enable_thinking %}<|think|>\n{% endif %}"
    "{% for message in messages %}<|{{ message['role'] }}|>{% if message['content'] %}{{ "
    "message['content'] }}{% endif %}"
    "{% if message['tool_calls'] %}{% for call in message['tool_calls'] %}<tool_call>{{ "
    "call['function']['name'] }}"
    "{{ call['function']['arguments'] | tojson }}</tool_call>{% endfor %}{% endif %}</s>{% "
    "endfor %}"
    "{% if add_generation_prompt %}<|assistant|>{% endif %}"
)
TEXTS = (
    "Tell me of the sea, and of the ships on it.", "def main(arguments: list[str]) -> int:\n    return 0\n",
    "Grüße aus Köln, schöne Straße",
    "海は広いな大きいな", "🙂👩‍👩‍👧‍👦🏳️‍🌈", "\u0301\u0301e\u0301 ﬁ Å", "a" * 60, "\t\t  \n\n\n", "</s><s><|assistant|>",
    '{"k": [1, 2.5e-7, null]}', "שלום عليكم नमस्ते", "\\n \\u00e9 \"quoted\"", "0123456789" * 4, " ",
)  # fmt: skip
PATHS: dict[Route, str] = {
    "chat": "/v1/chat/completions",
    "completions": "/v1/completions",
    "messages": "/v1/messages",
    "responses": "/v1/responses",
}
Made = tuple[Route, dict[str, Any]]


def text(dice: random.Random) -> str:
    return " ".join(dice.choice(TEXTS) for _ in range(dice.randint(1, 5)))


def schema(dice: random.Random, depth: int = 0) -> dict[str, Any]:
    names = [f"field_{number}" for number in range(dice.randint(1, 4))]
    one: dict[str, Any] = {
        "type": "object",
        "properties": {name: {"type": "string", "description": text(dice)} for name in names},
    }
    if depth < 4 and dice.random() < 0.4:
        one["properties"]["nested"] = schema(dice, depth + 1)
    return one | ({"required": names} if dice.random() < 0.5 else {})


def function(dice: random.Random) -> dict[str, Any]:
    name = f"look_up_{dice.randint(1, 99)}"
    return {
        "name": name,
        **({"description": text(dice)} if dice.random() < 0.7 else {}),
        "parameters": schema(dice),
    }


def content(dice: random.Random, kind: str = "text") -> str | list[dict[str, str]]:
    if dice.random() < 0.6:
        return text(dice)
    return [{"type": kind, "text": text(dice)} for _ in range(dice.randint(1, 3))]


def turns(dice: random.Random) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = [{"role": "user", "content": content(dice)}]
    for _ in range(dice.randint(0, 2)):
        found += [
            {"role": "assistant", "content": text(dice)},
            {"role": "user", "content": content(dice)},
        ]
    return found


def chat(dice: random.Random) -> Made:
    messages = turns(dice)
    if dice.random() < 0.5:
        messages.insert(0, {"role": "system", "content": content(dice)})
    asked: dict[str, Any] = {"messages": messages}
    if dice.random() < 0.4:
        asked["tools"] = [
            {"type": "function", "function": function(dice)} for _ in range(dice.randint(1, 3))
        ]
        call = {
            "id": "c1",
            "type": "function",
            "function": {"name": "look_up_1", "arguments": json.dumps({"a": text(dice)})},
        }
        if dice.random() < 0.5:
            messages += [
                {"role": "assistant", "content": None, "tool_calls": [call]},
                {"role": "tool", "tool_call_id": "c1", "content": text(dice)},
            ]
    if dice.random() < 0.2:
        asked["documents"] = [{"title": text(dice), "text": text(dice)} for _ in range(2)]
    if dice.random() < 0.2:
        asked["reasoning_effort"] = dice.choice(["none", "low", "medium", "high"])
    if dice.random() < 0.2:
        asked["chat_template_kwargs"] = {"enable_thinking": dice.random() < 0.5}
    if dice.random() < 0.1:
        asked["add_special_tokens"] = True
    if dice.random() < 0.15:
        messages.append({"role": "assistant", "content": "So the answer"})
        asked |= {"continue_final_message": True, "add_generation_prompt": False}
    elif dice.random() < 0.1:
        asked["add_generation_prompt"] = False
    if dice.random() < 0.1:
        asked["truncate_prompt_tokens"] = dice.randint(5, 60)
    return "chat", asked | {dice.choice(OUTPUT_PARAMETERS["chat"]): 1}


def completion(dice: random.Random) -> Made:
    asked: dict[str, Any] = {
        "prompt": text(dice)
        if dice.random() < 0.6
        else [text(dice) for _ in range(dice.randint(1, 4))],
        "max_tokens": 1,
    }
    if dice.random() < 0.3:
        asked["add_special_tokens"] = False
    if dice.random() < 0.1:
        asked["truncate_prompt_tokens"] = dice.randint(5, 60)
    return "completions", asked


def anthropic(dice: random.Random) -> Made:
    asked: dict[str, Any] = {"messages": turns(dice), "max_tokens": 1}
    if dice.random() < 0.6:
        asked["system"] = content(dice)
    if dice.random() < 0.4:
        asked["tools"] = [
            {**(one := function(dice)), "input_schema": one.pop("parameters")} for _ in range(2)
        ]
        if dice.random() < 0.5:
            use = {"type": "tool_use", "id": "c1", "name": "look_up_1", "input": {"a": text(dice)}}
            result = {"type": "tool_result", "tool_use_id": "c1", "content": text(dice)}
            asked["messages"] += [
                {"role": "assistant", "content": [use]},
                {"role": "user", "content": [result]},
            ]
    return "messages", asked


def response(dice: random.Random) -> Made:
    items: list[dict[str, Any]] = [{"role": "user", "content": content(dice, "input_text")}]
    for _ in range(dice.randint(0, 2)):
        items += [
            {"role": "assistant", "content": text(dice)},
            {"role": "user", "content": content(dice, "input_text")},
        ]
    asked: dict[str, Any] = {
        "input": text(dice) if dice.random() < 0.4 else items,
        "max_output_tokens": 1,
    }
    if dice.random() < 0.5:
        asked["instructions"] = text(dice)
    if dice.random() < 0.3:
        asked["tools"] = [{"type": "function", **function(dice)}]
    return "responses", asked


MAKERS: tuple[tuple[Callable[[random.Random], Made], int], ...] = (
    (chat, 300),
    (completion, 120),
    (anthropic, 70),
    (response, 50),
)


def looked_at(url: str, made: Made) -> tuple[Route, str, int, int, int, Shape]:
    """(Route, what is wrong, what the engine says, the gateway's count, its bound, the shape)."""
    route, asked = made
    body = json.dumps({"model": "tiny", **asked}, ensure_ascii=len(str(asked)) % 2 == 0).encode()
    shape = shape_of(route, body)
    assert isinstance(shape, Shape)
    shape.plain = is_plain(body)
    with httpx.Client(base_url=url, timeout=120) as client:
        answer = client.post(
            PATHS[route], content=body, headers={"content-type": "application/json"}
        )
        if answer.status_code != 200:
            return route, f"the engine refuses: {answer.text[:300]}", 0, 0, 0, shape
        usage = answer.json()["usage"]
        truth = usage["prompt_tokens"] if "prompt_tokens" in usage else usage["input_tokens"]
        questions = questions_of(shape, body)
        assert questions is not None, asked
        count = 0
        for one in questions.asked:
            came = client.post(one.path.decode(), json=one.document)
            if came.status_code != 200:
                return route, f"it cannot be counted: {came.text[:300]}", truth, 0, 0, shape
            each = came.json()[one.answered]
            count += each if questions.cut is None else min(each, questions.cut)
        return route, "", truth, count, TokenCounts().bound(shape), shape


@pytest.mark.long
def test_the_count_is_the_engines_and_the_bound_is_never_below_it(
    engine_factory: EngineFactory, tmp_path: Path, record_property: Callable[[str, object], None]
) -> None:
    template = tmp_path / "template.jinja"
    template.write_text(TEMPLATE)
    flags = (
        "--max-model-len",
        "8192",
        "--chat-template",
        str(template),
        "--enable-auto-tool-choice",
        "--tool-call-parser",
        "hermes",
    )
    engine = engine_factory(*flags)
    dice = random.Random("token counts")
    made = [make(dice) for make, many in MAKERS for _ in range(many)]
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda one: looked_at(engine.url, one), made))
    wrong = [f"{route}: {why or f'the engine says {truth}, counted {count}'}\n    {asked}"[:900]
             for (route, why, truth, count, _, _), (_, asked) in zip(found, made, strict=True) if why or truth != count]  # fmt: skip
    assert not wrong, (
        f"{len(wrong)} of {len(made)} {Counter(one.split(':')[0] for one in wrong)}\n"
        + "\n".join(wrong[:6])
    )
    below = [f"{route}: {truth} tokens, bound {bound}\n    {asked}"[:900]
             for (route, _, truth, _, bound, _), (_, asked) in zip(found, made, strict=True) if bound < truth]  # fmt: skip
    assert not below, f"{len(below)} of {len(made)}\n" + "\n".join(below[:6])
    counts, errors, exceeded = TokenCounts(), list[float](), 0
    for _, _, truth, _, _, shape in found:
        if counts.sizes.samples.get(shape.route, 0) >= 20:
            errors.append(abs(counts.estimate(shape) - truth) / truth)
        exceeded += counts.learn(shape, truth)
    assert exceeded == 0
    record_property("estimate_error_mean", fmean(errors))
    times = fmean(bound / truth for _, _, truth, _, bound, _ in found)
    print(
        f"{len(made)} requests; the estimate is off by {fmean(errors):.0%} on average, the "
        f"bound {times:.1f} times the truth"
    )
