"""The engine is started with other numbers than its limits say.

Meaning: the limits document was reviewed with one number, the manifest has another.
Impact: what was derived, reviewed and load-tested is not what runs.

Bad:

    {kind: ServingLimits, apiVersion: barostat.dev/v1alpha1, spec: {model: Qwen/Qwen3-8B, engine: {maxNumSeqs: 32}}}
    ---
    {kind: Pod, apiVersion: v1, metadata: {name: a}, spec: {containers: [{name: a, image: "vllm/vllm-openai:v0.32.0",
      args: ["--model", "Qwen/Qwen3-8B", "--max-num-seqs=256"], resources: {limits: {nvidia.com/gpu: 1}}}]}}

Good:

    {kind: ServingLimits, apiVersion: barostat.dev/v1alpha1, spec: {model: Qwen/Qwen3-8B, engine: {maxNumSeqs: 32}}}
    ---
    {kind: Pod, apiVersion: v1, metadata: {name: a}, spec: {containers: [{name: a, image: "vllm/vllm-openai:v0.32.0",
      args: ["--model", "Qwen/Qwen3-8B", "--max-num-seqs=32"], resources: {limits: {nvidia.com/gpu: 1}}}]}}

Fix: one number in both; where the manifest is right, change the limits in a review.
Source: the prevention checklist, section 7.
"""

from __future__ import annotations

from collections.abc import Iterator

from barostat.catalog.settings.table import OF_LIMITS
from barostat.core.naming import camel
from barostat.lint.edits import with_value
from barostat.lint.facts import Engine, Limits, Scene
from barostat.lint.rule import Found, Rule

_FIELDS = {
    f"engine.{camel(field)}": setting
    for field, setting in OF_LIMITS.items()
    if setting.kind != "text"
}


def judge(scene: Scene) -> Iterator[Found]:
    """Find numbers that differ, and numbers in the limits that the engine does not set."""
    for engine in scene.engines:
        limits = scene.limits_for(engine)
        if limits is not None:
            yield from _differences(engine, limits)


def _differences(engine: Engine, limits: Limits) -> Iterator[Found]:
    for path, setting in _FIELDS.items():
        stated = limits.numbers.get(path)
        if stated is None:
            continue
        option, argument = setting.option, engine.arguments.get(setting.name)
        shown = f"{stated[0]:g}" if stated[0] != int(stated[0]) else f"{stated[0]:.0f}"
        said = f"the limits say {path} {shown} (line {stated[1].line} of {stated[1].file.rsplit('/', 1)[-1]})"
        if argument is None:
            if engine.complete:
                yield Found(
                    engine.place,
                    f"{said}, and the engine is not told: {option} is its version's default",
                    f"{option}={shown}",
                    confidence="medium",
                )
        elif argument.number is not None and abs(argument.number - stated[0]) > 1e-9 * max(
            1.0, stated[0]
        ):
            yield Found(
                argument.place,
                f"{option} is {argument.text}, {said}",
                f"{option}={shown}",
                with_value(argument, shown),
            )


RULE = Rule("limits-differ", "other numbers than the limits say", judge, "error")
