"""What stands in rendered text is found where a person edits it, and nothing is guessed."""

from __future__ import annotations

import textwrap

from barostat.io.manifests.origins import Way, in_template, in_tree, tag_of, way_to
from barostat.io.manifests.yaml_tree import read_yaml
from barostat.lint.document import Node, Place

TEMPLATE = """\
{{- if .Values.on }}
kind: Deployment
metadata:
  name: {{ .Release.Name }}
spec:
  template:
    spec:
      containers:
      - name: vllm
        image: "{{ .Values.image }}"
        args:
        - --model=Qwen/Qwen3-8B
        {{- range .Values.more }}
        - {{ . | quote }}
        {{- end }}
        livenessProbe:
          periodSeconds: 5
        readinessProbe:
          periodSeconds: 10
{{- end }}
"""


def _tree(text: str) -> Node:
    (root,) = read_yaml(textwrap.dedent(text), "f").roots
    return root


def _at(text: str, needle: str) -> Way | None:
    root = _tree(text)
    start = textwrap.dedent(text).index(needle)
    return way_to(root, Place("f", 1, 1, start, start))


def test_a_way_leads_to_scalars_items_and_keys() -> None:
    text = "spec:\n  args: [--port=8000]\n  livenessProbe: {periodSeconds: 5}\n"
    assert _at(text, "--port") == Way(("spec", "args"), "--port=8000", True)
    assert _at(text, "livenessProbe") == Way(("spec", "livenessProbe"), None)
    assert _at(text, "5") == Way(("spec", "livenessProbe", "periodSeconds"), "5")


def test_in_values_the_same_key_with_the_same_text_is_meant() -> None:
    values = _tree(
        "a: {limits: {cpu: '1'}, requests: {cpu: '1'}}\nargs: [--port=8000]\nlivenessProbe: {}\n"
    )
    limit = in_tree(values, Way(("spec", "resources", "limits", "cpu"), "1"))
    assert limit is not None
    assert (limit.line, limit.column) == (1, 19)
    key = in_tree(values, Way(("spec", "livenessProbe"), None))
    assert key is not None
    assert key.line == 3
    assert in_tree(values, Way(("spec", "cpu"), "1")) is None, "two are as much alike"
    assert in_tree(values, Way(("spec", "cpu"), "2")) is None


def test_an_item_of_a_list_is_found_under_another_key() -> None:
    values = _tree("vllm: {extraArgs: [--swap-space=4, '1']}\n")
    found = in_tree(values, Way(("containers", "args"), "--swap-space=4", True))
    assert found is not None
    assert found.text == "--swap-space=4"
    assert in_tree(values, Way(("containers", "args"), "1", True)) is None, (
        "so short a text stands there by chance"
    )


def test_a_tag_that_stands_apart_is_found_and_of_two_models_that_of_the_workload() -> None:
    values = _tree("""\
        models:
        - {name: small, repository: vllm/vllm-openai, tag: latest}
        - {name: large, repository: vllm/vllm-openai, tag: latest}
        """)
    tag = tag_of(values, "vllm/vllm-openai:latest", "check-large-deployment")
    assert tag is not None
    assert tag.line == 3
    assert tag_of(values, "vllm/vllm-openai:latest", "check-other") is None
    assert tag_of(values, "vllm/vllm-openai:v0.32.0", "check-large") is None


def test_a_template_is_searched_by_its_text_then_by_its_keys() -> None:
    containers = ("spec", "template", "spec", "containers")
    assert in_template(TEMPLATE, Way((*containers, "args"), "--model=Qwen/Qwen3-8B", True)) == (
        12,
        11,
        True,
    )
    assert in_template(TEMPLATE, Way((*containers, "args"), "--swap-space=4", True)) == (
        11,
        9,
        False,
    )
    assert in_template("- --tp={{ .Values.tp }}\n", Way((*containers, "args"), "--tp=2", True)) == (
        1,
        3,
        True,
    )
    assert in_template(TEMPLATE, Way((*containers, "readinessProbe", "periodSeconds"), "30")) == (
        19,
        11,
        True,
    )
    assert in_template(TEMPLATE, Way((*containers, "readinessProbe", "timeoutSeconds"), "1")) == (
        18,
        9,
        False,
    )
    assert in_template('{{ include "all" . }}\n', Way((*containers, "image"), "a:b")) is None
