"""An engine that no limits document is about.

Meaning: what the model is allowed to do under load is written down nowhere: no ServingLimits names this workload or this model.
Impact: limits are found in an incident instead of in a review.

Bad:

    vllm serve Qwen/Qwen3-8B

Good:

    {kind: ServingLimits, apiVersion: barostat.dev/v1alpha1, spec: {model: Qwen/Qwen3-8B, request: {maxInputTokens: 8192}}}
    ---
    {kind: Pod, apiVersion: v1, metadata: {name: a}, spec: {containers: [{name: a, image: "vllm/vllm-openai:v0.32.0",
      args: ["--model", "Qwen/Qwen3-8B"], resources: {limits: {nvidia.com/gpu: 1}}}]}}

Fix: `barostat plan ... -o limits > limits.yaml`, beside the manifest.
Source: the prevention checklist, section 7.
"""

from __future__ import annotations

from collections.abc import Iterator

from barostat.lint.facts import Scene
from barostat.lint.rule import Found, Rule


def judge(scene: Scene) -> Iterator[Found]:
    """Every engine without limits."""
    for engine in scene.engines:
        if scene.limits_for(engine) is None and engine.place not in scene.contested:
            yield Found(
                engine.place, f"no limits file is about {engine.name}", "`barostat plan` makes one"
            )


RULE = Rule(
    "no-limits-file",
    "no limits file for this engine",
    judge,
    "note",
    "high",
    "pedant",
    topic="limits",
)
