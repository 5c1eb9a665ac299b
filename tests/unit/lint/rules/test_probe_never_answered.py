"""Probes that ask where nothing answers; the corpus has the commoner ones, and those that may be
answered after all.
"""

from __future__ import annotations

import pytest

from barostat.io.manifests.read import document_of
from barostat.judge.manifest_check.check import check
from barostat.lint.document import edited
from barostat.lint.rule import Finding


def _text(args: str, probe: str, more: str = "") -> str:
    return (
        "{kind: Pod, apiVersion: v1, metadata: {name: a}, spec: {containers: [{name: a, "
        "image: 'vllm/vllm-openai:v0.32.0',"
        f" args: [--model, a/b{args}], readinessProbe: {probe}{more}}}]}}}}"
    )


def _found(text: str) -> list[Finding]:
    return [
        one
        for one in check([document_of(text, "a.yaml")]).findings
        if one.rule == "probe-never-answered"
    ]


@pytest.mark.parametrize(
    ("args", "probe", "said"),
    [
        (
            ", --port=9000",
            "{httpGet: {path: /health, port: 8000}}",
            "asks port 8000, and the server listens at 9000",
        ),
        ("", "{tcpSocket: {port: http}}", "asks for a port http that the container does not have"),
        ("", "{httpGet: {port: 8000}}", "asks for /, which vLLM does not have"),
        ("", "{httpGet: {path: /v1/health/ready, port: 8000}}", "asks for /v1/health/ready"),
        ("", "{httpGet: {path: /health, port: 8000, scheme: HTTPS}}", "asks for TLS"),
        (", --api-key, k", "{httpGet: {path: /v1/models, port: 8000}}", "shows no key"),
        ("", '{exec: {command: [curl, -fs, "http://127.0.0.1:80/health"]}}', "asks port 80"),
        ("", '{exec: {command: [curl, -fs, "http://localhost/health"]}}', "asks port 80"),
    ],
)
def test_what_is_never_answered(args: str, probe: str, said: str) -> None:
    (found,) = _found(_text(args, probe))
    assert said in found.message


@pytest.mark.parametrize(
    ("args", "probe", "more"),
    [
        ("", "{httpGet: {path: /health, port: 8000}}", ""),
        (
            "",
            "{httpGet: {path: /ping, port: http}}",
            ", ports: [{name: http, containerPort: 8000}]",
        ),
        (
            ", --api-key, k",
            (
                "{httpGet: {path: /v1/models, port: 8000, httpHeaders: [{name: Authorization, "
                "value: Bearer k}]}}"
            ),
            "",
        ),
        ("", "{httpGet: {path: /v1/models, port: 8000}}", ""),
        (", --middleware, a.b", "{httpGet: {path: /ready, port: 8000}}", ""),
        (", --uds, /tmp/s", "{httpGet: {path: /health, port: 80}}", ""),
        (
            ", --port, $(PORT)",
            "{httpGet: {path: /health, port: 80}}",
            ", envFrom: [{configMapRef: {name: a}}]",
        ),
        ("", "{httpGet: {path: /health, port: 80, host: example.org}}", ""),
        ("", '{exec: {command: [sh, -c, "curl -s http://localhost:80/ || true"]}}', ""),
        ("", '{exec: {command: [sh, -c, "curl -s http://localhost:$PORT/health"]}}', ""),
        ("", "{exec: {command: [cat, /tmp/ready]}}", ""),
        ("", "{httpGet: {path: /health, port: '${PORT}'}}", ""),
        (
            "",
            "{httpGet: {path: /health, port: web}}",
            ", ports: [{name: web, containerPort: '${PORT}'}]",
        ),
        ("", "{httpGet: {path: '${PROBE}', port: 8000}}", ""),
    ],
)
def test_what_may_be_answered(args: str, probe: str, more: str) -> None:
    assert _found(_text(args, probe, more)) == []


def test_the_edit_asks_where_the_server_listens() -> None:
    text = _text(", --port=9000", '{httpGet: {path: /health, port: "8000"}}')
    mended, made = edited(text, [edit for one in _found(text) for edit in one.edits])
    assert made == 1
    assert "port: 9000}" in mended
    assert _found(mended) == []
