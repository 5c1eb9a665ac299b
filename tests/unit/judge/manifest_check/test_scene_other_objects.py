"""Engines in objects whose kind does not say so: Knative's Service, and values within GitOps' own
objects.
"""

from __future__ import annotations

import pytest

from barostat.io.manifests.read import document_of
from barostat.judge.manifest_check.check import check
from barostat.judge.manifest_check.scene import scene_of

CONTAINER = (
    "{image: 'vllm/vllm-openai:v0.32.0', args: [--model, a/b, --swap-space, '4'], resources: "
    "{limits: {nvidia.com/gpu: 1}}}"
)
STACK = (
    "{servingEngineSpec: {modelSpec: [{name: a, repository: vllm/vllm-openai, tag: v0.32.0, "
    "vllmConfig: {gpuMemoryUtilization: 90}}]}}"
)


@pytest.mark.parametrize(
    ("kind", "spec", "rule"),
    [
        (
            "{kind: Service, apiVersion: serving.knative.dev/v1",
            f"{{template: {{spec: {{containers: [{CONTAINER}]}}}}}}",
            "unknown-flag",
        ),
        (
            "{kind: HelmRelease, apiVersion: helm.toolkit.fluxcd.io/v2",
            f"{{values: {STACK}}}",
            "bad-flag-value",
        ),
        (
            "{kind: Application, apiVersion: argoproj.io/v1alpha1",
            f"{{source: {{helm: {{valuesObject: {STACK}}}}}}}",
            "bad-flag-value",
        ),
    ],
)
def test_its_engine_is_found(kind: str, spec: str, rule: str) -> None:
    document = document_of(f"{kind}, metadata: {{name: a}}, spec: {spec}}}", "a.yaml")
    assert [one.rule for one in check([document]).findings if one.severity == "error"] == [rule]
    assert scene_of([document]).services == ()


def test_a_list_is_its_objects() -> None:
    service = (
        "{kind: Service, apiVersion: v1, metadata: {name: s}, spec: {type: LoadBalancer, "
        "selector: {app: a}}}"
    )
    pod = (
        f"{{kind: Pod, apiVersion: v1, metadata: {{name: a, labels: {{app: a}}}}, spec: "
        f"{{containers: [{CONTAINER}]}}}}"
    )
    limits = "{kind: ServingLimits, apiVersion: barostat.dev/v1alpha1, spec: {model: a/b}}"
    scene = scene_of(
        [
            document_of(
                f"{{kind: List, apiVersion: v1, items: [{service}, {pod}, {limits}]}}", "a.yaml"
            )
        ]
    )
    assert (len(scene.engines), len(scene.services), len(scene.limits), len(scene.limits_of)) == (
        1,
        1,
        1,
        1,
    )
