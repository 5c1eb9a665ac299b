"""An engine that the world can reach, without a key.

Meaning: a Service of type LoadBalancer or NodePort, or an Ingress, leads to an engine that asks for no key (`--api-key`, VLLM_API_KEY).
Impact: whoever finds the address uses the cards, with prompts as long as they like.

Bad:

    {kind: Service, apiVersion: v1, metadata: {name: llm}, spec: {type: LoadBalancer, selector: {app: a}}}
    ---
    {kind: Pod, apiVersion: v1, metadata: {name: a, labels: {app: a}}, spec: {containers: [{name: a, image: "vllm/vllm-openai:v0.32.0",
      args: ["--model", "Qwen/Qwen3-8B"], resources: {limits: {nvidia.com/gpu: 1}}}]}}

Good:

    {kind: Service, apiVersion: v1, metadata: {name: llm}, spec: {selector: {app: a}}}
    ---
    {kind: Pod, apiVersion: v1, metadata: {name: a, labels: {app: a}}, spec: {containers: [{name: a, image: "vllm/vllm-openai:v0.32.0",
      args: ["--model", "Qwen/Qwen3-8B"], resources: {limits: {nvidia.com/gpu: 1}}}]}}

Fix: a ClusterIP behind a gateway that authenticates and limits; or VLLM_API_KEY from a Secret.
Source: vLLM 0.32.0 entrypoints (api_key guards /v1 only); core/v1 ServiceSpec.type.
"""

from __future__ import annotations

from collections.abc import Iterator

from barostat.lint.facts import Engine, Scene
from barostat.lint.rule import Found, Rule
from barostat.lint.rules._watched import leads_to


def judge(scene: Scene) -> Iterator[Found]:
    """Every way in from outside to an engine without a key."""
    for service in scene.services:
        if not service.opens:
            continue
        led = [service] if not any(key.startswith("service:") for key in service.selector) else [
            other for other in scene.services if f"service:{other.name}" in service.selector and other.namespace == service.namespace
        ]  # fmt: skip
        for engine in scene.engines:
            if _is_open(engine) and any(leads_to(one, engine) for one in led):
                yield Found(service.place, f"{service.opens} {service.name} leads to {engine.name}, which asks for no key",
                            "ClusterIP behind a gateway, or VLLM_API_KEY from a Secret")  # fmt: skip
                break


def _is_open(engine: Engine) -> bool:
    return (
        engine.complete
        and not engine.has("api_key")
        and "VLLM_API_KEY" not in engine.env
        and "VLLM_API_KEY" not in engine.env_secret
        and (engine.env_complete)
    )


RULE = Rule(
    "reachable-without-key", "reachable from outside without a key", judge, "warning", "medium"
)
