"""The body of a request -> what it asks for, or the refusal that vLLM would answer.

Read and heeded: model, prompt (text, token ids, several of either), messages, max_tokens,
max_completion_tokens, min_tokens, ignore_eos, n, stream, stream_options, echo, priority,
return_token_ids. Everything else that a request may carry (temperature, stop, logprobs, tools,
response_format ...) is accepted and has no effect: the twin's words depend on its seed and the
prompt alone.
"""

from __future__ import annotations

import hashlib
import math
import re
import time
from dataclasses import dataclass
from typing import Any

from barostat.core.bounds import REQUEST_PROMPTS, REQUEST_SEQUENCES
from barostat.engines.vllm import error_bodies as errors
from barostat.engines.vllm.error_bodies import Refusal
from barostat.twin.workload.words import Tokenizer
from barostat.twin_server.frontend import Prompt, WantedSequence
from barostat.twin_server.request_json import read_object
from barostat.twin_server.serving import Serving

COMPLETION_TOKENS = 16
"""max_tokens of a completion that names none."""
_LONGEST_PIECE = 16
_WORK = bytes(65_536)
_MOST_ANSWERS = 16384  # vLLM 0.32.0, VLLM_MAX_N_SEQUENCES
_GREEDY = 1e-5
"""A temperature below is none. Source: vLLM 0.32.0, sampling_params._SAMPLING_EPS."""
_INTEGER = re.compile(r"[+-]?[0-9]{1,19}")
_YES, _NO = (
    frozenset(("1", "on", "t", "true", "y", "yes")),
    frozenset(("0", "off", "f", "false", "n", "no")),
)
_STREAM_OPTIONS = ("include_usage", "continuous_usage_stats")
_NUMBERS = (
    "max_tokens", "max_completion_tokens", "max_output_tokens", "min_tokens", "n", "priority",
)  # fmt: skip
_RANGES = (
    ("temperature", 0.0, float("inf"), "must be non-negative"),
    ("top_p", 1e-12, 1.0, "must be in (0, 1]"),
)


@dataclass(frozen=True, slots=True)
class GenerationRequest:
    """A request that can be served. `wanted`: one per prompt, as max_tokens may be cut to what
    fits.

    `prompt_alone`: the prompt is given back and nothing else, though a token is generated: echo,
    and no output asked for.
    """

    prompts: tuple[Prompt, ...]
    wanted: tuple[WantedSequence, ...]
    model: str
    chat: bool
    stream: bool = False
    usage_at_end: bool = False
    usage_always: bool = False
    echo: bool = False
    prompt_alone: bool = False
    token_ids: bool = False

    @property
    def prompt_tokens(self) -> int:
        """Tokens of all prompts together."""
        return sum(len(one.tokens) for one in self.prompts)


