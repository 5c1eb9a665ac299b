"""No limit on a request's input.

Meaning: nothing says how long a prompt may be below the whole context: neither a limits document
nor a gateway's.
Impact: the longest prompts, which are the commonest trigger of KV pressure, get in.

Bad:

    vllm serve Qwen/Qwen3-8B

Good:

    {kind: ServingLimits, apiVersion: barostat.dev/v1alpha1, spec: {request: {maxInputTokens: 8192,
    maxOutputTokens: 1024,
      maxStreamSeconds: 120,
      onMissingOutputLimit: refuse}, capacity: {headroomRatio: 0.1}}}
    ---
    {kind: Pod, apiVersion: v1, metadata: {name: a}, spec: {containers: [{name: a, image:
    "vllm/vllm-openai:v0.32.0",
      args: ["--model", "Qwen/Qwen3-8B"], resources: {limits: {nvidia.com/gpu: 1}}}]}}

Fix: request.maxInputTokens in the limits document, enforced at the gateway.
Source: the prevention checklist, section 1.
"""

from __future__ import annotations

from collections.abc import Iterator

from barostat.lint.facts import Scene
from barostat.lint.rule import Found, Rule


def judge(scene: Scene) -> Iterator[Found]:
    """Every engine for which no limits document says it."""
    for engine in scene.engines:
        limits = scene.limits_for(engine)
        if engine.complete and (limits is None or "request.maxInputTokens" not in limits.numbers):
            yield Found(
                engine.place,
                "nothing limits a request's input below the whole context",
                "request.maxInputTokens in a limits file",
            )


RULE = Rule(
    "no-input-limit",
    "no limit on a request's input",
    judge,
    "note",
    "medium",
    "pedant",
    topic="limits",
)
