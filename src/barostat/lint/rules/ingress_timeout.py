"""An nginx Ingress that waits 60 s for an answer.

Meaning: nginx closes a connection on which nothing comes for proxy-read-timeout, 60 s unless the
annotation says otherwise. A request that does not stream gives its first byte with its last, and
one that streams gives none while it waits in the queue.
Impact: 504 Gateway Time-out for long answers and in every burst, while the engine keeps computing
them.

Bad:

    {kind: Service, apiVersion: v1, metadata: {name: llm}, spec: {selector: {app: a}, ports: [{port: 80,
    targetPort: 8000}]}}
    ---
    {kind: Ingress, apiVersion: networking.k8s.io/v1, metadata: {name: llm, annotations: {a: b}}, spec:
    {ingressClassName: nginx, rules: [{http: {paths: [{path: /, pathType: Prefix, backend: {service:
    {name: llm, port: {number: 80}}}}]}}]}}
    ---
    {kind: Deployment, apiVersion: apps/v1, metadata: {name: a}, spec: {template: {metadata: {labels:
    {app: a}}, spec: {containers: [{name: a, image: "vllm/vllm-openai:v0.32.0", args: ["--model",
    "Qwen/Qwen3-8B"], resources: {limits: {nvidia.com/gpu: 1}}}]}}}}

Good:

    {kind: Service, apiVersion: v1, metadata: {name: llm}, spec: {selector: {app: a}, ports: [{port: 80,
    targetPort: 8000}]}}
    ---
    {kind: Ingress, apiVersion: networking.k8s.io/v1, metadata: {name: llm, annotations:
    {nginx.ingress.kubernetes.io/proxy-read-timeout: "600"}}, spec:
    {ingressClassName: nginx, rules: [{http: {paths: [{path: /, pathType: Prefix, backend: {service:
    {name: llm, port: {number: 80}}}}]}}]}}
    ---
    {kind: Deployment, apiVersion: apps/v1, metadata: {name: a}, spec: {template: {metadata: {labels:
    {app: a}}, spec: {containers: [{name: a, image: "vllm/vllm-openai:v0.32.0", args: ["--model",
    "Qwen/Qwen3-8B"], resources: {limits: {nvidia.com/gpu: 1}}}]}}}}

Fix: the annotation nginx.ingress.kubernetes.io/proxy-read-timeout, as long as the longest answer
may take.
Source: ingress-nginx, annotations (custom timeouts); nginx, proxy_read_timeout.
"""

from __future__ import annotations

from collections.abc import Iterator

from barostat.lint.facts import Scene
from barostat.lint.rule import Found, Rule
from barostat.lint.rules._watched import leads_to

_ANNOTATIONS = (
    "nginx.ingress.kubernetes.io/proxy-read-timeout",
    "nginx.org/proxy-read-timeout",
)


def judge(scene: Scene) -> Iterator[Found]:
    """Every Ingress of nginx before an engine that leaves the timeout as it is."""
    for ingress in scene.services:
        if ingress.kind != "Ingress" or any(name in ingress.annotations for name in _ANNOTATIONS):
            continue
        if "nginx" not in ingress.ingress_class and not any(
            name.startswith("nginx.") for name in ingress.annotations
        ):
            continue
        behind = [
            service
            for service in scene.services
            if f"service:{service.name}" in ingress.selector
            and service.namespace == ingress.namespace
        ]
        led = [engine for engine in scene.engines for one in behind if leads_to(one, engine)]
        if led:
            yield Found(
                ingress.place,
                f"the Ingress {ingress.name} closes what gives no byte for 60 s: long answers and "
                "queued requests end in 504",
                f'{_ANNOTATIONS[0]}: "600"',
            )


RULE = Rule("ingress-timeout", "an Ingress that waits 60 s", judge, "warning")
