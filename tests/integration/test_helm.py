"""Charts rendered with the real Helm library: each finding at a line that a person edits."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from dev import setup_helm

from barostat.core.change import ConfigChange
from barostat.io.manifests import helm_library
from barostat.io.manifests.render_tools import helm_template
from barostat.shells.cli.main import main
from barostat.shells.cli.mitigate.write_source import source_edit

TEMPLATED = """\
apiVersion: apps/v1
kind: Deployment
metadata: {name: "{{ .Release.Name }}-vllm"}
spec:
  template:
    spec:
      containers:
      - name: vllm
        image: "{{ .Values.image.repository }}:{{ .Values.image.tag }}"
        args:
        - --model=Qwen/Qwen3-8B
        {{- range .Values.extraArgs }}
        - {{ . | quote }}
        {{- end }}
        {{- include "llm.probes" . | nindent 8 }}
        resources: {limits: {nvidia.com/gpu: 1, cpu: "{{ mul .Values.cores 1 }}"}}
"""
HELPERS = """\
{{- define "llm.probes" -}}
livenessProbe:
  httpGet: {path: /health, port: 8000}
  initialDelaySeconds: 900
readinessProbe: {httpGet: {path: /health, port: 8000}}
{{- end -}}
"""


@pytest.mark.usefixtures("_helm_library")
def test_what_helm_renders_is_found_in_values_templates_and_helpers(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Also where the charts that it depends on were not fetched; another values file, which is not
    rendered, is not pointed at.
    """
    chart = tmp_path / "llm"
    (chart / "templates").mkdir(parents=True)
    depends = (
        "dependencies:\n- name: redis\n  version: 1.0.0\n  repository: https://charts.invalid\n"
    )
    (chart / "Chart.yaml").write_text(f"apiVersion: v2\nname: llm\n{depends}version: 0.1.0\n")
    values = (
        "image:\n  repository: vllm/vllm-openai\n  tag: latest\nextraArgs:\n- "
        "--gpu-memory-utilization=90\ncores: 1\n"
    )
    (chart / "values.yaml").write_text(values)
    (chart / "values-a.yaml").write_text(values)
    (chart / "templates" / "vllm.yaml").write_text(TEMPLATED)
    (chart / "templates" / "_helpers.tpl").write_text(HELPERS)
    assert main(["check", str(chart), "-o", "json"]) == 1
    printed = capsys.readouterr()
    (unchecked,) = json.loads(printed.out)["unchecked"]
    assert unchecked["message"].startswith("rendered without redis")
    found = {
        one["rule"]: (Path(one["file"]).name, one["line"])
        for one in json.loads(printed.out)["findings"]
    }
    assert found == {
        "floating-tag": ("values.yaml", 3),
        "bad-flag-value": ("values.yaml", 5),
        "probe-kills-saturated": ("_helpers.tpl", 2),
        "cpu-limit-starves": ("vllm.yaml", 16),
    }


@pytest.fixture
def _helm_library(monkeypatch: pytest.MonkeyPatch) -> None:
    """The wheel's library, and no helm on the PATH."""
    if not setup_helm.is_installed():
        why = "the Helm library is not set up here: run `make helm`"
        if os.environ.get("CI") == "true":
            pytest.fail(why)
        pytest.skip(why)
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    monkeypatch.setenv("PYTHONPATH", str(setup_helm.TARGET))
    monkeypatch.syspath_prepend(str(setup_helm.TARGET))
    assert helm_library.is_installed()


@pytest.mark.usefixtures("_helm_library")
@pytest.mark.parametrize(
    ("template", "cause"),
    [
        ("a: {{ .Values.nope.deeper }}\n", "nil pointer"),
        ('a: {{ include "none" . }}\n', "none"),
        ('a: {{ required "say the model" .Values.model }}\n', "say the model"),
        ("a: {{ .Values\n", "pod.yaml"),
    ],
)
def test_a_chart_that_helm_refuses_is_not_checked_with_the_cause(
    tmp_path: Path, template: str, cause: str, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "templates").mkdir()
    (tmp_path / "Chart.yaml").write_text("apiVersion: v2\nname: vllm\nversion: 0.1.0\n")
    (tmp_path / "templates" / "pod.yaml").write_text(template)
    assert main(["check", str(tmp_path)]) == 2
    shown = capsys.readouterr().out
    assert "not rendered: helm: Error: " in shown
    assert cause in shown


@pytest.mark.usefixtures("_helm_library")
def test_no_cluster_is_asked_and_a_document_keeps_its_template(tmp_path: Path) -> None:
    (tmp_path / "templates").mkdir()
    (tmp_path / "Chart.yaml").write_text("apiVersion: v2\nname: llm\nversion: 0.1.0\n")
    (tmp_path / "templates" / "NOTES.txt").write_text("thanks\n")
    (tmp_path / "templates" / "two.yaml").write_text(
        'kind: A\nseen: {{ lookup "v1" "Pod" "" "" | len }}\n---\n'
        "{{- if false }}\nkind: B\n{{- end }}\n---\nkind: {{ .Release.Name }}\n"
    )
    made = helm_template(tmp_path)
    assert made.failure == ""
    source = "---\n# Source: llm/templates/two.yaml\n"
    assert made.text == f"{source}kind: A\nseen: 0\n{source}kind: check\n"


@pytest.mark.usefixtures("_helm_library")
def test_a_remedys_change_is_made_in_the_values_of_a_chart(tmp_path: Path) -> None:
    """Two values that say the same are not told apart: nothing is guessed."""
    change = ConfigChange("argument", "--max-num-seqs", "64", "16")
    (tmp_path / "templates").mkdir()
    (tmp_path / "Chart.yaml").write_text("apiVersion: v2\nname: llm\nversion: 0.1.0\n")
    flag = "        - --max-num-seqs={{ .Values.engine.slots }}\n"
    head, _, _ = TEMPLATED.partition("        {{- range")
    (tmp_path / "templates" / "d.yaml").write_text(head + flag)
    image = "image: {repository: vllm/vllm-openai, tag: v0.32.0}\n"
    values = f"{image}engine:\n  slots: 64   # tuned\n"
    (tmp_path / "values.yaml").write_text(values)
    made = source_edit(str(tmp_path), "Deployment", "release-name-vllm", change)
    assert made.file.name == "values.yaml"
    assert made.text == values.replace("64", "16")
