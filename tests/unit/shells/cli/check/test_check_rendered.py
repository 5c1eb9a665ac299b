"""Rendered charts from the command line: each finding at a line that a person edits. A stand-in
prints what helm makes of each chart; tests/integration/test_helm.py has the real one.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from barostat.shells.cli.main import main


def test_what_values_show_is_told_once_and_what_is_only_near_is_said_to_be(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The stand-in prints what helm makes of this chart."""
    chart, tools = tmp_path / "llm", tmp_path / "tools"
    (chart / "templates").mkdir(parents=True)
    tools.mkdir()
    command = '["vllm", "serve", "Qwen/Qwen3-8B", "--gpu-memory-utilization=90"]'
    (chart / "Chart.yaml").write_text("apiVersion: v2\nname: llm\nversion: 0.1.0\n")
    (chart / "values.yaml").write_text(
        f"image:\n  repository: vllm/vllm-openai\n  tag: v0.32.0\n  command: {command}\n"
    )
    (chart / "templates" / "pod.yaml").write_text(
        "kind: Pod\nspec:\n  containers:\n  {{- toYaml .Values | nindent 2 }}\n"
    )
    container = (
        f"{{name: vllm, image: vllm/vllm-openai:v0.32.0, command: {command}, resources: "
        f"{{limits: {{nvidia.com/gpu: 1, cpu: 1}}}}}}"
    )
    pod = (
        f"# Source: llm/templates/pod.yaml\nkind: Pod\nmetadata: {{name: vllm}}\nspec:\n  "
        f"containers:\n  - {container}\n"
    )
    (tools / "helm").write_text(f"#!/bin/sh\ncat <<'END'\n{pod}END\n")
    (tools / "helm").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tools}:/usr/bin:/bin")
    assert main(["check", str(chart), "-o", "json"]) == 1
    found = json.loads(capsys.readouterr().out)["findings"]
    assert [(one["rule"], Path(one["file"]).name, one["line"]) for one in found] == [
        ("cpu-limit-starves", "pod.yaml", 3),
        ("bad-flag-value", "values.yaml", 4),
    ]
    assert found[0]["message"].endswith("(as rendered, in Pod vllm)")


def test_a_comment_in_values_or_a_template_allows_what_they_render_to(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Of a finding in both the values and what they render to as well; the stand-in prints what
    helm makes of this chart.
    """
    chart, tools = tmp_path / "llm", tmp_path / "tools"
    (chart / "templates").mkdir(parents=True)
    tools.mkdir()
    (chart / "Chart.yaml").write_text("apiVersion: v2\nname: llm\nversion: 0.1.0\n")
    allowed = "# barostat: ignore[{}] as we want it"
    tag = f"  tag: latest  {allowed.format('floating-tag')}\n"
    (chart / "values.yaml").write_text(
        f"image:\n  repository: vllm/vllm-openai\n{tag}  command: [vllm, serve, Qwen/Qwen3-8B]\n"
    )
    cpu = f"cpu: {{{{ .Values.cpu }}}}  {{{{/* {allowed.format('cpu-limit-starves')} */}}}}\n"
    (chart / "templates" / "pod.yaml").write_text(
        f"kind: Pod\nspec:\n  containers:\n  - resources:\n      limits:\n        {cpu}"
    )
    limits = "resources: {limits: {nvidia.com/gpu: 1, cpu: 1}}"
    container = (
        f"{{name: vllm, image: vllm/vllm-openai:latest, command: [vllm, serve, Qwen/Qwen3-8B], "
        f"{limits}}}"
    )
    pod = (
        f"# Source: llm/templates/pod.yaml\nkind: Pod\nmetadata: {{name: vllm}}\nspec:\n  "
        f"containers:\n  - {container}\n"
    )
    (tools / "helm").write_text(f"#!/bin/sh\ncat <<'END'\n{pod}END\n")
    (tools / "helm").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tools}:/usr/bin:/bin")
    assert main(["check", str(chart)]) == 0
    assert "2 allowed in place" in capsys.readouterr().out
