"""Keys that charts and operators take as plain values: production-stack's hf_token and vllmApiKey,
KubeAI's env.
"""

from __future__ import annotations

import pytest

from barostat.io.manifests.read import document_of
from barostat.judge.manifest_check.check import check

TOKEN = "hf_" + "AbCdEfGhIjKlMnOpQrStUvWxYz12345678"
KEY = "sk-" + "abcd1234efgh5678ijkl9012"
STACK = """servingEngineSpec:
  vllmApiKey: {key}
  modelSpec:
  - name: a
    repository: vllm/vllm-openai
    tag: v0.30.0
    modelURL: a/b
    requestGPU: 1
    hf_token: {token}
"""
KUBEAI = """kind: Model
apiVersion: kubeai.org/v1
metadata: {{name: a}}
spec:
  url: hf://a/b
  engine: VLLM
  resourceProfile: nvidia-gpu-l4:1
  env:
    HF_TOKEN: {token}
"""


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        (STACK.format(key=KEY, token=TOKEN), [2, 9]),
        (
            STACK.format(
                key="{secretName: a, secretKey: b}", token="{secretName: a, secretKey: b}"
            ),
            [],
        ),
        (STACK.format(key='""', token="<your token>"), []),
        (KUBEAI.format(token=TOKEN), [9]),
        (KUBEAI.format(token="$HF_TOKEN"), []),
    ],
)
def test_a_secret_is_told_where_it_stands(text: str, lines: list[int]) -> None:
    found = check([document_of(text, "values.yaml")]).findings
    assert sorted(one.place.line for one in found if one.rule == "secret-in-plain-text") == lines
