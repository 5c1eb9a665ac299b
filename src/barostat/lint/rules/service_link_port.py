"""A Service named vllm puts its address into VLLM_PORT.

Meaning: Kubernetes gives each container variables of the Services in its namespace: a Service
`vllm` becomes `VLLM_PORT=tcp://10.0.0.7:80`. vLLM reads VLLM_PORT as its own setting. Of a Service
without an address (`clusterIP: None`, ExternalName) there are no variables.
Impact: "VLLM_PORT appears to be a URI" and the server exits; only after the Service is there, so at
the first restart.

Bad:

    {kind: Service, apiVersion: v1, metadata: {name: vllm}, spec: {selector: {app: a}}}
    ---
    {kind: Pod, apiVersion: v1, metadata: {name: a, labels: {app: a}}, spec: {containers: [{name: a,
    image: "vllm/vllm-openai:v0.32.0",
      args: ["--model", "Qwen/Qwen3-8B"], resources: {limits: {nvidia.com/gpu: 1}}}]}}

Good:

    {kind: Service, apiVersion: v1, metadata: {name: vllm-server}, spec: {selector: {app: a}}}
    ---
    {kind: Pod, apiVersion: v1, metadata: {name: a, labels: {app: a}}, spec: {containers: [{name: a,
    image: "vllm/vllm-openai:v0.32.0",
      args: ["--model", "Qwen/Qwen3-8B"], resources: {limits: {nvidia.com/gpu: 1}}}]}}

Fix: another name for the Service, or `enableServiceLinks: false` in the pod.
Source: vLLM 0.32.0 envs.get_vllm_port; Kubernetes, "Accessing the Service" (environment variables).
"""

from __future__ import annotations

from collections.abc import Iterator

from barostat.lint.facts import Scene
from barostat.lint.rule import Found, Rule


def judge(scene: Scene) -> Iterator[Found]:
    """Every Service whose variables an engine in its namespace would read as its own."""
    for service in scene.services:
        if (
            service.name != "vllm"
            or not service.variables
            or any(key.startswith("service:") for key in service.selector)
        ):
            continue
        for engine in scene.engines:
            pod = engine.pod
            folder = engine.place.file.rpartition("/")[0]
            if (
                pod is None
                or not pod.service_links
                or "VLLM_PORT" in engine.env
                or folder != service.place.file.rpartition("/")[0]
            ):
                continue
            if (pod.namespace or "default") == (service.namespace or "default"):
                yield Found(
                    service.place,
                    f"the Service vllm sets VLLM_PORT=tcp://... in {engine.name}, and vLLM "
                    "reads that as its own: it exits",
                    "another name, or enableServiceLinks: false in the pod",
                )
                break


RULE = Rule("service-link-port", "a Service that sets VLLM_PORT", judge, "error")
