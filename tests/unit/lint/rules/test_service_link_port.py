"""Services that give containers variables, and those that do not."""

from __future__ import annotations

import pytest

from barostat.io.manifests.read import document_of
from barostat.judge.manifest_check.check import check

POD = (
    "---\n{kind: Pod, apiVersion: v1, metadata: {name: a, labels: {app: a}}, spec: "
    "{containers: [{name: a, "
    "image: 'vllm/vllm-openai:v0.32.0', args: ['--model', 'Qwen/Qwen3-8B']}]}}\n"
)


def told(spec: str) -> bool:
    service = f"{{kind: Service, apiVersion: v1, metadata: {{name: vllm}}, spec: {{{spec}}}}}\n"
    return "service-link-port" in {
        one.rule for one in check([document_of(service + POD, "a.yaml")]).findings
    }


@pytest.mark.parametrize(
    "spec",
    [
        "selector: {app: a}",
        "selector: {app: a}, clusterIP: 10.0.0.7",
        "selector: {app: a}, type: NodePort",
    ],
)
def test_a_service_with_an_address_gives_variables(spec: str) -> None:
    assert told(spec)


@pytest.mark.parametrize(
    "spec",
    [
        "selector: {app: a}, clusterIP: None",
        "selector: {app: a}, clusterIP: 'None'",
        "selector: {app: a}, clusterIPs: [None]",
        "type: ExternalName, externalName: vllm.example.com",
    ],
)
def test_one_without_gives_none(spec: str) -> None:
    assert not told(spec)
