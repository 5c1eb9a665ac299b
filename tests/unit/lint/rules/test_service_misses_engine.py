"""Services whose port is for somebody to fill in, or of which one port leads to the server, miss
nothing.
"""

from __future__ import annotations

import pytest

from barostat.io.manifests.read import document_of
from barostat.judge.manifest_check.check import check


def _found(ports: str, own: str = "") -> list[str]:
    text = (
        "{kind: Pod, apiVersion: v1, metadata: {name: a, labels: {app: a}}, spec: "
        "{containers: [{name: a,"
        f" image: 'vllm/vllm-openai:v0.32.0', args: [--model, a/b]{own}}}]}}}}\n---\n"
        f"{{kind: Service, apiVersion: v1, metadata: {{name: b}}, spec: {{selector: {{app: "
        f"a}}, ports: {ports}}}}}"
    )
    return [
        one.message
        for one in check([document_of(text, "a.yaml")]).findings
        if one.rule == "service-misses-engine"
    ]


@pytest.mark.parametrize(
    "ports",
    ["[{port: 80}]", "[{port: 80, targetPort: web}]", "[{port: 80, targetPort: 9000}, {port: 81}]"],
)
def test_what_leads_elsewhere(ports: str) -> None:
    assert len(_found(ports)) == 1


@pytest.mark.parametrize(
    ("ports", "own"),
    [
        ("[{port: 8000}]", ""),
        ("[{port: 80, targetPort: '8000'}]", ""),
        ("[{port: 80, targetPort: web}]", ", ports: [{name: web, containerPort: 8000}]"),
        ("[{port: 80, targetPort: web}]", ", ports: [{name: web, containerPort: '${PORT}'}]"),
        ("[{port: 80, targetPort: '${PORT}'}]", ""),
        ("[{port: 9090}, {port: 80, targetPort: 8000}]", ""),
        ("[]", ""),
    ],
)
def test_what_leads_to_the_server_or_may(ports: str, own: str) -> None:
    assert _found(ports, own) == []
