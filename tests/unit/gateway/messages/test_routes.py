"""What a body asks for: copies, prompts, limits, pictures; and a bound on its tokens that holds."""

from __future__ import annotations

import gzip
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from barostat.admit.input_sizes import MEDIA_TOKENS
from barostat.gateway.messages.routes import Malformed, Route, Shape, shape_of
from barostat.gateway.messages.token_bound import TokenCounts


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


def test_output_limits() -> None:
    assert shape("chat").output_limit is None
    assert shape("chat", max_tokens=9, max_completion_tokens=5).output_limit == 5
    assert shape("chat", max_tokens=9, max_completion_tokens=None).output_limit == 9
    assert shape("completions").output_limit == 16
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
    counts = TokenCounts()
    assert (
        counts.bound(shape("chat", messages=[{"role": "user", "content": [part]}])) > MEDIA_TOKENS
    )


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
    assert MEDIA_TOKENS < counts.estimate(found) < counts.bound(found) < MEDIA_TOKENS + 1000


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
    assert sum(counts.learn(picture, 9000) for _ in range(500)) == 1  # above the bound
    assert counts.bound(text) == before
    assert counts.bound(picture) >= 9000
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
    assert counts.bound(one) == before + 40


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
