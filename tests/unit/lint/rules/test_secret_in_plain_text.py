"""A secret is one by its variable's name, or by its issuer's shape whatever the variable is called;
a placeholder is none.
"""

from __future__ import annotations

import pytest

from barostat.io.manifests.read import document_of
from barostat.judge.manifest_check.check import check

MANIFEST = """\
services:
  vllm:
    image: vllm/vllm-openai:v0.32.0
    command: ["--model", "Qwen/Qwen3-8B"]
    environment:
      {name}: "{value}"
"""


@pytest.mark.parametrize(
    ("name", "value", "is_one"),
    [
        ("MIRROR", "glpat-9fQ2xZ71kLmB4tRw8vYc", True),
        ("MIRROR", "AKIA7Q3ZK9X2M4P8T6W1", True),
        ("HF_TOKEN", "q8Zr71kLmB4tRw8vYc2x", True),
        ("HF_TOKEN", "hf_your_token_goes_here", False),
        ("MIRROR", "hf_xxxxxxxxxxxxxxxxxxxxxxxx", False),
        ("MODEL", "Qwen/Qwen3-8B", False),
    ],
)
def test_by_name_or_by_shape(name: str, value: str, is_one: bool) -> None:
    found = check(
        [document_of(MANIFEST.format(name=name, value=value), "docker-compose.yaml")]
    ).findings
    assert any(one.rule == "secret-in-plain-text" for one in found) is is_one
