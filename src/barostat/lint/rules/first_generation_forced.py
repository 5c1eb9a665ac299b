"""The V0 engine is requested in a version that no longer has it.

Meaning: `VLLM_USE_V1=0` brought the old engine until 0.10; since 0.11.0 there is only the new one.
Impact: nothing happens, or the server refuses to start; what was tuned for the old engine (swap,
scheduler steps) does not hold.

Bad:

    {kind: Pod, apiVersion: v1, metadata: {name: a}, spec: {containers: [{name: a, image:
    "vllm/vllm-openai:v0.12.0",
      env: [{name: VLLM_USE_V1, value: "0"}], args: ["--model", "Qwen/Qwen3-8B"]}]}}

Good:

    {kind: Pod, apiVersion: v1, metadata: {name: a}, spec: {containers: [{name: a, image:
    "vllm/vllm-openai:v0.12.0",
      args: ["--model", "Qwen/Qwen3-8B"]}]}}

Fix: take the variable out, and the arguments that went with it.
Source: vLLM 0.11.0 release notes (removal of V0).
"""

from __future__ import annotations

from collections.abc import Iterator

from barostat.catalog.vllm_behaviours import behaves
from barostat.lint.facts import Scene
from barostat.lint.rule import Found, Rule


def judge(scene: Scene) -> Iterator[Found]:
    """Every engine that asks for what its version no longer has."""
    for engine in scene.engines:
        given = engine.env.get("VLLM_USE_V1")
        if given is not None and given.text == "0" and behaves("v1-only", engine.version):
            yield Found(
                given.place,
                f"VLLM_USE_V1=0: vLLM {engine.version} has only the second engine generation",
                "remove VLLM_USE_V1",
            )


RULE = Rule("first-generation-forced", "an engine generation that is gone", judge, "warning")
