"""A `$(NAME)` in a container's command that nothing sets.

Meaning: Kubernetes puts variables of the same container in place of `$(NAME)`. An undefined name is
left as written, and vLLM receives the text `$(NAME)`. What a LeaderWorkerSet's controller sets
itself (`LWS_LEADER_ADDRESS` and two more) is there.
Impact: the server refuses the value, or serves a model of that name.

Bad:

    {kind: Pod, apiVersion: v1, metadata: {name: a}, spec: {containers: [{name: a, image:
    "vllm/vllm-openai:v0.32.0",
      args: ["--model", "$(MODEL)"]}]}}

Good:

    {kind: Pod, apiVersion: v1, metadata: {name: a}, spec: {containers: [{name: a, image:
    "vllm/vllm-openai:v0.32.0",
      env: [{name: MODEL, value: Qwen/Qwen3-8B}], args: ["--model", "$(MODEL)"]}]}}

Fix: name the variable under `env`, or write `$$(NAME)` where the text itself is meant.
Source: core/v1 Container.args.
"""

from __future__ import annotations

from collections.abc import Iterator

from barostat.lint.facts import Scene
from barostat.lint.rule import Found, Rule


def judge(scene: Scene) -> Iterator[Found]:
    """Every reference that stays unresolved."""
    for engine in scene.engines:
        if engine.pod is None or not engine.pod.raw:
            continue
        for place, name in engine.unset:
            yield Found(
                place,
                f"$({name}) is in the command and no variable of the container has that "
                "name: vLLM receives it as text",
                f"set {name} under env",
            )


RULE = Rule(
    "unset-variable", "a variable in the command that nothing sets", judge, "error", "medium"
)