class Reader:
    """Reads requests for one engine."""

    def __init__(self, serving: Serving, tokenizer: Tokenizer) -> None:
        self.serving = serving
        self.tokenizer = tokenizer

    def tokenize(self, text: str) -> list[int]:
        """The tokens of the text. It takes the CPU time that vLLM's tokenizer takes: the host is a
        limit of its own.
        """
        until_s = time.thread_time() + len(text) / self.serving.tokenized_bytes_per_s
        tokens = self.tokenizer.encode(text)
        while time.thread_time() < until_s:
            hashlib.sha256(_WORK)
        return tokens

    def json_body(self, body: bytes | bytearray) -> dict[str, Any] | Refusal:
        """Parse the JSON object of a body."""
        return read_object(body)

    def model_refusal(self, body: dict[str, Any]) -> Refusal | None:
        """Why that model is not served here; None if it is."""
        name = body.get("model")
        if name is None or name in self.serving.names:
            return None
        if not isinstance(name, str):
            return errors.invalid_field(
                "string_type", "body.model", "Input should be a valid string", name
            )
        return errors.model_not_found(self.serving.version, name, self.serving.names)

    def completion(self, raw: bytes | bytearray) -> GenerationRequest | Refusal:
        """Parse a body of /v1/completions."""
        body = self.json_body(raw)
        if isinstance(body, Refusal):
            return body
        if (refusal := self.model_refusal(body)) is not None:
            return refusal
        prompt = body.get("prompt")
        if prompt == []:
            return errors.bad_request("You must pass at least one prompt")
        if prompt is None or prompt == "":
            return errors.bad_request(
                "Either prompt or prompt_embeds must be provided and non-empty.", "prompt"
            )
        prompts = self.prompts(prompt)
        return prompts if isinstance(prompts, Refusal) else self._asked(body, prompts, chat=False)

    def chat(self, raw: bytes | bytearray) -> GenerationRequest | Refusal:
        """Parse a body of /v1/chat/completions."""
        body = self.json_body(raw)
        if isinstance(body, Refusal):
            return body
        if (refusal := self.model_refusal(body)) is not None:
            return refusal
        text = self.chat_text(body)
        if isinstance(text, Refusal):
            return text
        prompts = self.prompts(text)
        return prompts if isinstance(prompts, Refusal) else self._asked(body, prompts, chat=True)

    def response(
        self, body: dict[str, Any], messages: list[dict[str, Any]]
    ) -> GenerationRequest | Refusal:
        """Return what a body sent to /v1/responses asks for. `messages`: its input as a chat."""
        length = self.serving.settings.max_model_len
        cut = body.get("truncation") == "auto"
        text = self.chat_text({"messages": messages})
        prompts = text if isinstance(text, Refusal) else self.prompts(text, cut=cut)
        if isinstance(prompts, Refusal):
            return prompts
        if cut:
            prompts = tuple(prompt[: length - 1] for prompt in prompts)
        numbers = self._numbers(body | dict.fromkeys(("max_tokens", "max_completion_tokens", "n")))
        if isinstance(numbers, Refusal):
            return numbers
        limit = numbers["max_output_tokens"]
        if limit is not None and limit > length:
            return errors.limit_above_context("max_output_tokens", limit, length)
        if len(prompts[0]) == length:
            return errors.no_room_for_output(length)
        given = {
            **body, "max_tokens": None, "max_completion_tokens": limit, "n": None, "min_tokens": None, "stream_options": None,
            "echo": False, "return_token_ids": False,
        }  # fmt: skip
        return self._asked(given, prompts, chat=True)

    def chat_text(self, body: dict[str, Any]) -> str | Refusal:
        """The messages as one text: role and content of each, and the mark after which the
        assistant speaks.
        """
        messages = body.get("messages")
        if messages is None:
            return errors.invalid_field("missing", "body.messages", "Field required", body)
        if not isinstance(messages, list):
            return errors.invalid_field(
                "list_type", "body.messages", "Input should be a valid list", messages
            )
        if not messages:
            return errors.bad_request(
                "Cannot apply chat template to an empty conversation. Provide at least one message."
            )
        parts = []
        for place, message in enumerate(messages):
            if not isinstance(message, dict) or not isinstance(message.get("role"), str):
                return errors.invalid_field(
                    "missing", f"body.messages.{place}.role", "Field required", message
                )
            content = message.get("content")
            if isinstance(content, list):
                content = "".join(
                    str(part.get("text") or "") for part in content if isinstance(part, dict)
                )
            parts.append(f"<|{message['role']}|>{content if isinstance(content, str) else ''}</s>")
        return "".join(parts) + "<|assistant|>"

    def too_long(self, text: str, *, at_least: int = 0) -> Refusal | None:
        """Why a text of more characters than any context's tokens have is not looked at; None if
        it is. `at_least` are allowed.
        """
        length = self.serving.settings.max_model_len
        most = max(length * _LONGEST_PIECE, at_least)
        return errors.text_too_long(length, len(text), most) if len(text) > most else None

    def prompts(
        self, prompt: object, name: str = "prompt", *, cut: bool = False
    ) -> tuple[list[int], ...] | Refusal:
        """Return the token ids of each prompt. `name`: the field that it came in; `cut`: whether
        it is cut to a length afterwards, so that a long text is no error.
        """
        if isinstance(prompt, str):
            if not cut and (refusal := self.too_long(prompt)) is not None:
                return refusal
            tokens = self.tokenize(prompt)
            # A text is cut one token beyond what is allowed: more is not looked at.
            return (tokens if cut else tokens[: self.serving.settings.max_model_len + 1],)
        if isinstance(prompt, list):
            if all(type(token) is int for token in prompt):
                return self._ids(prompt)
            if len(prompt) > REQUEST_PROMPTS.most:
                return errors.bad_request(
                    f"at most {REQUEST_PROMPTS.most} prompts in one request, got {len(prompt)}.",
                    name,
                )
            found: list[list[int]] = []
            for one in prompt:
                plain = isinstance(one, str) or (
                    isinstance(one, list) and all(type(token) is int for token in one)
                )
                several = self.prompts(one, name, cut=cut) if plain and one else None
                if several is None or (not isinstance(several, Refusal) and len(several) != 1):
                    break
                if isinstance(several, Refusal):
                    return several
                found += several
            else:
                return tuple(found)
        return errors.invalid_field(
            "string_type", f"body.{name}", "Input should be a valid string", prompt
        )

    def _ids(self, tokens: list[int]) -> tuple[list[int], ...] | Refusal:
        if tokens and (max(tokens) >= self.serving.vocabulary or min(tokens) < 0):
            return errors.bad_request(
                f"Token id {max(tokens) if min(tokens) >= 0 else min(tokens)} is out of vocabulary"
            )
        return (tokens,)

    def _asked(
        self, body: dict[str, Any], prompts: tuple[list[int], ...], *, chat: bool
    ) -> GenerationRequest | Refusal:
        numbers = self._numbers(body)
        if isinstance(numbers, Refusal):
            return numbers
        if (samples := len(prompts) * (numbers["n"] or 1)) > REQUEST_SEQUENCES.most:
            told = f"prompts times n must be at most {REQUEST_SEQUENCES.most}, got {samples}."
            return errors.bad_request(told, "n", numbers["n"])
        limit = (
            numbers["max_completion_tokens"]
            if chat and numbers["max_completion_tokens"] is not None
            else numbers["max_tokens"]
        )
        if body.get("stream_options") and not body.get("stream"):
            return errors.bad_request(
                "Stream options can only be defined when `stream=True`.", "stream_options"
            )
        switches = self._switches(body, chat=chat)
        if isinstance(switches, Refusal):
            return switches
        echo = switches["echo"] and not chat
        alone = echo and limit == 0
        wanted = []
        for prompt in prompts:
            one = self._wanted(
                len(prompt),
                1 if alone else limit,
                numbers,
                chat=chat,
                ignore_eos=switches["ignore_eos"],
            )
            if isinstance(one, Refusal):
                return one
            wanted.append(one)
        return GenerationRequest(
            prompts=tuple(map(Prompt, prompts)),
            wanted=tuple(wanted),
            model=body.get("model") or self.serving.name,
            chat=chat,
            stream=switches["stream"],
            usage_at_end=switches["include_usage"],
            usage_always=switches["include_usage"] and switches["continuous_usage_stats"],
            echo=echo,
            prompt_alone=alone,
            token_ids=switches["return_token_ids"],
        )

    def _switches(self, body: dict[str, Any], *, chat: bool) -> dict[str, bool] | Refusal:
        """Read boolean options as leniently as vLLM's request schema; null means off where allowed."""
        options = body.get("stream_options")
        if options is not None and not isinstance(options, dict):
            message = "Input should be a valid dictionary or object to extract fields from"
            return errors.invalid_field(
                "model_attributes_type", "body.stream_options", message, options
            )
        asked = [
            (name, f"body.{name}", body)
            for name in ("stream", "echo", "ignore_eos", "return_token_ids")
        ]
        asked += [(name, f"body.stream_options.{name}", options or {}) for name in _STREAM_OPTIONS]
        found = {}
        for name, where, given in asked:
            value = given.get(name, False)
            read = (
                False
                if value is None and name != "ignore_eos" and not (chat and name == "echo")
                else _switch(value)
            )
            if isinstance(read, str):
                more = ", unable to interpret input" if read == "bool_parsing" else ""
                return errors.invalid_field(
                    read, where, f"Input should be a valid boolean{more}", value
                )
            found[name] = read
        return found

    def _numbers(self, body: dict[str, Any]) -> dict[str, int | None] | Refusal:
        found: dict[str, int | None] = {}
        for name in _NUMBERS:
            value = body.get(name)
            if isinstance(value, str) and _INTEGER.fullmatch(value.strip()):
                value = int(value)
            if value is not None and (isinstance(value, bool) or not isinstance(value, int)):
                message = "Input should be a valid integer, unable to parse string as an integer"
                return errors.invalid_field("int_parsing", f"body.{name}", message, value)
            found[name] = value
        for name, lowest, highest, rule in _RANGES:
            value = body.get(name)
            if (
                isinstance(value, int | float)
                and not isinstance(value, bool)
                and not lowest <= value <= highest
            ):
                return errors.bad_request(
                    f"{name} {rule}, got {_shown(value)}.", name, _shown(value)
                )
        if found["n"] is not None and found["n"] < 1:
            return errors.bad_request(f"n must be at least 1, got {found['n']}.")
        greedy = (
            isinstance(heat := body.get("temperature"), int | float)
            and not isinstance(heat, bool)
            and heat < _GREEDY
        )
        if greedy and (found["n"] or 1) > 1:
            return errors.bad_request(f"n must be 1 when using greedy sampling, got {found['n']}.")
        if (
            found["n"] is not None
            and found["n"] > _MOST_ANSWERS
            and self.serving.version.at_least("0.32.0")
        ):
            more = "To increase this limit, set the VLLM_MAX_N_SEQUENCES environment variable."
            return errors.bad_request(
                f"n must be at most {_MOST_ANSWERS}, got {found['n']}. {more}"
            )
        return found

    def _wanted(
        self,
        prompt_tokens: int,
        limit: int | None,
        numbers: dict[str, int | None],
        *,
        chat: bool,
        ignore_eos: bool,
    ) -> WantedSequence | Refusal:
        version, length = self.serving.version, self.serving.settings.max_model_len
        if limit is not None and limit > length and version.at_least("0.16.0"):
            name = (
                "max_completion_tokens"
                if limit == numbers["max_completion_tokens"]
                else "max_tokens"
            )
            return errors.limit_above_context(name, limit, length)
        room = length - prompt_tokens
        if room < 0 or (room == 0 and version.before("0.32.0")):
            output = (0 if chat else COMPLETION_TOKENS) if limit is None else limit
            return errors.prompt_too_long(version, length, prompt_tokens, output)
        asked = (room if chat else COMPLETION_TOKENS) if limit is None else limit
        if (
            asked > room
            and (refusal := errors.output_too_long(version, length, prompt_tokens, asked))
            is not None
        ):
            return refusal
        tokens = min(asked, room)
        if tokens < 1:
            return errors.bad_request(
                f"max_tokens must be at least 1, got {tokens}.", "max_tokens", tokens
            )
        at_least = numbers["min_tokens"] or 0
        if not 0 <= at_least <= tokens:
            return errors.bad_request(
                f"min_tokens must be less than or equal to max_tokens={tokens}, got {at_least}."
                if at_least > 0
                else f"min_tokens must be greater than or equal to 0, got {at_least}."
            )
        return WantedSequence(
            tokens, at_least, ignore_eos, numbers["n"] or 1, numbers["priority"] or 0
        )


def _switch(value: object) -> bool | str:
    """The value as pydantic reads a boolean where it is not strict; else the kind of its error.

    Source: pydantic 2, conversion table (bool).
    """
    if isinstance(value, str):
        word = value.lower()
        return True if word in _YES else False if word in _NO else "bool_parsing"
    if isinstance(value, int) or (isinstance(value, float) and value.is_integer()):
        return bool(value) if value in (0, 1) else "bool_parsing"
    return "bool_type"


def _shown(value: float) -> float | str:
    """The number as a float; as text where it is none that JSON can hold."""
    try:
        return found if math.isfinite(found := float(value)) else str(found)
    except OverflowError:
        return (
            f"an integer of {value.bit_length():,} bits" if isinstance(value, int) else str(value)
        )
