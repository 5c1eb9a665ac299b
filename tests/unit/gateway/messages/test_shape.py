"""What a body asks for: copies, prompts, limits, pictures; and a bound on its tokens that holds."""

from __future__ import annotations

import gzip
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from barostat.admit.input_sizes import MEDIUM_TOKENS, MOST_ADDED_TOKENS
from barostat.gateway.messages.guarded import GUARDED_PARAMETERS
from barostat.gateway.messages.routes import Route
from barostat.gateway.messages.shape import Malformed, Shape, shape_of
from barostat.gateway.messages.token_bound import PICTURE_TOKENS, TokenCounts


def shape(route: Route, **document: Any) -> Shape:
    found = shape_of(route, json.dumps(document).encode())
    assert isinstance(found, Shape)
    return found


def test_what_decodes_at_once() -> None:
    assert shape("chat", n=3).sequences == 3
    assert shape("completions", prompt=["a", "b"], n=2, best_of=4).sequences == 8
    assert shape("completions", prompt=[[1, 2], [3]]).prompts == 2
    assert shape("completions", prompt=[1, 2, 3]).prompt_ids == 3
    assert shape("embeddings", input=["a", "b", "c"]).prompts == 3
    assert shape("messages", n=5).sequences == 1  # that API has none


def test_each_conversation_of_a_batch_is_a_prompt_with_all_that_stands_beside_it() -> None:
    long, short = [{"role": "user", "content": "x" * 300}], [{"role": "user", "content": "hi"}]
    read = shape("batch", messages=[long, short], max_tokens=7, response_format={"a": "y" * 100})
    assert (read.prompts, read.sequences, read.output_limit) == (2, 2, 7)
    assert read.longest > 400
    assert read.text_bytes > read.longest + 100
    counts = TokenCounts()
    assert counts.each(read, counts.bound(read)) >= 400 + 96
    assert shape("batch", messages=[long] * 3, n=4).sequences == 12
    assert not read.unbounded
    picture = {"role": "user", "content": [{"type": "image_url", "image_url": {"url": "u"}}]}
    assert shape("batch", messages=[[picture]]).unbounded


@pytest.mark.parametrize(
    "document",
    [
        {},
        {"messages": []},
        {"messages": [{"role": "user", "content": "hi"}]},
        {"messages": [[{"role": "user", "content": "hi"}]], "tools": [{"type": "function"}]},
        {"messages": [[{"role": "user", "content": "hi"}]], "max_tokens": 0},
    ],
)
def test_what_is_no_batch_of_conversations_is_refused(document: dict[str, Any]) -> None:
    assert isinstance(shape_of("batch", json.dumps(document).encode()), Malformed)


def test_the_query_counts_with_each_document() -> None:
    ranked = shape("score", query="q" * 100, documents=["a", "b" * 50, "c"])
    assert (ranked.prompts, ranked.longest, ranked.text_bytes) == (3, 150, 352)
    paired = shape("score", text_1=["a" * 10, "b"], text_2=["c", "d" * 10], instruction="i" * 5)
    assert (paired.prompts, paired.longest, paired.text_bytes) == (2, 16, 32)
    assert shape("score", queries="\u00e9" * 10, items="x").longest == 21
    assert shape("score", data_1=["a", "b"], data_2=["c", "d", "e" * 9]).longest == 10
    assert not ranked.unbounded
    part = {"content": [{"type": "text", "text": "x"}]}
    assert shape("score", query="a", documents=[part]).unbounded


@pytest.mark.parametrize(
    "document",
    [
        {},
        {"query": "a"},
        {"query": "a", "documents": []},
        {"query": "a", "documents": "b", "text_1": "c", "text_2": "d"},
        {"query": "a", "documents": ["b"] * 1001},
        {"query": "a", "documents": "b", "padding": "max_length"},
    ],
)
def test_what_is_no_pair_or_too_many_is_refused(document: dict[str, Any]) -> None:
    assert isinstance(shape_of("score", json.dumps(document).encode()), Malformed)


def test_output_limits() -> None:
    assert shape("chat").output_limit is None
    assert shape("chat", max_tokens=9, max_completion_tokens=5).output_limit == 9
    assert (
        shape("chat", max_tokens=5, max_completion_tokens=9).limit_named == "max_completion_tokens"
    )
    assert shape("chat", max_tokens=9, max_completion_tokens=None).output_limit == 9
    assert shape("completions").output_limit == 16
    assert shape("completions", max_tokens=None).output_limit is None  # the engine takes no default
    assert shape("responses", max_output_tokens=3, max_tokens=9).output_limit == 3
    assert shape("chat", max_tokens=5.0).output_limit == 5
    assert isinstance(shape_of("chat", b'{"max_tokens":5.5}'), Malformed)
    assert isinstance(shape_of("chat", b'{"max_tokens":true}'), Malformed)
    assert isinstance(shape_of("completions", b'{"n":"two"}'), Malformed)


