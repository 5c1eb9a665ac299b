"""What a request asks for, and what it is refused with, by version."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from barostat.core.bounds import REQUEST_CONTAINERS, REQUEST_ITEMS
from barostat.core.version import EngineVersion, parse_version
from barostat.engines.vllm.error_bodies import Refusal
from barostat.engines.vllm.logs.writer import StartFacts
from barostat.twin.pace import EverySteps
from barostat.twin.settings import KvGroup, Settings
from barostat.twin.workload.words import Tokenizer
from barostat.twin_server.generation_request import GenerationRequest, Reader
from barostat.twin_server.lengths import OutputLengths
from barostat.twin_server.request_json import _read_slowly
from barostat.twin_server.serving import Serving


def known(text: str) -> EngineVersion:
    found = parse_version(text)
    assert found is not None
    return found


def reader(version: str = "0.32.0") -> Reader:
    start = StartFacts(known(version), "org/m", "m", (), "GPU", "", 100, 0, 0.0)
    settings = Settings(kv_blocks=50, groups=(KvGroup(16),), max_model_len=100)
    serving = Serving(
        settings,
        EverySteps(1),
        known(version),
        "org/m",
        ("m", "alias"),
        1000,
        {},
        start,
        OutputLengths(),
        tokenized_bytes_per_s=1e15,
    )
    return Reader(serving, Tokenizer(1000))


def completion(version: str = "0.32.0", **body: Any) -> GenerationRequest | Refusal:
    return reader(version).completion(
        json.dumps({"model": "m", "prompt": [5] * 10, **body}).encode()
    )


def asked(version: str = "0.32.0", **body: Any) -> GenerationRequest:
    found = completion(version, **body)
    assert isinstance(found, GenerationRequest), found
    return found


def refusal(version: str = "0.32.0", **body: Any) -> Refusal:
    found = completion(version, **body)
    assert isinstance(found, Refusal), found
    return found


def test_limits_are_resolved() -> None:
    assert asked().wanted[0].max_tokens == 16
    assert asked(max_tokens=90).wanted[0].max_tokens == 90
    assert asked(max_tokens=95).wanted[0].max_tokens == 90, "cut to what the context leaves"
    found = asked(max_tokens="7", min_tokens=3, ignore_eos=True, n=2, priority=-1).wanted[0]
    assert (found.max_tokens, found.min_tokens, found.ignore_eos, found.n, found.priority) == (
        7,
        3,
        True,
        2,
        -1,
    )


def test_a_chat_without_a_limit_goes_to_the_end_of_the_context_and_the_newer_name_wins() -> None:
    own = reader()
    bare = own.chat(json.dumps({"messages": [{"role": "user", "content": "hi"}]}).encode())
    assert isinstance(bare, GenerationRequest)
    assert bare.wanted[0].max_tokens == 100 - bare.prompt_tokens
    both = own.chat(
        json.dumps(
            {
                "messages": [{"role": "user", "content": "hi"}],
                "max_tokens": 9,
                "max_completion_tokens": 4,
            }
        ).encode()
    )
    assert isinstance(both, GenerationRequest)
    assert both.wanted[0].max_tokens == 4


@pytest.mark.parametrize(
    ("prompt", "lengths"),
    [
        ("word " * 8, [9]),
        ([7, 8, 9], [3]),
        (["a", "b c"], [1, 2]),
        ([[7, 8], [9]], [2, 1]),
        (["a", [7, 8]], [1, 2]),
    ],
)
def test_prompts_come_as_text_or_ids_one_or_several(prompt: Any, lengths: list[int]) -> None:
    assert [len(one.tokens) for one in asked(prompt=prompt).prompts] == lengths


def test_messages_may_be_parts() -> None:
    own = reader()
    whole = own.chat_text({"messages": [{"role": "user", "content": "ab"}]})
    parts = own.chat_text(
        {
            "messages": [
                {
                    "role": "user",
                    "content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}],
                }
            ]
        }
    )
    assert whole == parts == "<|user|>ab</s><|assistant|>"


@pytest.mark.parametrize(
    ("version", "body", "part"),
    [
        ("0.32.0", {"prompt": [5], "n": 16385}, "n must be at most 16384, got 16385."),
        (
            "0.32.0",
            {"prompt": [5] * 120},
            "contains 120 input tokens, which exceeds this limit even without any output tokens",
        ),
        ("0.32.0", {"prompt": "word " * 200}, "contains at least 101 input tokens"),
        ("0.32.0", {"prompt": [5] * 100}, "max_tokens must be at least 1, got 0."),
        (
            "0.31.0",
            {"max_tokens": 95},
            (
                "you requested 95 output tokens and your prompt contains 10 input tokens, for "
                "a total of 105 tokens"
            ),
        ),
        ("0.31.0", {"prompt": [5] * 120}, "for a total of 136 tokens"),
        ("0.17.0", {"max_tokens": 95}, "'max_tokens' or 'max_completion_tokens' is too large: 95"),
        (
            "0.17.0",
            {"prompt": [5] * 120},
            "your request has 120 input tokens. Please reduce the length of the input messages.",
        ),
        ("0.32.0", {"max_tokens": 101}, "max_tokens=101 cannot be greater than max_model_len=100"),
        ("0.32.0", {"model": "x"}, "The model `x` does not exist. Valid aliases: m, alias."),
        ("0.31.0", {"model": "x"}, "The model `x` does not exist."),
        ("0.32.0", {"model": 3}, "Input should be a valid string"),
        ("0.32.0", {"prompt": {"a": 1}}, "Input should be a valid string"),
        ("0.32.0", {"prompt": [[5], {"a": 1}]}, "Input should be a valid string"),
        ("0.32.0", {"prompt": [5000]}, "Token id 5000 is out of vocabulary"),
        ("0.32.0", {"prompt": [-1]}, "Token id -1 is out of vocabulary"),
        ("0.32.0", {"min_tokens": -1}, "min_tokens must be greater than or equal to 0"),
        ("0.32.0", {"n": True}, "Input should be a valid integer"),
        ("0.32.0", {"top_p": 0}, "top_p must be in (0, 1], got 0.0."),
    ],
)
def test_what_cannot_be_served_is_refused_in_the_words_of_the_version(
    version: str, body: dict[str, Any], part: str
) -> None:
    found = refusal(version, **body)
    assert part in found.message
    assert found.status in (400, 404)
    assert found.body()["error"]["code"] == found.status  # type: ignore[index]


@pytest.mark.parametrize(
    "raw", [b"", b"{", b"[1]", b"null", b"\xff\xfe", b"[" * 5000, b'{"prompt": "a"} x']
)
def test_a_body_that_is_no_object_is_a_400(raw: bytes) -> None:
    for read in (reader().completion, reader().chat):
        found = read(raw)
        assert isinstance(found, Refusal)
        assert found.status == 400


def test_a_second_name_is_as_good_and_is_given_back() -> None:
    assert asked(model="alias").model == "alias"
    assert asked(model=None).model == "m"


@pytest.mark.parametrize(
    ("given", "read"),
    [
        (1, True),
        ("yes", True),
        ("True", True),
        (1.0, True),
        (0, False),
        ("off", False),
        (None, False),
    ],
)
def test_switches_are_read_as_leniently_as_vllm_reads_them(given: Any, read: bool) -> None:
    assert asked(stream=given).stream is read
    assert asked(echo=given).echo is read
    assert asked(stream=True, stream_options={"include_usage": given}).usage_at_end is read


@pytest.mark.parametrize(
    ("body", "where", "kind"),
    [
        ({"stream": "maybe"}, "body.stream", "bool_parsing"),
        ({"stream": 2}, "body.stream", "bool_parsing"),
        ({"stream": []}, "body.stream", "bool_type"),
        ({"echo": "q"}, "body.echo", "bool_parsing"),
        ({"ignore_eos": "q"}, "body.ignore_eos", "bool_parsing"),
        ({"ignore_eos": None}, "body.ignore_eos", "bool_type"),
        ({"stream": True, "stream_options": 5}, "body.stream_options", "model_attributes_type"),
        (
            {"stream": True, "stream_options": {"include_usage": "q"}},
            "body.stream_options.include_usage",
            "bool_parsing",
        ),
    ],
)
def test_a_switch_that_is_none_is_refused_as_the_schema_refuses_it(
    body: dict[str, Any], where: str, kind: str
) -> None:
    found = refusal(**body)
    assert (found.status, found.param) == (400, where)
    assert found.message.startswith("1 validation error:")
    assert kind in found.message


@pytest.mark.parametrize("number", ["²", "٣", "9" * 5000, "--5", "1_0", ""])
def test_what_is_no_integer_is_vllms_400(number: str) -> None:
    found = refusal(max_tokens=number)
    assert found.status == 400
    assert "valid integer" in found.message


@pytest.mark.parametrize("value", [10**400, float("inf"), -(10**400)])
def test_a_number_out_of_all_range_is_refused_as_json(value: float) -> None:
    found = refusal(temperature=value) if value < 0 else refusal(top_p=value)
    assert found.status == 400
    json.dumps(found.body(), allow_nan=False).encode()


@pytest.mark.parametrize(
    "body", [{"model": "\ud800"}, {"prompt": "a\udfff"}, {"stop": ["a", {"b\ud800": 1}]}]
)
def test_half_of_a_surrogate_pair_is_no_text(body: dict[str, Any]) -> None:
    found = refusal(**body)
    assert found.status == 400
    json.dumps(found.body(), ensure_ascii=False).encode()


def test_prompts_and_samples_are_bounded() -> None:
    assert "prompts in one request" in refusal(prompt=["a"] * 5000).message
    assert "times n" in refusal(prompt=["a b", "c"] * 100, n=1000).message
    assert refusal(prompt=[[[[[1]]]]]).status == 400
    assert refusal(prompt=json.loads("[" * 900 + "1" + "]" * 900)).status == 400


def test_values_are_bounded_before_they_are_read() -> None:
    body = b'{"model":"m","prompt":[' + b"[]," * (REQUEST_ITEMS.most // 2) + b"[]]}"
    found = reader().completion(body)
    assert isinstance(found, Refusal)
    assert found.status == 413


@pytest.mark.parametrize("piece", [b"[],", b'{"a":1},'])
def test_lists_and_objects_are_bounded_while_they_are_read(piece: bytes) -> None:
    for count, status in ((REQUEST_CONTAINERS.most + 1, 413), (REQUEST_CONTAINERS.most - 2, 400)):
        found = reader().completion(b'{"model":"m","prompt":[' + piece * count + b'"[[["]}')
        assert isinstance(found, Refusal)
        assert found.status == status


def test_what_a_request_said_is_repeated_only_where_it_is_short() -> None:
    for body in (
        {"model": "x" * 100_000},
        {"stream": "x" * 100_000},
        {"prompt": 5, "x" * 100_000: "\ud800"},
    ):
        assert len(json.dumps(refusal(**body).body())) < 1000


@pytest.mark.parametrize("piece", [b"[1,2],", b'{"a":1},', b'"x",', b"1,"])
def test_many_values_are_read_as_few_are(piece: bytes) -> None:
    found = reader().completion(
        b'{"model":"m","prompt":[' + piece * (60_000 if len(piece) < 5 else 40_000) + b"1]}"
    )
    assert isinstance(found, Refusal)
    assert found.status == 400
    assert len(found.message) < 1000


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda part: st.lists(part) | st.dictionaries(st.text(), part),
)


@given(JSON)
def test_the_slow_reader_reads_what_the_quick_one_reads(value: Any) -> None:
    text = json.dumps(value).encode()
    assert _read_slowly(text) == json.loads(text)


@given(st.binary(max_size=30) | st.text(alphabet='[]{}:,"1ea \\u', max_size=30).map(str.encode))
def test_the_slow_reader_refuses_what_the_quick_one_refuses(text: bytes) -> None:
    try:
        quick = json.loads(text)
    except (ValueError, RecursionError):
        with pytest.raises((ValueError, RecursionError)):
            _read_slowly(text)
        return
    assert repr(_read_slowly(text)) == repr(quick)


def test_several_answers_need_chance() -> None:
    assert "n must be 1 when using greedy sampling, got 2." in refusal(temperature=0, n=2).message
    assert asked(temperature=0, n=1).wanted[0].n == 1
    assert asked(temperature=0.7, n=2).wanted[0].n == 2


def test_an_echo_without_output_gives_the_prompt_alone() -> None:
    found = asked(echo=True, max_tokens=0)
    assert (found.prompt_alone, found.wanted[0].max_tokens) == (True, 1)
    assert not asked(echo=True, max_tokens=1).prompt_alone
    assert "max_tokens must be at least 1" in refusal(max_tokens=0).message
