"""A number where Kubernetes takes only text.

Meaning: an item of `args` or `command`, or the value of a variable, stands without quotes, and YAML
reads it as a number or as true or false (`8192`, `0.90`, `true`, `yes`). Kubernetes takes text
there.
Impact: the API server refuses the object: "cannot unmarshal number into Go struct field
Container.args of type string".

Bad:

    {kind: Pod, apiVersion: v1, metadata: {name: a}, spec: {containers: [{name: a, image:
    "vllm/vllm-openai:v0.32.0",
      args: ["--model", "Qwen/Qwen3-8B", "--max-model-len", 8192], resources: {limits:
      {nvidia.com/gpu: 1}}}]}}

Good:

    {kind: Pod, apiVersion: v1, metadata: {name: a}, spec: {containers: [{name: a, image:
    "vllm/vllm-openai:v0.32.0",
      args: ["--model", "Qwen/Qwen3-8B", "--max-model-len", "8192"], resources: {limits:
      {nvidia.com/gpu: 1}}}]}}

Fix: quotes around it; in a chart `{{ .Values.length | quote }}`.
Source: core/v1 Container.args, Container.command, EnvVar.value (all string); sigs.k8s.io/yaml,
which reads YAML 1.1.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from barostat.lint.edits import changed
from barostat.lint.facts import Scene
from barostat.lint.rule import Found, Rule


def judge(scene: Scene) -> Iterator[Found]:
    """Every value that YAML does not read as text."""
    for engine in scene.engines:
        for place, text in engine.not_text:
            what = "a boolean" if text.isalpha() else "a number"
            yield Found(
                place,
                f"{text} without quotes is {what}, and Kubernetes takes text here: the API "
                "server refuses the object",
                f'"{text}"',
                changed(place, f'"{text}"'),
                "certain" if re.fullmatch(r"[1-9]\d*(?:\.\d+)?|0(?:\.\d+)?", text) else "likely",
            )


RULE = Rule("value-not-quoted", "a number where Kubernetes takes text", judge, "error")
