"""No model is named.

Meaning: Without `--model` and without a first argument vLLM serves its default, a tiny model for
first tries.
Impact: The server starts, is healthy, and answers with vLLM's default model; requests that name the
intended model get 404.

Bad:

    {kind: Deployment, apiVersion: apps/v1, metadata: {name: a}, spec: {selector: {matchLabels: {app:
    a}}, template: {metadata: {labels: {app: a}}, spec: {containers: [{name: a, image:
    "vllm/vllm-openai:v0.32.0", resources: {limits: {nvidia.com/gpu: 1}}}]}}}}

Good:

    {kind: Deployment, apiVersion: apps/v1, metadata: {name: a}, spec: {selector: {matchLabels: {app:
    a}}, template: {metadata: {labels: {app: a}}, spec: {containers: [{name: a, image:
    "vllm/vllm-openai:v0.32.0", args: ["--model", "Qwen/Qwen3-8B"], resources: {limits:
    {nvidia.com/gpu: 1}}}]}}}}

Fix: The model as the first argument of `vllm serve`, or `--model`.
Source: vLLM 0.32.0 ModelConfig.model (Qwen/Qwen3-0.6B; facebook/opt-125m in old versions).
"""

from __future__ import annotations

from collections.abc import Iterator

from barostat.lint.facts import Engine, Scene
from barostat.lint.rule import Found, Rule

_NAMED_BY = ("model", "model_tag", "config", "model_id", "model_dir")


def judge(scene: Scene) -> Iterator[Found]:
    """Every engine of a workload whose whole command line is known and names none."""
    for engine in scene.engines:
        if engine.form == "manifest" and engine.complete and names_none(engine):
            yield Found(
                engine.place,
                "no model is named: vLLM serves its default, a tiny model for first tries",
                "the model as the first argument, or --model",
            )


def names_none(engine: Engine) -> bool:
    """True if no argument names a model and no other place brings one."""
    is_worker = engine.has("headless") or engine.stored_model is not None or bool(engine.unset)
    return engine.model is None and not is_worker and not any(map(engine.has, _NAMED_BY))


RULE = Rule("no-model-named", "an engine without a model", judge, "warning")
