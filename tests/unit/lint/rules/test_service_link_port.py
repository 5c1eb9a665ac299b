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


CONFIG_MAP = (
    "---\n{kind: ConfigMap, apiVersion: v1, metadata: {name: env}, data: {VLLM_PORT: '8000'}}\n"
)
FROM_CONFIG_MAP = (
    "---\n{kind: Pod, apiVersion: v1, metadata: {name: a, labels: {app: a}}, spec: "
    "{containers: [{name: a, image: 'vllm/vllm-openai:v0.32.0', args: ['--model', "
    "'Qwen/Qwen3-8B'], SOURCE}]}}\n"
)
SERVICE = "{kind: Service, apiVersion: v1, metadata: {name: vllm}, spec: {selector: {app: a}}}\n"


@pytest.mark.parametrize(
    "source",
    [
        "envFrom: [{configMapRef: {name: env}}]",
        "env: [{name: VLLM_PORT, valueFrom: {configMapKeyRef: {name: env, key: VLLM_PORT}}}]",
    ],
)
def test_a_variable_of_a_config_map_overrules_that_of_a_service(source: str) -> None:
    pod = FROM_CONFIG_MAP.replace("SOURCE", source)
    rules = {
        one.rule for one in check([document_of(SERVICE + CONFIG_MAP + pod, "a.yaml")]).findings
    }
    assert "service-link-port" not in rules


def test_a_prefix_changes_the_names_of_variables() -> None:
    source = "envFrom: [{prefix: A_, configMapRef: {name: env}}]"
    pod = FROM_CONFIG_MAP.replace("SOURCE", source)
    rules = {
        one.rule for one in check([document_of(SERVICE + CONFIG_MAP + pod, "a.yaml")]).findings
    }
    assert "service-link-port" in rules