@given(
    st.recursive(
        st.none() | st.booleans() | st.floats() | st.text(),
        lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    ),
    st.sampled_from(
        [
            "messages",
            "prompt",
            "input",
            "tools",
            "max_tokens",
            "n",
            "stream",
            "model",
            "min_tokens",
            "priority",
        ]
    ),
    st.sampled_from(["chat", "completions", "responses", "messages", "embeddings"]),
)
def test_no_type_of_any_member_is_a_surprise(value: Any, name: str, route: Route) -> None:
    assert isinstance(shape_of(route, json.dumps({name: value}).encode()), Shape | Malformed)


def test_pictures_count_wherever_they_stand() -> None:
    part = {"type": "image_url", "image_url": {"url": "http://x/y.png"}}
    text = {"type": "text", "text": "what is this?"}
    assert shape("chat", messages=[{"role": "user", "content": [text, part, part]}]).media == 2
    result = {"type": "tool_result", "content": [{"type": "image", "source": {}}]}
    assert shape("messages", messages=[{"role": "user", "content": [result]}]).media == 1
    assert (
        shape("responses", input=[{"role": "user", "content": [{"type": "input_image"}]}]).media
        == 1
    )
    pictured = shape("chat", messages=[{"role": "user", "content": [part]}])
    assert TokenCounts().bound(pictured) > PICTURE_TOKENS
    assert not pictured.unbounded
    bigger: dict[str, Any] = {"mm_processor_kwargs": {"max_pixels": 10**9}}
    empty: dict[str, Any] = {"media_io_kwargs": {}}
    for more in (bigger, empty):
        assert shape("chat", messages=[{"role": "user", "content": [part]}], **more).unbounded


@pytest.mark.parametrize(
    "part",
    [
        {"type": "image_url", "image_url": {"url": "data:image/png;base64," + "A" * 400_000}},
        {"type": "input_image", "image_url": "data:image/png;base64," + "A" * 400_000},
        {
            "type": "image",
            "source": {"type": "base64", "media_type": "image/png", "data": "A" * 400_000},
        },
        {"type": "input_audio", "input_audio": {"format": "wav", "data": "A" * 400_000}},
        {
            "type": "tool_result",
            "content": [{"type": "image", "source": {"type": "base64", "data": "A" * 400_000}}],
        },
    ],
)
def test_a_picture_in_the_body_is_no_text(part: dict[str, Any]) -> None:
    route: Route = "responses" if part["type"] == "input_image" else "chat"
    found = shape(
        route,
        **{"input" if route == "responses" else "messages": [{"role": "user", "content": [part]}]},
    )
    counts = TokenCounts()
    assert found.media == 1
    assert MEDIUM_TOKENS < counts.estimate(found) < MEDIUM_TOKENS + 1000
    assert found.unbounded or counts.bound(found) < PICTURE_TOKENS + 1000


def test_the_text_of_a_document_is_text() -> None:
    part = {
        "type": "document",
        "source": {"type": "text", "media_type": "text/plain", "data": "word " * 1000},
    }
    assert shape("messages", messages=[{"role": "user", "content": [part]}]).text_bytes > 5000


def test_a_large_picture_says_nothing_of_texts() -> None:
    part = {"type": "image_url", "image_url": {"url": "http://x/y.png"}}
    counts = TokenCounts()
    picture, text = (
        shape("chat", messages=[{"role": "user", "content": [part]}]),
        shape("chat", messages=[{"role": "user", "content": "hi"}]),
    )
    before = counts.bound(text)
    assert not any(counts.learn(picture, 9000) for _ in range(500))
    assert counts.bound(text) == before
    assert counts.estimate(picture) == pytest.approx(9000, rel=0.01)


@given(st.text(max_size=300))
def test_the_bound_is_above_the_bytes_of_the_text_in_any_normal_form(text: str) -> None:
    import unicodedata

    for ensure in (True, False):
        body = json.dumps(
            {"messages": [{"role": "user", "content": text}]}, ensure_ascii=ensure
        ).encode("utf-8", "surrogatepass")
        found = shape_of("chat", body)
        if isinstance(found, Malformed):  # lone surrogates are no JSON
            continue
        in_bytes = len(unicodedata.normalize("NFC", text).encode("utf-8", "surrogatepass"))
        assert TokenCounts().bound(found) >= in_bytes + 5


