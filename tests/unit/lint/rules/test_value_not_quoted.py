"""What YAML takes for a number or a boolean, in the places where Kubernetes takes text; and its
mending.
"""

from __future__ import annotations

import pytest

from barostat.io.manifests.read import document_of
from barostat.judge.manifest_check.check import check
from barostat.lint.document import edited

POD = """kind: Pod
apiVersion: v1
metadata: {{name: a}}
spec:
  containers:
  - name: a
    image: vllm/vllm-openai:v0.32.0
    args: [--model, a/b, --max-num-seqs, {arg}]
    env:
    - name: A
      value: {value}
"""


def told(arg: str, value: str) -> list[tuple[int, str, str]]:
    found = check([document_of(POD.format(arg=arg, value=value), "a.yaml")]).findings
    return [
        (one.place.line, one.fix, one.safety) for one in found if one.rule == "value-not-quoted"
    ]


@pytest.mark.parametrize("text", ["8", "0.90", "1_024", "0x10", "1e3", "true", "Off", "-1"])
def test_a_bare_one_is_told(text: str) -> None:
    certain = "certain" if text in ("8", "0.90") else "likely"
    assert told(text, "a") == [(8, f'"{text}"', certain)]
    assert told("a", text) == [(11, f'"{text}"', certain)]


@pytest.mark.parametrize(
    "text",
    ['"8"', "'true'", "8k", "1.2.3", "v1", "!!str 8", "${N}", "$(N)", "null", "y", "0.0.0.0"],
)
def test_text_is_not(text: str) -> None:
    assert told(text, text) == []


def test_quotes_mend_it() -> None:
    text = POD.format(arg="8", value="0.9")
    edits = [
        edit
        for one in check([document_of(text, "a.yaml")]).findings
        if one.rule == "value-not-quoted"
        for edit in one.edits
    ]
    assert edited(text, edits) == (POD.format(arg='"8"', value='"0.9"'), 2)
