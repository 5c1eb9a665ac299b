"""The probe that is missing, at the port that the engine listens on."""

from __future__ import annotations

import pytest

from barostat.io.manifests.read import document_of
from barostat.judge.manifest_check.check import check


@pytest.mark.parametrize(("args", "port"), [("", "8000"), (", --port, '8200'", "8200")])
def test_the_probe_asks_where_the_engine_listens(args: str, port: str) -> None:
    text = (
        "{kind: Deployment, apiVersion: apps/v1, metadata: {name: a}, spec: {template: "
        "{spec: {containers: [{name: a,"
        f" image: 'vllm/vllm-openai:v0.32.0', args: [--model, a/b{args}]}}]}}}}}}}}"
    )
    (found,) = [
        one
        for one in check([document_of(text, "a.yaml")]).findings
        if one.rule == "no-readiness-probe"
    ]
    assert found.fix == f"readinessProbe: {{httpGet: {{path: /health, port: {port}}}}}"