def test_the_estimate_learns_and_a_bound_that_was_too_low_is_raised() -> None:
    counts = TokenCounts()
    one = shape("chat", messages=[{"role": "user", "content": "x" * 1000}])
    for _ in range(100):
        counts.learn(one, one.text_bytes // 5)
    assert abs(counts.estimate(one) - one.text_bytes / 5) < 5
    before = counts.bound(one)
    assert counts.learn(one, before + 40)
    assert counts.bound(one) == before  # one may be wrong
    assert counts.learn(one, before + 40)
    assert before + 38 <= counts.bound(one) <= before + 40
    for _ in range(2000):
        counts.learn(one, one.text_bytes // 5)
    assert counts.bound(one) == before


@pytest.mark.parametrize("wrong", [999_999_999, 32_000])
def test_one_wrong_usage_changes_nothing_that_lasts(wrong: int) -> None:
    counts = TokenCounts()
    short = shape("chat", messages=[{"role": "user", "content": "a"}])
    bound = counts.bound(short)
    counts.learn(short, wrong)
    assert counts.bound(short) == bound
    counts.learn(short, wrong)  # a second one in a row is believed, within reason
    assert counts.bound(short) <= bound + MOST_ADDED_TOKENS
    for _ in range(3000):
        counts.learn(short, 12)
    assert counts.bound(short) == bound
    assert counts.estimate(short) == pytest.approx(12, abs=2)


def test_tools_that_nest_deeply_are_as_long_as_a_template_may_indent_them() -> None:
    for depth in (1, 5, 40, 200):
        schema: dict[str, Any] = {"type": "string"}
        for _ in range(depth):
            schema = {"type": "object", "properties": {"a": schema, "b": [1, {}, []]}}
        tools = [{"type": "function", "function": {"name": "f", "parameters": schema}}]
        written = json.dumps(tools, indent=4)
        found = shape("chat", messages=[], tools=tools)
        spaces = sum(len(line) - len(line.lstrip()) for line in written.splitlines())
        assert found.indented_bytes >= spaces + written.count("\n")
        assert TokenCounts().bound(found) >= len(written)


ONE_ROUTE: dict[str, Route] = {
    "data": "embeddings",
    "previous_input_messages": "responses",
    "previous_response_id": "responses",
    "prompt": "responses",
    "background": "responses",
    "prompt_embeds": "completions",
    "padding": "embeddings",
}


@pytest.mark.parametrize("name", sorted({*GUARDED_PARAMETERS} - {"file"}))
def test_a_parameter_with_which_the_length_is_not_known_is_refused_unless_allowed(
    name: str,
) -> None:
    value: Any = {"prompt_token_ids": [1]} if name == "kv_transfer_params" else "x"
    route = ONE_ROUTE.get(name, "chat")
    body = json.dumps({"input": "hi", name: value}).encode()
    refused = shape_of(route, body)
    assert isinstance(refused, Malformed)
    assert (refused.parameter, refused.reason) == (name, "parameter-not-allowed")
    assert f"--allow-parameter {name}" in refused.message
    taken = shape_of(route, body, {name})
    assert isinstance(taken, Shape)
    assert taken.unbounded
    for nothing in (None, False):
        assert isinstance(shape_of(route, json.dumps({name: nothing}).encode()), Shape)


def test_template_arguments_that_are_no_switches_are_counted() -> None:
    assert not shape(
        "chat", chat_template_kwargs={"enable_thinking": True, "effort": "high"}
    ).unbounded
    for arguments in ({"docs": ["a"]}, {"text": "x" * 100}, {"a": {"b": 1}}):
        assert shape("chat", chat_template_kwargs=arguments).unbounded
    for name in ("chat_template", "tokenize"):
        body = json.dumps({"chat_template_kwargs": {name: "x"}}).encode()
        assert isinstance(shape_of("chat", body), Malformed)


@pytest.mark.parametrize(
    ("route", "document", "refused"),
    [
        ("chat", {"max_completion_tokens": 0, "max_tokens": 100_000}, True),
        ("chat", {"max_completion_tokens": 100_000, "max_tokens": 0}, True),
        ("chat", {"max_tokens": 0, "echo": True}, True),
        ("chat", {"max_tokens": "0"}, True),
        ("chat", {"max_tokens": 0.0}, True),
        ("responses", {"max_output_tokens": 0}, True),
        ("messages", {"max_tokens": 0}, True),
        ("completions", {"max_tokens": 0}, True),
        ("completions", {"max_tokens": 0, "echo": False}, True),
        ("completions", {"max_tokens": 0, "echo": True}, False),
    ],
)
def test_no_output_at_all_is_refused_but_where_the_prompt_is_echoed(
    route: Route, document: dict[str, Any], refused: bool
) -> None:
    found = shape_of(route, json.dumps(document).encode())
    assert isinstance(found, Malformed) == refused
    if isinstance(found, Shape):
        assert found.output_limit == 1


@pytest.mark.parametrize(
    "part",
    [
        {"image_url": {"url": "http://x"}},
        {"type": "text", "text": "x", "uuid": "u", "image_url": {"url": "http://x"}},
        {"type": "text", "text": "x", "video_url": {"url": "http://x"}},
        {"type": "input_file", "file_data": "x"},
        {"type": "image_embeds", "image_embeds": "x"},
        {"type": ["image_url"], "image_url": {"url": "http://x"}},
        {"input_audio": {"data": "x"}},
    ],
)
def test_a_medium_counts_as_one_however_it_is_written(part: dict[str, Any]) -> None:
    assert shape("chat", messages=[{"role": "user", "content": [part]}]).media == 1
    for item in (
        {"role": "user", "content": [part]},
        {"type": "function_call_output", "output": [part]},
    ):
        assert shape("responses", input=[item]).media == 1


@pytest.mark.parametrize(
    "kind", ["item_reference", "computer_call_output", "mcp_call", "image_generation_call"]
)
def test_an_item_that_is_no_text_is_not_bounded_by_its_bytes(kind: str) -> None:
    assert shape("responses", input=[{"type": kind, "id": "x"}]).unbounded


def test_a_prompt_of_numbers_is_one_prompt_of_ids_as_engines_take_it() -> None:
    for number in (1, 1.0, True):
        found = shape("embeddings", input=[number] * 500)
        assert (found.prompts, found.prompt_ids) == (1, 500)


@pytest.mark.parametrize(
    "prompt", [[1, "a long text"], [[1], {"prompt": "a"}], [[["a"]]], [["a"]], ["a", None]]
)
def test_a_list_of_anything_but_texts_and_ids_is_refused(prompt: object) -> None:
    """Its length would be counted by its first element."""
    fields: tuple[tuple[Route, str], ...] = (("completions", "prompt"), ("embeddings", "input"))
    for route, name in fields:
        refused = shape_of(route, json.dumps({name: prompt}).encode())
        assert isinstance(refused, Malformed)
        assert refused.parameter == name


def test_embeddings_of_a_conversation_are_read_as_one() -> None:
    picture = {"type": "image_url", "image_url": {"url": "http://x"}}
    found = shape("embeddings", messages=[{"role": "user", "content": [picture]}])
    assert found.pictures == 1
    both = shape_of("embeddings", b'{"input": "a", "messages": []}')
    assert isinstance(both, Malformed)


@pytest.mark.parametrize(
    ("value", "read"),
    [
        (5, 5),
        (5.0, 5),
        ("5", 5),
        (" 5 ", 5),
        (5.5, None),
        ("5.5", None),
        ("five", None),
        ([5], None),
    ],
)
def test_a_number_is_read_as_the_engine_reads_it(value: object, read: int | None) -> None:
    found = shape_of(
        "completions",
        json.dumps({"prompt": "a", "max_tokens": value, "n": value, "min_tokens": value}).encode(),
    )
    if read is None:
        assert isinstance(found, Malformed)
    else:
        assert isinstance(found, Shape)
        assert (found.output_limit, found.sequences, found.least_output_tokens) == (
            read,
            read,
            read,
        )


@pytest.mark.parametrize(
    ("body", "said"),
    [
        (b"", "The request has no body; a JSON object was expected."),
        (
            b'{"model": ',
            (
                "The request body is not valid JSON: unexpected end of data: line 1 column 11 "
                "(char 10)."
            ),
        ),
        (
            gzip.compress(b"{}", mtime=0),
            "The request body is compressed: send it as it is, without a Content-Encoding.",
        ),
    ],
)
def test_what_is_no_json_is_told_with_its_place(body: bytes, said: str) -> None:
    assert shape_of("chat", body) == Malformed(said)
