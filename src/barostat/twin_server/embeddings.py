"""The embedding API: what a body asks for, and the vectors that answer it.

A vector depends on the seed and the prompt alone, has length 1, and as many numbers as the model's
hidden size.

Source: vLLM 0.32.0, entrypoints/pooling: EmbeddingRequest, PoolingRequest, TokenizeParams,
EmbeddingResponse, PoolingResponse, PoolingParams.verify.
"""

from __future__ import annotations

import array
import base64
import hashlib
import json
import math
import struct
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from barostat.core.bounds import VECTOR_VALUES
from barostat.engines.vllm import error_bodies as errors
from barostat.engines.vllm.error_bodies import Refusal
from barostat.twin_server.frontend import Prompt, WantedSequence
from barostat.twin_server.generation_request import Reader

Api = Literal["embeddings", "pooling"]
_ENCODINGS = ("float", "base64", "bytes", "bytes_only")
_DTYPES = ("float32", "float16", "bfloat16")
_ORDERS = ("native", "big", "little")
_SIDES = ("left", "right")


@dataclass(frozen=True, slots=True)
class AskedVectors:
    """An embedding request that can be served. `encoding`: one of vLLM's encoding_format;
    `endianness`: byte order of what is not JSON numbers (native, big, little).
    """

    api: Api
    prompts: tuple[Prompt, ...]
    wanted: tuple[WantedSequence, ...]
    model: str
    request_id: str
    encoding: str
    dtype: str
    endianness: str

    @property
    def big_endian(self) -> bool:
        """True if the most significant byte of a number comes first."""
        return (sys.byteorder if self.endianness == "native" else self.endianness) == "big"

    @property
    def prompt_tokens(self) -> int:
        """Tokens of all prompts together."""
        return sum(len(one.tokens) for one in self.prompts)


