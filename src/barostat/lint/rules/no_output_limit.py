"""No limit on a request's output.

Meaning: a client that sends no max_tokens may write until the context is full; neither a limits
document nor `--override-generation-config` (max_new_tokens, since 0.18) says less.
Impact: decoding grows what is resident, and that growth is what preempts.

Bad:

    vllm serve Qwen/Qwen3-8B

Good:

    vllm serve Qwen/Qwen3-8B --override-generation-config '{"max_new_tokens": 1024}'

Fix: request.maxOutputTokens in the limits document; or max_new_tokens, which caps every request
since 0.18.
Source: vLLM 0.18.0 and later, entrypoints (default sampling parameters); the prevention checklist,
section 1.
"""

from __future__ import annotations

from collections.abc import Iterator

from barostat.lint.facts import Scene
from barostat.lint.rule import Found, Rule


def judge(scene: Scene) -> Iterator[Found]:
    """Every engine for which no limits document says it."""
    for engine in scene.engines:
        limits = scene.limits_for(engine)
        given = engine.arguments.get("override_generation_config")
        capped = given is not None and "max_new_tokens" in (given.text or "")
        if (
            engine.complete
            and not capped
            and (limits is None or "request.maxOutputTokens" not in limits.numbers)
        ):
            yield Found(
                engine.place,
                "nothing limits a request's output: one without max_tokens may write until "
                "the context is full",
                "request.maxOutputTokens in a limits file, or max_new_tokens in "
                "--override-generation-config",
            )


RULE = Rule(
    "no-output-limit",
    "no limit on a request's output",
    judge,
    "note",
    "medium",
    "pedant",
    topic="limits",
)
