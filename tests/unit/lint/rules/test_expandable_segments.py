"""What expandable segments break for certain, and what only sometimes."""

from __future__ import annotations

import pytest

from barostat.io.manifests.read import document_of
from barostat.judge.manifest_check.check import check

TRANSFER = "'--kv-transfer-config', '{\"kv_connector\": \"NixlConnector\"}'"


def _severities(args: str, version: str = "v0.32.0", value: str = "True") -> list[str]:
    pod = (
        "{kind: Pod, apiVersion: v1, metadata: {name: a}, spec: {containers: [{name: a, image: "
        f"'vllm/vllm-openai:{version}', args: ['--model', 'Qwen/Qwen3-8B', {args}], env: [{{name: "
        f"PYTORCH_CUDA_ALLOC_CONF, value: 'expandable_segments:{value}'}}]}}]}}}}\n"
    )
    found = check([document_of(pod, "a.yaml")]).findings
    return [one.severity for one in found if one.rule == "expandable-segments"]


@pytest.mark.parametrize(
    ("args", "version", "value", "expected"),
    [
        (TRANSFER, "v0.32.0", "True", ["error"]),
        (TRANSFER, "v0.11.0", "True", ["warning"]),
        (f"{TRANSFER}, '--enable-sleep-mode'", "v0.32.0", "True", []),
        ("'--tensor-parallel-size=2'", "v0.32.0", "True", ["warning"]),
        ("'--tensor-parallel-size=2', '--disable-custom-all-reduce'", "v0.32.0", "True", []),
        ("'--tensor-parallel-size=2'", "v0.32.0", "False", []),
        ("'--port=8000'", "v0.32.0", "True", []),
    ],
)
def test_severity_follows_what_is_certain(
    args: str, version: str, value: str, expected: list[str]
) -> None:
    assert _severities(args, version, value) == expected