class VectorReader:
    """Reads embedding requests for one engine."""

    def __init__(self, reader: Reader) -> None:
        self._reader = reader
        self._serving = reader.serving

    def embeddings(self, raw: bytes | bytearray) -> AskedVectors | Refusal:
        """Return what a body sent to /v1/embeddings asks for."""
        return self._read(raw, "embeddings")

    def pooling(self, raw: bytes | bytearray) -> AskedVectors | Refusal:
        """Return what a body sent to /pooling asks for."""
        return self._read(raw, "pooling")

    def _read(self, raw: bytes | bytearray, api: Api) -> AskedVectors | Refusal:
        body = self._reader.json_body(raw)
        if isinstance(body, Refusal):
            return body
        refusal = (
            _removed(body)
            or _refused_choice(body)
            or self._refused_model(body)
            or self._refused_task(body, api)
            or self._refused_size(body)
        )
        if refusal is not None:
            return refusal
        priority = body.get("priority") or 0
        if not isinstance(priority, int):
            return errors.invalid_field(
                "int_type", "body.priority", "Input should be a valid integer", priority
            )
        prompts = self._prompts(body)
        if isinstance(prompts, Refusal):
            return prompts
        if len(prompts) * self._serving.embedding_size > VECTOR_VALUES.most:
            return errors.bad_request(
                f"at most {VECTOR_VALUES.most // self._serving.embedding_size} embeddings in one "
                f"request here, got {len(prompts)}.",
                "input",
            )
        wanted = WantedSequence(1, priority=priority, pooled=True)
        return AskedVectors(
            api=api,
            prompts=tuple(map(Prompt, prompts)),
            wanted=(wanted,) * len(prompts),
            model=self._serving.name,
            request_id=str(body.get("request_id") or ""),
            encoding=body.get("encoding_format") or "float",
            dtype=body.get("embed_dtype") or "float32",
            endianness=body.get("endianness") or "native",
        )

    def _refused_model(self, body: dict[str, Any]) -> Refusal | None:
        refusal = self._reader.model_refusal(body)
        if refusal is None or refusal.status != 404:
            return refusal
        return Refusal(
            404,
            f"The model `{errors.shortened(str(body['model']))}` does not exist.",
            "NotFoundError",
        )

    def _refused_task(self, body: dict[str, Any], api: Api) -> Refusal | None:
        task = body.get("task")
        if api == "pooling" and task not in (None, "embed"):
            return errors.bad_request(
                "Try switching the model's pooling_task via --pooler-config.task "
                f"{errors.shortened(str(task))}.",
                "task",
            )
        return None

    def _refused_size(self, body: dict[str, Any]) -> Refusal | None:
        size = body.get("dimensions")
        if size is None:
            return None
        if type(size) is not int:
            return errors.invalid_field(
                "int_parsing", "body.dimensions", "Input should be a valid integer", size
            )
        return errors.bad_request(
            f"Model {self._serving.name!r} does not support Matryoshka embeddings; dimensions "
            f"must be unset (received dimensions={size})."
        )

    def _prompts(self, body: dict[str, Any]) -> tuple[list[int], ...] | Refusal:
        """Return the token ids of each input, cut to truncate_prompt_tokens."""
        cut = body.get("truncate_prompt_tokens")
        length = self._serving.settings.max_model_len
        if cut is not None and (type(cut) is not int or cut < -1):
            return errors.invalid_field(
                "greater_than_equal",
                "body.truncate_prompt_tokens",
                "Input should be greater than or equal to -1",
                cut,
                {"ge": "-1"},
            )
        if cut is not None and cut > length:
            return errors.bad_request(
                "truncate_prompt_tokens value is greater than max_model_len. Please request a "
                "smaller truncation size."
            )
        texts = self._inputs(body)
        if isinstance(texts, Refusal):
            return texts
        if texts == []:
            return errors.bad_request("You must pass at least one prompt")
        prompts = self._reader.prompts(texts, "input", cut=cut is not None)
        if isinstance(prompts, Refusal):
            return prompts
        keep = length if cut in (None, -1) else cut
        if cut is not None:
            left = body.get("truncation_side") == "left"
            prompts = tuple(
                prompt[max(0, len(prompt) - keep) :] if left else prompt[:keep]
                for prompt in prompts
            )
        for prompt in prompts:
            if len(prompt) > length:
                return errors.prompt_too_long(self._serving.version, length, len(prompt), 0)
            if not prompt:
                return errors.bad_request("The decoder prompt cannot be empty")
        return prompts

    def _inputs(self, body: dict[str, Any]) -> object:
        """Return the input as text or token ids; a conversation is one text."""
        given = body.get("input", body.get("messages"))
        if given is None:
            return errors.invalid_field("missing", "body.input", "Field required", body)
        if isinstance(given, list) and given and all(map(_is_message, given)):
            return self._reader.chat_text({"messages": given})
        if isinstance(given, list) and given and all(map(_is_conversation, given)):
            texts = [self._reader.chat_text({"messages": one}) for one in given]
            return next((one for one in texts if isinstance(one, Refusal)), texts)
        return given


def _is_message(value: object) -> bool:
    return isinstance(value, dict) and isinstance(value.get("role"), str)


def _is_conversation(value: object) -> bool:
    return isinstance(value, list) and bool(value) and all(map(_is_message, value))


def _removed(body: dict[str, Any]) -> Refusal | None:
    if "normalize" in body:
        return errors.bad_request(
            "Parameter `normalize` was removed; use `use_activation` instead.", "normalize"
        )
    return None


def _refused_choice(body: dict[str, Any]) -> Refusal | None:
    """Return why a field that takes one of a few words is refused; None if none is."""
    for name, choices in (
        ("encoding_format", _ENCODINGS),
        ("embed_dtype", _DTYPES),
        ("endianness", _ORDERS),
        ("truncation_side", _SIDES),
    ):
        value = body.get(name)
        if value is not None and value not in choices:
            expected = ", ".join(f"'{one}'" for one in choices[:-1]) + f" or '{choices[-1]}'"
            return errors.invalid_field(
                "literal_error",
                f"body.{name}",
                f"Input should be {expected}",
                value,
                {"expected": expected},
            )
    return None


