"""Knative gives up before the model is loaded.

Meaning: Knative calls a revision failed that is not ready within its progress deadline, 600 s
unless the annotation serving.knative.dev/progress-deadline says otherwise, and scales it to zero.
Impact: "RevisionFailed: Initial scale was never achieved", while the weights are still downloaded.

Bad:

    {kind: Service, apiVersion: serving.knative.dev/v1, metadata: {name: a}, spec: {template: {metadata:
    {annotations: {a: b}}, spec: {containers: [{name: a, image: "vllm/vllm-openai:v0.32.0", args:
    ["--model", "Qwen/Qwen3-235B-A22B", "--tensor-parallel-size=8"], resources: {limits:
    {nvidia.com/gpu: 8}}}]}}}}

Good:

    {kind: Service, apiVersion: serving.knative.dev/v1, metadata: {name: a}, spec: {template: {metadata:
    {annotations: {serving.knative.dev/progress-deadline: 3600s}}, spec: {containers: [{name: a, image: "vllm/vllm-openai:v0.32.0", args:
    ["--model", "Qwen/Qwen3-235B-A22B", "--tensor-parallel-size=8"], resources: {limits:
    {nvidia.com/gpu: 8}}}]}}}}

Fix: the annotation serving.knative.dev/progress-deadline at the revision's template.
Source: Knative Serving docs, configure deployment resources (progress-deadline, 600 s).
"""

from __future__ import annotations

from collections.abc import Iterator

from barostat.lint.facts import Scene
from barostat.lint.rule import Found, Rule
from barostat.lint.rules._weights import (
    DOWNLOAD_BYTES_PER_S,
    USUAL_S,
    downloads,
    weights_bytes,
)

DEADLINE_S = 600.0
_ANNOTATION = "serving.knative.dev/progress-deadline"


def judge(scene: Scene) -> Iterator[Found]:
    """Every service of Knative whose weights take longer to download."""
    for engine in scene.engines:
        pod = engine.pod
        if pod is None or pod.kind != "Service" or _ANNOTATION in pod.annotations:
            continue
        weights = weights_bytes(engine)
        start_s = USUAL_S + weights / DOWNLOAD_BYTES_PER_S
        if downloads(engine) and start_s > DEADLINE_S:
            yield Found(
                pod.place,
                f"a start that downloads {weights / 1e9:.0f} GB takes about {start_s:.0f} s, and "
                f"Knative gives up after {DEADLINE_S:.0f} s",
                f"{_ANNOTATION}: {2 * start_s:.0f}s",
                confidence="medium",
            )


RULE = Rule("knative-deadline", "a deadline before the model is loaded", judge, "warning", "medium")
