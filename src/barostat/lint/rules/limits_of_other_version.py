"""Limits that were derived for another version of the engine.

Meaning: the limits document says engineVersion, and the image is of another minor version: defaults, memory accounting and arguments
differ between minors.
Impact: the pool is another one than the numbers were derived from.

Bad:

    {kind: ServingLimits, apiVersion: barostat.dev/v1alpha1, spec: {model: Qwen/Qwen3-8B, engineVersion: "0.19.0"}}
    ---
    {kind: Pod, apiVersion: v1, metadata: {name: a}, spec: {containers: [{name: a, image: "vllm/vllm-openai:v0.32.0",
      args: ["--model", "Qwen/Qwen3-8B"], resources: {limits: {nvidia.com/gpu: 1}}}]}}

Good:

    {kind: ServingLimits, apiVersion: barostat.dev/v1alpha1, spec: {model: Qwen/Qwen3-8B, engineVersion: "0.32.0"}}
    ---
    {kind: Pod, apiVersion: v1, metadata: {name: a}, spec: {containers: [{name: a, image: "vllm/vllm-openai:v0.32.0",
      args: ["--model", "Qwen/Qwen3-8B"], resources: {limits: {nvidia.com/gpu: 1}}}]}}

Fix: plan again for the running version, and review the changes: `barostat limits diff`.
Source: vLLM 0.20.0 (graphs inside the share, default 0.92), 0.28.0 (budgets of large cards).
"""

from __future__ import annotations

from collections.abc import Iterator

from barostat.core.version import parse_version
from barostat.lint.facts import Scene
from barostat.lint.rule import Found, Rule


def judge(scene: Scene) -> Iterator[Found]:
    """Every engine whose minor version is not its limits'."""
    for engine in scene.engines:
        limits = scene.limits_for(engine)
        if limits is None or limits.version is None or engine.version is None:
            continue
        stated = parse_version(limits.version.text)
        if stated is not None and stated.release[:2] != engine.version.release[:2]:
            yield Found(
                limits.version.place,
                f"the limits were derived for vLLM {stated}, and {engine.name} runs {engine.version}",
                "plan anew for the version that runs",
            )


RULE = Rule("limits-of-other-version", "limits derived for another version", judge, "warning")
