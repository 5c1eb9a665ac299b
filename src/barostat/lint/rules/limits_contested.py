"""Several limits documents are about one engine.

Meaning: two documents or more name the same workload or model, and nothing says which of them the engine is held to.
Impact: it is held to none: numbers that differ from both are not found, and the gateway may enforce another file than the one reviewed.

Bad:

    {kind: ServingLimits, apiVersion: barostat.dev/v1alpha1, spec: {model: Qwen/Qwen3-8B, engine: {maxNumSeqs: 32}}}
    ---
    {kind: ServingLimits, apiVersion: barostat.dev/v1alpha1, spec: {model: Qwen/Qwen3-8B, engine: {maxNumSeqs: 64}}}
    ---
    {kind: Pod, apiVersion: v1, metadata: {name: a}, spec: {containers: [{name: a, image: "vllm/vllm-openai:v0.32.0",
      args: ["--model", "Qwen/Qwen3-8B", "--max-num-seqs=256"], resources: {limits: {nvidia.com/gpu: 1}}}]}}

Good:

    {kind: ServingLimits, apiVersion: barostat.dev/v1alpha1, spec: {model: Qwen/Qwen3-8B, engine: {maxNumSeqs: 32}}}
    ---
    {kind: ServingLimits, apiVersion: barostat.dev/v1alpha1, spec: {model: Qwen/Qwen3-8B, targetRef: {name: b}, engine: {maxNumSeqs: 64}}}
    ---
    {kind: Pod, apiVersion: v1, metadata: {name: a}, spec: {containers: [{name: a, image: "vllm/vllm-openai:v0.32.0",
      args: ["--model", "Qwen/Qwen3-8B", "--max-num-seqs=32"], resources: {limits: {nvidia.com/gpu: 1}}}]}}

Fix: one document for each workload: `targetRef` says which it is about; what is only compared lies elsewhere.
Source: the prevention checklist, section 7.
"""

from __future__ import annotations

from collections.abc import Iterator

from barostat.lint.facts import Limits, Scene
from barostat.lint.rule import Found, Rule


def judge(scene: Scene) -> Iterator[Found]:
    """Every engine that several documents claim."""
    for engine in scene.engines:
        if claims := scene.contested.get(engine.place):
            yield Found(
                engine.place,
                f"{len(claims)} limits documents are about {engine.name} ({', '.join(map(_where, claims))}): it is held to none of them",
                "targetRef: {name: ...} in each, or one of them elsewhere",
            )


def _where(limits: Limits) -> str:
    return f"{limits.place.file.rsplit('/', 1)[-1]}:{limits.place.line}"


RULE = Rule("limits-contested", "several limits for one engine", judge, "warning", "high")
