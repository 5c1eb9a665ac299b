"""Forms are read as every reader reads them, or refused; audio is bounded by its file's bytes."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.audio import BOUNDARY, CONTENT_TYPE, form, part, wav

from barostat.gateway.messages.form import Form, read_form, states_boundary, with_field
from barostat.gateway.messages.output_cap import capped
from barostat.gateway.messages.shape import Malformed, Shape, shape_of
from barostat.gateway.messages.token_bound import TokenCounts
from barostat.gateway.messages.wav import wav_seconds

HEAD = (b"Content-Type", b": ", CONTENT_TYPE, b"\r\n")


def read(body: bytes, *allowed: str) -> Shape | Malformed:
    return shape_of("audio", body, frozenset(allowed), HEAD)


def shape(body: bytes, *allowed: str) -> Shape:
    found = read(body, *allowed)
    assert isinstance(found, Shape), found
    return found


def test_audio_is_as_long_as_its_bytes_allow_and_each_clip_has_the_texts() -> None:
    short = shape(form(wav(2), model="m", prompt="hi", stream="true", max_completion_tokens="7"))
    assert (short.model, short.stream, short.output_limit) == ("m", True, 7)
    assert (short.prompts, short.sequences) == (1, 1)
    assert 1500 < short.prompt_ids < 1800
    long = shape(form(wav(100), model="m", n="2"))
    assert long.sequences == 8  # four clips, two beams
    assert long.prompt_ids > 6000
    assert shape(form(wav(100), prompt="x" * 500)).prompt_ids > long.prompt_ids + 4 * 1450
    assert TokenCounts().bound(long) >= long.prompt_ids
    assert long.output_limit == 1 << 20  # none is stated


@pytest.mark.parametrize(
    "file",
    [
        b"ID3\x04" + b"x" * 2000,
        wav(1, 1),
        wav(1, 7_999),
        wav(1, 400_000),
        wav(1, tag=2),
        wav(1, bits=12),
        wav(1).replace(b"WAVE", b"AVI "),
        wav(1) + b"fmt " + b"\0" * 30,
        wav(1, data=b"\x72\xf8\x1f\x4e" * 99),
        wav(1, data=b"\0" * 212 + b"\x84" + b"\0" * 400),
        wav(1)[:30],
        b"RIFF\0\0\0\0WAVE" + b"LIST\0\0\0\0" * 100 + wav(1)[12:],
        b"",
    ],
)
def test_a_file_whose_bytes_do_not_bound_it_is_refused_unless_allowed(file: bytes) -> None:
    refused = read(form(file, model="m"))
    assert isinstance(refused, Malformed)
    assert (refused.parameter, refused.reason) == ("file", "parameter-not-allowed")
    assert "--allow-parameter file" in refused.message
    assert shape(form(file, model="m"), "file").unknown


def test_seconds_are_those_of_all_bytes_whatever_a_chunk_says() -> None:
    whole = wav(2, 8_000, bits=8)
    seconds = wav_seconds(whole.replace(b"data\x80\x3e", b"data\x01\x00"), 0, len(whole))
    assert seconds is not None
    assert 2 <= seconds < 2.01


@pytest.mark.parametrize(
    ("spoil", "said"),
    [
        (lambda body: b"preamble\r\n" + body, "begin with a boundary"),
        (lambda body: b"\r\n" + body, "begin with a boundary"),
        (lambda body: body + b"x", "follows its end"),
        (lambda body: body[:-8], "does not end"),
        (lambda body: body.replace(b"--\r\n", b"x-\r\n"), "followed by something"),
        (lambda body: part("model", b"a") + body, "stands twice"),
        (lambda body: part("max_completion_tokens", b"9") * 2 + body, "stands twice"),
        (lambda body: part("prompt", b"\xff") + body, "not UTF-8"),
        (lambda body: part("b", b"", '; filename="x"') + body, "exactly one part"),
        (lambda body: part("file", b"x") + body, "exactly one part"),
        (lambda body: part("a", b"", "; filename*=UTF-8''x") + body, "another head"),
        (lambda body: part("a", b"", "\r\nContent-Transfer-Encoding: base64") + body, "another head"),
        (lambda body: part("a", b"", '\r\nContent-Disposition: form-data; name="b"') + body, "another head"),
        (lambda body: part('a"; name="n', b"") + body, "another head"),
        (lambda body: b"".join(part(f"a{at}", b"") for at in range(70)) + body, "more than 64"),
    ],
)  # fmt: skip
def test_what_two_readers_could_read_differently_is_refused(
    spoil: Callable[[bytes], bytes], said: str
) -> None:
    refused = read(spoil(form(wav(1), model="m")))
    assert isinstance(refused, Malformed)
    assert said in refused.message


@pytest.mark.parametrize(
    "lines",
    [
        (),
        (b"content-type", b": ", b"application/json", b"\r\n"),
        (b"content-type", b": ", CONTENT_TYPE + b"x", b"\r\n"),
        (b"content-type", b": ", CONTENT_TYPE + b"; charset=utf-16", b"\r\n"),
        HEAD * 2,
    ],
)
def test_the_head_must_state_the_bodys_own_boundary(lines: tuple[bytes, ...]) -> None:
    body = form(wav(1), model="m")
    assert isinstance(shape_of("audio", body, frozenset(), lines), Malformed)
    assert states_boundary(HEAD, BOUNDARY)
    assert states_boundary((b"content-type", b":", b'multipart/form-data;boundary="a"', b""), b"a")


@given(st.dictionaries(st.from_regex(r"[a-z_]{1,20}", fullmatch=True), st.text(), max_size=5))
def test_a_form_is_read_as_it_was_written_and_a_field_is_set(fields: dict[str, str]) -> None:
    fields.pop("file", None)
    body = form(b"sound", **fields)
    before = read_form(body)
    if isinstance(before, str):
        assert any(BOUNDARY.decode() in text for text in fields.values())
        return
    assert before.fields == fields
    after = read_form(with_field(body, "max_completion_tokens", b"5"))
    assert isinstance(after, Form)
    assert after.fields == {**fields, "max_completion_tokens": "5"}
    assert body[slice(*before.file)] == b"sound"


@pytest.mark.parametrize(
    ("stated", "wrong"), [("0", True), ("-1", True), ("a", True), ("9", False)]
)
def test_the_output_limit_of_a_form(stated: str, wrong: bool) -> None:
    body = form(wav(1), max_completion_tokens=stated)
    assert isinstance(read(body), Malformed) == wrong
    assert isinstance(read(form(wav(1), n="0")), Malformed)
    assert shape(capped("audio", form(wav(1), model="m"), 5)).output_limit == 5
    assert shape(capped("audio", form(wav(1), max_completion_tokens="99"), 5)).output_limit == 5