def vector(seed: int, digest: str, size: int) -> list[float]:
    """Return the embedding of the prompt with that digest: `size` float32 numbers of length 1."""
    raw = array.array("H", hashlib.shake_256(f"{seed}/{digest}".encode()).digest(2 * size))
    centred = [value - 32_767.5 for value in raw]
    length = math.sqrt(math.fsum(value * value for value in centred))
    packed = struct.pack(f"<{size}f", *(value / length for value in centred))
    return list(struct.unpack(f"<{size}f", packed))


def packed(values: Sequence[float], dtype: str, *, big_endian: bool) -> bytes:
    """Return the numbers as bytes of that type; bfloat16 keeps the upper half of a float32."""
    order = ">" if big_endian else "<"
    if dtype != "bfloat16":
        return struct.pack(f"{order}{len(values)}{'e' if dtype == 'float16' else 'f'}", *values)
    whole = struct.unpack(f"<{len(values)}I", struct.pack(f"<{len(values)}f", *values))
    halves = ((bits + 0x7FFF + (bits >> 16 & 1)) >> 16 & 0xFFFF for bits in whole)
    return struct.pack(f"{order}{len(values)}H", *halves)


@dataclass(frozen=True, slots=True)
class Vectors:
    """An answer to write. `answer_id`: with its prefix; `created`: unix seconds."""

    asked: AskedVectors
    answer_id: str
    created: int
    seed: int
    size: int

    @property
    def is_json(self) -> bool:
        """True if the answer is JSON, False if it is bytes with the rest in a header."""
        return not self.asked.encoding.startswith("bytes")

    def body(self) -> bytes:
        """Return the body of the answer."""
        asked = self.asked
        if not self.is_json:
            return b"".join(self._packed())
        key = "embedding" if asked.api == "embeddings" else "data"
        kind = "embedding" if asked.api == "embeddings" else "pooling"
        items = (
            f'{{"index":{index},"object":"{kind}","{key}":{text}}}'
            for index, text in enumerate(self._texts())
        )
        head = _json(
            {
                "id": self.answer_id,
                "object": "list",
                "created": self.created,
                "model": asked.model,
            }
        )
        usage = {
            **self._usage(), "completion_tokens": 0, "prompt_tokens_details": None, "completion_tokens_details": None,
        }  # fmt: skip
        return f'{head[:-1]},"data":[{",".join(items)}],"usage":{_json(usage)}}}'.encode()

    def metadata(self) -> bytes | None:
        """Return the header `metadata` of a binary response, if it has one."""
        asked = self.asked
        if asked.encoding != "bytes":
            return None
        each = self.size * (4 if asked.dtype == "float32" else 2)
        data = [
            {
                "index": index,
                "embed_dtype": asked.dtype,
                "endianness": asked.endianness,
                "start": index * each,
                "end": (index + 1) * each,
                "shape": [self.size],
            }
            for index in range(len(asked.prompts))
        ]
        return json.dumps(
            {
                "id": self.answer_id,
                "created": self.created,
                "model": asked.model,
                "data": data,
                "usage": self._usage(),
            }
        ).encode()

    def _usage(self) -> dict[str, Any]:
        tokens = self.asked.prompt_tokens
        return {"prompt_tokens": tokens, "total_tokens": tokens}

    def _packed(self) -> Iterator[bytes]:
        for prompt in self.asked.prompts:
            values = vector(self.seed, prompt.digest, self.size)
            yield packed(values, self.asked.dtype, big_endian=self.asked.big_endian)

    def _texts(self) -> Iterator[str]:
        if self.asked.encoding == "base64":
            yield from (f'"{base64.b64encode(one).decode()}"' for one in self._packed())
        else:
            for prompt in self.asked.prompts:
                yield _json(vector(self.seed, prompt.digest, self.size))


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
