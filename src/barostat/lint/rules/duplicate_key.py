"""A duplicate key in a mapping.

Meaning: YAML parsers keep the last one and drop the first without a word: two `env:` blocks, two
`args:`.
Impact: half of what is written does not hold.

Bad:

    {kind: Pod, apiVersion: v1, metadata: {name: a}, spec: {containers: [{name: a, image:
    "vllm/vllm-openai:v0.32.0",
      env: [{name: A, value: b}], args: ["--model", "Qwen/Qwen3-8B"], env: [{name: C, value: d}]}]}}

Good:

    {kind: Pod, apiVersion: v1, metadata: {name: a}, spec: {containers: [{name: a, image:
    "vllm/vllm-openai:v0.32.0",
      env: [{name: A, value: b}, {name: C, value: d}], args: ["--model", "Qwen/Qwen3-8B"]}]}}

Fix: one of them, with the content of both.
Source: YAML 1.2, 3.2.1.1 (keys are unique); kubectl's strict decoding only warns.
"""

from __future__ import annotations

from collections.abc import Iterator

from barostat.lint.facts import Scene
from barostat.lint.rule import Found, Rule


def judge(scene: Scene) -> Iterator[Found]:
    """Every repeated key in a document that is about vLLM."""
    for key in scene.repeated_keys:
        yield Found(
            key.place,
            f"{key.text} stands twice in this mapping: the last one holds, the first is dropped",
            "one of them, with both contents",
        )


RULE = Rule("duplicate-key", "a key that stands twice", judge, "error")
