"""What a change brings is told of charts and overlays too: they are rendered as they were, and
nothing of the repository is touched.
"""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import pytest

from barostat.io.manifests.changed_lines import changed_lines
from barostat.io.manifests.gather import gather
from barostat.io.manifests.rendered_before import rendered_before
from barostat.shells.cli.main import main

POD = """\
apiVersion: v1
kind: Pod
metadata: {name: llm}
spec:
  containers:
  - name: vllm
    image: vllm/vllm-openai:TAG
    args: [--model=a/b, --swap-space=4]
    resources: {limits: {nvidia.com/gpu: 1}}
"""


def _git(*words: str) -> str:
    command = ["git", "-c", "user.name=a", "-c", "user.email=a@b", *words]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def _told(capsys: pytest.CaptureFixture[str], *words: str) -> list[tuple[str, str]]:
    main(["check", *words, "-o", "json", "--since", "HEAD"])
    return [(one["rule"], one["file"]) for one in json.loads(capsys.readouterr().out)["findings"]]


@pytest.fixture
def _chart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A repository with a chart, and a `helm` that fills its tag in."""
    tools, team = tmp_path / "tools", tmp_path / "team"
    tools.mkdir()
    (tools / "helm").write_text(
        '#!/bin/sh\ntag=$(sed -n "s/^tag: //p" values.yaml)\necho "---"\necho "# Source: '
        'llm/templates/pod.yaml"\n'
        'sed "s/{{ .Values.tag }}/$tag/" templates/pod.yaml\n'
    )
    (tools / "helm").chmod(0o755)
    (team / "llm" / "templates").mkdir(parents=True)
    (team / "llm" / "Chart.yaml").write_text("apiVersion: v2\nname: llm\nversion: 0.1.0\n")
    (team / "llm" / "values.yaml").write_text("# ours\ntag: v0.17.0\n")
    (team / "llm" / "templates" / "pod.yaml").write_text(POD.replace("TAG", "{{ .Values.tag }}"))
    git = shutil.which("git")
    assert git is not None
    monkeypatch.setenv("PATH", f"{tools}:{Path(git).parent}:/usr/bin:/bin")
    monkeypatch.chdir(team)
    _git("init", "-q")
    _git("add", "-A")
    _git("commit", "-qm", "a")


@pytest.mark.usefixtures("_chart")
def test_a_newer_tag_in_values_brings_what_it_makes_fatal_in_the_template(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert _told(capsys, ".") == []
    Path("llm/values.yaml").write_text("# ours\ntag: v0.18.0\n")
    assert _told(capsys, ".") == [("unknown-flag", "llm/templates/pod.yaml")]
    assert _told(capsys, "llm/values.yaml") == [("unknown-flag", "llm/templates/pod.yaml")]
    Path("llm/values.yaml").write_text("# of the team\ntag: v0.17.0\n")
    assert _told(capsys, ".") == []
    assert _git("status", "--porcelain").split() == ["M", "llm/values.yaml"]


@pytest.mark.usefixtures("_chart")
def test_a_chart_that_was_not_there_is_new_as_a_whole(capsys: pytest.CaptureFixture[str]) -> None:
    shutil.copytree("llm", "other")
    Path("other/values.yaml").write_text("tag: v0.18.0\n")
    assert {file for _, file in _told(capsys, ".")} == {"other/templates/pod.yaml"}


@pytest.mark.usefixtures("_chart")
def test_only_what_has_changed_is_rendered_again() -> None:
    gathered = gather(["."])
    lines = changed_lines("HEAD", Path())
    with rendered_before("HEAD", Path(), gathered.origins, lines) as before:
        assert before.origins == {}
    Path("llm/values.yaml").write_text("tag: v0.18.0\n")
    with rendered_before("HEAD", Path(), gathered.origins, changed_lines("HEAD", Path())) as before:
        assert list(before.origins) == list(gathered.origins)
        assert "v0.17.0" in before.origins["llm (rendered)"].document.text
        tree = before.tree
        assert tree.is_dir()
    assert not tree.exists()


@pytest.mark.skipif(
    not (shutil.which("kustomize") or shutil.which("kubectl")),
    reason="neither kustomize nor kubectl is there",
)
def test_a_newer_tag_in_a_kustomization_brings_what_it_makes_fatal_in_the_base(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    for folder in ("base", "prod"):
        Path(folder).mkdir()
    Path("base/pod.yaml").write_text(POD.replace(":TAG", ""))
    Path("base/kustomization.yaml").write_text("resources: [pod.yaml]\n")
    overlay = "resources: [../base]\nimages:\n- name: vllm/vllm-openai\n  newTag: v0.17.0\n"
    Path("prod/kustomization.yaml").write_text(overlay)
    _git("init", "-q")
    _git("add", "-A")
    _git("commit", "-qm", "a")
    assert _told(capsys, ".") == []
    Path("prod/kustomization.yaml").write_text(overlay.replace("v0.17.0", "v0.18.0"))
    assert _told(capsys, ".") == [("unknown-flag", "base/pod.yaml")]
