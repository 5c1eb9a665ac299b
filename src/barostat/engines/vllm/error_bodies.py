"""What vLLM answers where it does not serve a request: status, type and text by version.

Source: vLLM 0.12.0 to 0.33.0, entrypoints/serve/exception_handling, renderers/params,
vllm/exceptions.
"""

from __future__ import annotations

from dataclasses import dataclass

from barostat.core.version import EngineVersion

_REPEATED_CHARS = 1 << 16


@dataclass(frozen=True, slots=True)
class Refusal:
    """An answer other than 200. `kind` is what the body calls its type."""

    status: int
    message: str
    kind: str
    param: str | None = None

    def body(self) -> dict[str, object]:
        """Return vLLM's JSON error body."""
        return {
            "error": {
                "message": self.message,
                "type": self.kind,
                "param": self.param,
                "code": self.status,
            }
        }


def shortened(text: str) -> str:
    """A client's text as an answer repeats it: a long one by its length, for each repetition costs
    as much as the request did.
    """
    return text if len(text) <= _REPEATED_CHARS else f"<str of {len(text)} characters>"


def bad_request(message: str, param: str | None = None, value: object = None) -> Refusal:
    """Return the 400 for an invalid request. The message names the parameter and the problem."""
    if param is not None:
        message += (
            f" (parameter={param})" if value is None else f" (parameter={param}, value={value})"
        )
    return Refusal(400, message, "BadRequestError", param)


def invalid_field(
    kind: str, where: str, message: str, given: object, context: dict[str, str] | None = None
) -> Refusal:
    """Return the 400 for a field that is missing or of the wrong type, as in vLLM's schema
    validation. Large values are replaced by their size.
    """
    if isinstance(given, list | dict):
        given = f"<{type(given).__name__} of {len(given)} items>"
    elif isinstance(given, str):
        given = shortened(given)
    elif not isinstance(given, str | int | float):
        given = str(given)
    detail: dict[str, object] = {"type": kind, "loc": where, "msg": message, "input": given}
    if context:
        detail["ctx"] = context
    return Refusal(400, f"1 validation error:\n  {detail}", "Bad Request", where)


def not_json() -> Refusal:
    """400: the body does not say that it is JSON."""
    return Refusal(
        400,
        "1 validation error:\n  Unsupported Media Type: Only 'application/json' is allowed",
        "Bad Request",
    )


def prompt_too_long(
    version: EngineVersion, max_model_len: int, prompt_tokens: int, output_tokens: int
) -> Refusal:
    """400: the prompt leaves no room in the model's context."""
    head = f"This model's maximum context length is {max_model_len} tokens. However, "
    if version.at_least("0.32.0"):
        qualifier = "at least " if prompt_tokens == max_model_len + 1 else ""
        text = (
            f"your prompt contains {qualifier}{prompt_tokens} input tokens, which exceeds "
            "this limit even without any output tokens. "
            "Please reduce the length of the input prompt."
        )
    elif version.at_least("0.18.0"):
        text = (
            f"you requested {output_tokens} output tokens and your prompt contains "
            f"{prompt_tokens} input tokens, for a total of "
            f"{prompt_tokens + output_tokens} tokens. Please reduce the length of the "
            "input prompt or the number of requested output "
            "tokens."
        )
    else:
        text = (
            f"your request has {prompt_tokens} input tokens. Please reduce the length of the "
            "input messages."
        )
    return (
        bad_request(head + text, "input_tokens", prompt_tokens)
        if version.at_least("0.18.0")
        else bad_request(head + text)
    )


def text_too_long(max_model_len: int, characters: int, most_characters: int) -> Refusal:
    """400: a text that cannot fit whatever its tokens are."""
    return bad_request(
        f"This model's maximum context length is {max_model_len} tokens. However, your "
        f"prompt contains {characters} characters (more than "
        f"{most_characters} characters, which is the upper bound for {max_model_len} input "
        "tokens). Please reduce the length of the input "
        "prompt.",
        "input_text",
        characters,
    )


def output_too_long(
    version: EngineVersion, max_model_len: int, prompt_tokens: int, output_tokens: int
) -> Refusal | None:
    """400 where prompt and max_tokens together exceed the context; None if the version cuts
    max_tokens instead (0.32.0).
    """
    if version.at_least("0.32.0"):
        return None
    if version.at_least("0.18.0"):
        return prompt_too_long(version, max_model_len, prompt_tokens, output_tokens)
    return bad_request(
        f"'max_tokens' or 'max_completion_tokens' is too large: {output_tokens}. This "
        f"model's maximum context length is {max_model_len} "
        f"tokens and your request has {prompt_tokens} input tokens ({output_tokens} > "
        f"{max_model_len} - {prompt_tokens}).",
        "max_tokens" if version.at_least("0.13.0") else None,
    )


def limit_above_context(name: str, given: int, max_model_len: int) -> Refusal:
    """400: max_tokens alone is above the model's length."""
    text = (
        f"{name}={given} cannot be greater than max_model_len={max_model_len}. Please request "
        "fewer output tokens."
    )
    return bad_request(text, name, given)


def no_room_for_output(max_model_len: int) -> Refusal:
    """400: a prompt to /v1/responses that fills the model's context."""
    return Refusal(
        400,
        f"The engine prompt length {max_model_len} exceeds the max_model_len {max_model_len}. "
        "Please reduce prompt.",
        "invalid_request_error",
        "input",
    )


def model_not_found(version: EngineVersion, name: str, served: tuple[str, ...]) -> Refusal:
    """404: nothing of that name is served."""
    hint = f" Valid aliases: {', '.join(served)}." if version.at_least("0.32.0") else ""
    return Refusal(
        404, f"The model `{shortened(name)}` does not exist.{hint}", "NotFoundError", "model"
    )


def queue_full(limit: str) -> Refusal:
    """503: a queue limit turns the request away."""
    reasons = {
        "max_num_queued_reqs": "The engine is currently busy and cannot accept new requests.",
        "max_num_queued_tokens": "The engine has reached its prefill token backlog limit.",
    }
    return Refusal(
        503,
        f"{reasons[limit]} Please try again later or on a different instance.",
        "Service Unavailable",
    )


def engine_dead() -> Refusal:
    """500: the engine core is gone."""
    return Refusal(
        500,
        "EngineCore encountered an issue. See stack trace (above) for the root cause.",
        "InternalServerError",
    )
