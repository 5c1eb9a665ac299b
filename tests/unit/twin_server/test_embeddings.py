"""What an embedding request asks for, what it is refused with, and the bytes of its vectors."""

from __future__ import annotations

import base64
import json
import math
import struct
from dataclasses import replace
from typing import Any

import pytest

from barostat.engines.vllm.error_bodies import Refusal
from barostat.twin.workload.words import Tokenizer
from barostat.twin_server.embeddings import AskedVectors, VectorReader, Vectors, packed, vector
from barostat.twin_server.generation_request import Reader

from .test_generation_request import reader

SIZE = 8


def read(path: str = "embeddings", **body: Any) -> AskedVectors | Refusal:
    serving = replace(reader().serving, pooling=True, embedding_size=SIZE)
    vectors = VectorReader(Reader(serving, Tokenizer(serving.vocabulary)))
    raw = json.dumps({"model": "m", **body}).encode()
    return vectors.pooling(raw) if path == "pooling" else vectors.embeddings(raw)


def asked(**body: Any) -> AskedVectors:
    found = read(**body)
    assert isinstance(found, AskedVectors), found
    return found


def refused(**body: Any) -> Refusal:
    found = read(**body)
    assert isinstance(found, Refusal), found
    return found


@pytest.mark.parametrize(
    ("body", "lengths"),
    [
        ({"input": "one two three"}, [3]),
        ({"input": ["one", "one two"]}, [1, 2]),
        ({"input": [5] * 7}, [7]),
        ({"input": [[5] * 7, [6] * 3]}, [7, 3]),
        ({"input": [5] * 100}, [100]),
        ({"input": [5] * 150, "truncate_prompt_tokens": 16}, [16]),
        ({"input": "word " * 400, "truncate_prompt_tokens": -1}, [100]),
    ],
)
def test_every_form_of_input_is_read(body: dict[str, Any], lengths: list[int]) -> None:
    found = asked(**body)
    assert [len(one.tokens) for one in found.prompts] == lengths
    assert all(one.pooled and one.max_tokens == 1 for one in found.wanted)
    assert found.prompt_tokens == sum(lengths)


def test_a_conversation_is_one_text_wherever_it_stands() -> None:
    messages = [{"role": "user", "content": "one two"}]
    digests = {
        asked(messages=messages).prompts[0].digest,
        asked(input=messages).prompts[0].digest,
        asked(input=[messages, messages]).prompts[1].digest,
    }
    assert len(digests) == 1


def test_a_cut_keeps_the_side_that_is_asked_for() -> None:
    tokens = list(range(5, 55))
    first = asked(input=tokens, truncate_prompt_tokens=4)
    last = asked(input=tokens, truncate_prompt_tokens=4, truncation_side="left")
    assert first.prompts[0].tokens == tokens[:4]
    assert last.prompts[0].tokens == tokens[-4:]


@pytest.mark.parametrize(
    ("body", "status", "words"),
    [
        ({}, 400, "Field required"),
        ({"input": []}, 400, "at least one prompt"),
        ({"input": ""}, 400, "decoder prompt cannot be empty"),
        ({"input": 5}, 400, "valid string"),
        ({"input": [2000]}, 400, "out of vocabulary"),
        ({"input": [5] * 101}, 400, "maximum context length is 100 tokens"),
        ({"input": "word " * 2000}, 400, "maximum context length is 100 tokens"),
        ({"input": "x", "model": "no"}, 404, "The model `no` does not exist."),
        ({"input": "x", "dimensions": 4}, 400, "does not support Matryoshka embeddings"),
        ({"input": "x", "dimensions": "a"}, 400, "valid integer"),
        ({"input": "x", "encoding_format": "x"}, 400, "'float', 'base64', 'bytes' or 'bytes_only'"),
        ({"input": "x", "embed_dtype": "fp8_e4m3"}, 400, "'float16' or 'bfloat16'"),
        ({"input": "x", "normalize": True}, 400, "use `use_activation` instead"),
        ({"input": "x", "truncate_prompt_tokens": -2}, 400, "greater than or equal to -1"),
        ({"input": "x", "truncate_prompt_tokens": 101}, 400, "smaller truncation size"),
        ({"input": "x", "priority": "high"}, 400, "valid integer"),
    ],
)
def test_what_cannot_be_embedded_is_refused(body: dict[str, Any], status: int, words: str) -> None:
    found = refused(**body)
    assert found.status == status
    assert words in found.message


def test_pooling_takes_the_embed_task_alone() -> None:
    assert asked(path="pooling", input="x", task="embed").api == "pooling"
    assert (
        "--pooler-config.task classify"
        in refused(path="pooling", input="x", task="classify").message
    )


def test_more_numbers_than_an_answer_may_have_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    from barostat.core.bounds import VECTOR_VALUES

    monkeypatch.setattr(
        "barostat.twin_server.embeddings.VECTOR_VALUES", replace(VECTOR_VALUES, most=2 * SIZE)
    )
    assert len(asked(input=["a", "b"]).prompts) == 2
    assert "at most 2 embeddings" in refused(input=["a", "b", "c"]).message


def test_a_vector_has_length_1_and_hangs_on_seed_and_prompt() -> None:
    found = vector(0, "digest", 1024)
    assert math.fsum(value * value for value in found) == pytest.approx(1.0, abs=1e-6)
    assert found == vector(0, "digest", 1024)
    assert found != vector(1, "digest", 1024)
    assert found != vector(0, "other", 1024)


def answer(**body: Any) -> Vectors:
    return Vectors(asked(**body), "embd-1", 7, 0, SIZE)


def test_numbers_base64_and_bytes_are_the_same_vector() -> None:
    body = {"input": ["one", "two"]}
    whole = json.loads(answer(**body).body())
    assert whole["usage"]["prompt_tokens"] == whole["usage"]["total_tokens"] == 2
    numbers = [one["embedding"] for one in whole["data"]]
    coded = json.loads(answer(**body, encoding_format="base64").body())["data"]
    assert [
        list(struct.unpack(f"<{SIZE}f", base64.b64decode(one["embedding"]))) for one in coded
    ] == numbers
    raw = answer(**body, encoding_format="bytes", endianness="big")
    metadata = raw.metadata()
    assert metadata is not None
    places = json.loads(metadata)["data"]
    assert [
        list(struct.unpack(f">{SIZE}f", raw.body()[one["start"] : one["end"]])) for one in places
    ] == numbers
    alone = answer(**body, encoding_format="bytes_only")
    assert alone.metadata() is None
    assert not alone.is_json


def test_pooling_names_its_numbers_data() -> None:
    whole = json.loads(answer(path="pooling", input="one").body())
    assert whole["data"][0]["object"] == "pooling"
    assert len(whole["data"][0]["data"]) == SIZE


def test_smaller_types_round_to_the_nearest() -> None:
    assert packed([1.0, 0.1], "float16", big_endian=False) == struct.pack("<2e", 1.0, 0.1)
    # bfloat16 has 8 bits of precision: 1.00390625 lies between 1 and 1.0078125, and goes to even.
    assert packed([1.0, 1.00390625, 1.01], "bfloat16", big_endian=True).hex() == "3f803f803f81"
