"""An argument and its value in one item of a list, where no shell takes them apart.

Meaning: a container's `args` are handed to the program as they are. `- --max-model-len 4096` is one
word with a blank in it, and vLLM knows no argument of that name.
Impact: "unrecognized arguments", and the pod restarts for ever.

Bad:

    {kind: Pod, apiVersion: v1, metadata: {name: a}, spec: {containers: [{name: a, image:
    "vllm/vllm-openai:v0.32.0",
      args: ["--model", "Qwen/Qwen3-8B", "--max-model-len 4096"]}]}}

Good:

    {kind: Pod, apiVersion: v1, metadata: {name: a}, spec: {containers: [{name: a, image:
    "vllm/vllm-openai:v0.32.0",
      args: ["--model", "Qwen/Qwen3-8B", "--max-model-len", "4096"]}]}}

Fix: two items, or `--max-model-len=4096`.
Source: core/v1 Container.args; execve(2).
"""

from __future__ import annotations

from collections.abc import Iterator

from barostat.lint.edits import split_item
from barostat.lint.facts import Scene
from barostat.lint.rule import Found, Rule


def judge(scene: Scene) -> Iterator[Found]:
    """Every item that holds an argument and its value."""
    for engine in scene.engines:
        for place, option in engine.stuck:
            yield Found(
                place,
                f"{option} and its value stand in one item: without a shell that is one "
                "word, and vLLM refuses it",
                f"two items, or {option}=VALUE",
                split_item(scene, place, option),
                "certain",
            )


RULE = Rule("flag-and-value-in-one-item", "an argument and its value in one item", judge, "error")
