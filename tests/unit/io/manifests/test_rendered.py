"""Charts and overlays rendered with their tool (a stand-in here), and traced back to what a person
edits.
"""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from barostat.io.manifests.gather import Gathered, Reading, gather
from barostat.io.manifests.render_tools import INSTALL_HELM, INSTALL_KUSTOMIZE
from barostat.io.manifests.rendered import render_overlay, sources_of_overlay
from barostat.judge.manifest_check.check import check

LENIENT = Reading(lenient=True)
POD = """\
apiVersion: v1
kind: Pod
metadata:
  name: llm
spec:
  containers:
  - name: vllm
    image: vllm/vllm-openai:v0.32.0
    args: [--model=Qwen/Qwen3-8B, "--gpu-memory-utilization={share}"]
    resources: {{limits: {{nvidia.com/gpu: 1}}}}
"""


def _reasons(gathered: Gathered) -> list[str]:
    return [one.message for one in gathered.unchecked]


@pytest.fixture
def _helm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A `helm` that fills one value in, as the real one does for this chart."""
    tools = tmp_path / "tools"
    tools.mkdir()
    script = tools / "helm"
    script.write_text(
        '#!/bin/sh\necho "---"\necho "# Source: llm/templates/pod.yaml"\nsed "s/{{ '
        '.Values.tag }}/latest/" templates/pod.yaml\n'
    )
    script.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tools}:/usr/bin:/bin")


def _chart(folder: Path) -> None:
    (folder / "templates").mkdir(parents=True)
    (folder / "Chart.yaml").write_text("apiVersion: v2\nname: llm\nversion: 0.1.0\n")
    (folder / "values.yaml").write_text("# the engine's\nimage: vllm/vllm-openai:latest\n")
    (folder / "templates" / "pod.yaml").write_text(
        POD.format(share="90").replace("v0.32.0", "{{ .Values.tag }}")
    )


@pytest.mark.usefixtures("_helm")
def test_a_chart_is_rendered_and_traced_to_its_values_and_templates(tmp_path: Path) -> None:
    _chart(tmp_path / "llm")
    found = gather([str(tmp_path / "llm")])
    assert found.unchecked == []
    places = {
        one.rule: found.origins[one.place.file].traced(one.place).place
        for one in check(found.documents).findings
        if one.place.file in found.origins
    }
    assert (places["floating-tag"].file, places["floating-tag"].line) == (
        str(tmp_path / "llm" / "values.yaml"),
        2,
    )
    assert places["bad-flag-value"].file == str(tmp_path / "llm" / "templates" / "pod.yaml")


def test_where_helm_is_not_there_that_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    _chart(tmp_path / "llm")
    found = gather([str(tmp_path / "llm")])
    (result,) = found.unchecked
    assert (result.place.file, result.severity) == (str(tmp_path / "llm" / "Chart.yaml"), "error")
    assert result.message == f"not rendered: {INSTALL_HELM}"
    assert [one.severity for one in gather([str(tmp_path / "llm")], LENIENT).unchecked] == ["note"]


def _overlay(folder: Path) -> Path:
    base, prod = folder / "base", folder / "prod"
    base.mkdir(parents=True)
    prod.mkdir()
    (base / "pod.yaml").write_text(POD.format(share="0.9"))
    (base / "kustomization.yaml").write_text("resources: [pod.yaml]\n")
    (prod / "kustomization.yaml").write_text("resources: [../base]\npatches: [{path: tag.yaml}]\n")
    patch = (
        "apiVersion: v1\nkind: Pod\nmetadata: {name: llm}\nspec:\n  containers:\n  - name: "
        "vllm\n    image: vllm/vllm-openai:latest\n"
    )
    (prod / "tag.yaml").write_text(patch)
    return prod


def test_an_overlay_is_made_of_what_it_names(tmp_path: Path) -> None:
    prod = _overlay(tmp_path)
    assert sources_of_overlay(prod) == {
        (tmp_path / "base").resolve(),
        (prod / "tag.yaml").resolve(),
    }
    assert sources_of_overlay(prod, patches_only=True) == {(prod / "tag.yaml").resolve()}


@pytest.mark.skipif(
    not (shutil.which("kubectl") or shutil.which("kustomize")),
    reason="neither kubectl nor kustomize is there",
)
def test_an_overlay_is_rendered_and_traced_to_the_patch(tmp_path: Path) -> None:
    _overlay(tmp_path)
    found = gather([str(tmp_path)])
    (one,) = check(found.documents).findings
    assert one.rule == "floating-tag"
    place = found.origins[one.place.file].traced(one.place).place
    assert (place.file, place.line) == (str(tmp_path / "prod" / "tag.yaml"), 7)


@pytest.mark.skipif(
    not (shutil.which("kubectl") or shutil.which("kustomize")),
    reason="neither kubectl nor kustomize is there",
)
def test_a_value_that_stands_twice_is_traced_by_the_way_to_it_and_an_image_to_its_tag(
    tmp_path: Path,
) -> None:
    pod = POD.format(share="0.9").replace("vllm/vllm-openai:v0.32.0", "engine:replaced")
    asked = (
        '    resources:\n      requests:\n        cpu: "1"\n      limits:\n        cpu: "1"\n  '
        '      nvidia.com/gpu: "1"\n'
    )
    (tmp_path / "pod.yaml").write_text(pod.partition("    resources:")[0] + asked)
    images = "images:\n- name: engine\n  newName: vllm/vllm-openai\n  newTag: latest\n"
    (tmp_path / "kustomization.yaml").write_text("resources: [pod.yaml]\n" + images)
    found = gather([str(tmp_path)])
    places = {
        one.rule: found.origins[one.place.file].traced(one.place).place
        for one in check(found.documents).findings
    }
    assert {rule: (Path(place.file).name, place.line) for rule, place in places.items()} == {
        "cpu-limit-starves": ("pod.yaml", 14),
        "floating-tag": ("kustomization.yaml", 5),
    }


def test_without_a_tool_a_patch_is_no_manifest_of_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    _overlay(tmp_path)
    found = gather([str(tmp_path)])
    assert [Path(document.file).name for document in found.documents] == ["pod.yaml"]
    assert _reasons(found) == [f"not rendered: {INSTALL_KUSTOMIZE}"]


def test_what_kubectl_writes_on_several_lines_is_told_by_the_one_that_says_why(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _overlay(tmp_path)
    (tmp_path / "tools").mkdir()
    said = (
        "E1125 run.go:72] command failed err=<\n\taccumulating resources: `\n\tpath: "
        "a.json\n\t`: no file a.json\n >"
    )
    (tmp_path / "tools" / "kubectl").write_text(
        f"#!/bin/sh\ncat >&2 <<'END'\n{said}\nEND\nexit 1\n"
    )
    (tmp_path / "tools" / "kubectl").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path / 'tools'}:/usr/bin:/bin")
    if shutil.which("kustomize"):
        pytest.skip("kustomize is asked first")
    assert _reasons(gather([str(tmp_path / "prod")])) == ["not rendered: kubectl: no file a.json"]


def test_overlays_that_name_themselves_or_each_other_have_an_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    one, other = tmp_path / "one", tmp_path / "other"
    for folder, named in ((one, "[., ../other, pod.yaml]"), (other, "[../one, pod.yaml]")):
        folder.mkdir()
        (folder / "kustomization.yaml").write_text(f"resources: {named}\n")
        (folder / "pod.yaml").write_text(POD.format(share="0.9"))
    found = render_overlay(one)
    assert [Path(source.file).parent.name for source in found.sources] == ["one", "other"]
    assert [Path(own.file).parent.name for own in found.kustomizations] == ["one", "other"]


def test_a_chart_whose_dependencies_were_not_fetched_is_rendered_without_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The stand-in refuses as helm 3.18 does; what the chart is made of stays as it was."""
    _chart(tmp_path / "llm")
    meta = (
        "apiVersion: v2\nname: llm\ndependencies:\n- name: redis\n\n  version: 1.0.0\n# "
        "ours\nversion: 0.1.0\n"
    )
    (tmp_path / "llm" / "Chart.yaml").write_text(meta)
    tools = tmp_path / "tools"
    tools.mkdir()
    refusal = (
        "Error: An error occurred while checking for chart dependencies: found in Chart.yaml, "
        "but missing in charts/ directory: redis"
    )
    body = (
        f'grep -q redis Chart.yaml && {{ echo "{refusal}" >&2; echo "Use --debug" >&2; exit 1; }}\n'
    )
    body += 'grep -q "^version: 0.1.0" Chart.yaml || exit 1\n'
    body += 'echo "# Source: llm/templates/pod.yaml"; cat templates/pod.yaml\n'
    (tools / "helm").write_text(f"#!/bin/sh\n{body}")
    (tools / "helm").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tools}:/usr/bin:/bin")
    found = gather([str(tmp_path / "llm")])
    assert _reasons(found) == ["rendered without redis, which is not in its charts folder"]
    assert [one.severity for one in found.unchecked] == ["note"]
    assert any(document.file.endswith("(rendered)") for document in found.documents)
    assert (tmp_path / "llm" / "Chart.yaml").read_text() == meta
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    (tools / "helm").write_text(
        f'#!/bin/sh\necho "{refusal}" >&2; echo "Use --debug" >&2; exit 1\n'
    )
    monkeypatch.setenv("PATH", f"{tools}:/usr/bin:/bin")
    assert _reasons(gather([str(tmp_path / "llm")])) == [f"not rendered: helm: {refusal}"]


def test_templates_of_a_chart_beside_its_templates_folder_are_not_complained_of(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    _chart(tmp_path / "llm")
    (tmp_path / "llm" / "files").mkdir()
    (tmp_path / "llm" / "files" / "patch.yaml").write_text(
        POD.format(share="0.9").replace("v0.32.0", "{{ .Values.tag }}")
    )
    assert _reasons(gather([str(tmp_path / "llm")])) == [f"not rendered: {INSTALL_HELM}"]


@pytest.mark.skipif(
    not (shutil.which("kubectl") or shutil.which("kustomize")),
    reason="neither kubectl nor kustomize is there",
)
def test_a_patch_that_stands_within_a_kustomization_is_found_there(tmp_path: Path) -> None:
    (tmp_path / "pod.yaml").write_text(POD.format(share="0.9"))
    change = (
        "    - op: replace\n      path: /spec/containers/0/image\n      value: "
        "vllm/vllm-openai:latest\n"
    )
    (tmp_path / "kustomization.yaml").write_text(
        f"resources: [pod.yaml]\npatches:\n- target: {{kind: Pod}}\n  patch: |-\n{change}"
    )
    found = gather([str(tmp_path)])
    (one,) = check(found.documents).findings
    place = found.origins[one.place.file].traced(one.place).place
    assert (one.rule, Path(place.file).name, place.line, place.column) == (
        "floating-tag",
        "kustomization.yaml",
        7,
        14,
    )


def test_an_argument_that_a_helper_brings_is_found_there_though_the_template_has_the_list(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tools, chart = tmp_path / "tools", tmp_path / "llm"
    tools.mkdir()
    (chart / "templates").mkdir(parents=True)
    (chart / "Chart.yaml").write_text("apiVersion: v2\nname: llm\nversion: 0.1.0\n")
    (chart / "values.yaml").write_text("share: 90\n")
    brought = (
        "- --model=Qwen/Qwen3-8B\n- --gpu-memory-utilization={{ .Values.share }}\n- "
        "--swap-space=4\n"
    )
    (chart / "templates" / "_helpers.tpl").write_text(
        f'{{{{ define "args" }}}}\n{brought}{{{{ end }}}}\n'
    )
    lines = [
        "kind: Pod",
        "metadata: {name: llm}",
        "spec:",
        "  containers:",
        "  - name: vllm",
        "    image: vllm/vllm-openai:v0.32.0",
    ]
    template = "\n".join([*lines, "    args:", '    {{- include "args" . | nindent 4 }}', ""])
    (chart / "templates" / "pod.yaml").write_text(template)
    made = "\n".join(
        [
            *lines,
            "    args:",
            *(f"    {row}" for row in brought.replace("{{ .Values.share }}", "90").splitlines()),
            "",
        ]
    )
    (tools / "helm").write_text(
        f"#!/bin/sh\ncat <<'END'\n---\n# Source: llm/templates/pod.yaml\n{made}END\n"
    )
    (tools / "helm").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tools}:/usr/bin:/bin")
    gathered = gather([str(chart)])
    found = {one.rule: gathered.edited_at(one.place) for one in check(gathered.documents).findings}
    helpers = str(chart / "templates" / "_helpers.tpl")
    assert (found["bad-flag-value"].file, found["bad-flag-value"].line) == (helpers, 3)
    assert (found["unknown-flag"].file, found["unknown-flag"].line) == (helpers, 4)


@pytest.mark.usefixtures("_helm")
@pytest.mark.parametrize("named", ["templates/pod.yaml", "values.yaml", "Chart.yaml"])
def test_a_file_of_a_chart_stands_for_the_chart(tmp_path: Path, named: str) -> None:
    _chart(tmp_path / "llm")
    gathered = gather([str(tmp_path / "llm" / named), str(tmp_path / "llm" / "values.yaml")])
    assert gathered.unchecked == []
    found = {one.rule: gathered.edited_at(one.place) for one in check(gathered.documents).findings}
    assert found["floating-tag"].file == str(tmp_path / "llm" / "values.yaml")
    assert found["bad-flag-value"].file == str(tmp_path / "llm" / "templates" / "pod.yaml")
    assert len(gathered.origins) == 1


def test_a_template_that_is_named_is_noted_where_helm_is_not_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _chart(tmp_path / "llm")
    monkeypatch.setenv("PATH", str(tmp_path))
    gathered = gather([str(tmp_path / "llm" / "templates" / "pod.yaml")])
    assert _reasons(gathered) == [f"not rendered: {INSTALL_HELM}"]


@pytest.mark.skipif(
    not (shutil.which("kustomize") or shutil.which("kubectl")),
    reason="neither kustomize nor kubectl is there",
)
@pytest.mark.parametrize("named", ["kustomization.yaml", "patch.yaml"])
def test_a_patch_stands_for_its_overlay_and_a_base_for_itself(tmp_path: Path, named: str) -> None:
    (tmp_path / "pod.yaml").write_text(POD.format(share="0.9"))
    patch = POD.format(share="90").replace("    image: vllm/vllm-openai:v0.32.0\n", "")
    (tmp_path / "patch.yaml").write_text(patch)
    (tmp_path / "kustomization.yaml").write_text(
        "resources: [pod.yaml]\npatches: [{path: patch.yaml}]\n"
    )
    gathered = gather([str(tmp_path / named)])
    found = {
        one.rule: gathered.edited_at(one.place).file for one in check(gathered.documents).findings
    }
    assert found["bad-flag-value"] == str(tmp_path / "patch.yaml")
    assert "bad-flag-value" not in {
        one.rule for one in check(gather([str(tmp_path / "pod.yaml")]).documents).findings
    }


def test_lenient_passes_over_strangers_that_were_named(tmp_path: Path) -> None:
    stranger, ours = tmp_path / "playbook.yaml", tmp_path / "llm.yaml"
    stranger.write_text("- {{ role }\n")
    ours.write_text("image: [vllm/vllm-openai\n")
    assert len(gather([str(stranger), str(ours)]).unchecked) == 2
    (result,) = gather([str(stranger), str(ours)], LENIENT).unchecked
    assert (result.place.file, result.severity) == (str(ours), "error")


def test_a_chart_without_a_word_about_vllm_is_not_rendered(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    (tmp_path / "redis").mkdir()
    (tmp_path / "redis" / "Chart.yaml").write_text("apiVersion: v2\nname: redis\nversion: 1.0.0\n")
    assert gather([str(tmp_path)]).unchecked == []


@pytest.mark.parametrize(
    "base",
    [
        "https://github.com/example/llm//deploy?ref=main",
        "github.com/example/llm/deploy?ref=v1",
        "git@github.com:example/llm.git//deploy",
        "https://example.com/vllm.yaml",
    ],
)
def test_a_remote_base_is_not_fetched_unless_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, base: str
) -> None:
    """Also one that a local base names. The stand-in renders whatever it is asked for."""
    prod = _overlay(tmp_path)
    kustomization = tmp_path / "base" / "kustomization.yaml"
    kustomization.write_text(f"resources: [pod.yaml, '{base}']\n")
    tools = tmp_path / "tools"
    tools.mkdir()
    (tools / "kustomize").write_text(f"#!/bin/sh\ntouch {tools}/was-run\ncat ../base/pod.yaml\n")
    (tools / "kustomize").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tools}:/usr/bin:/bin")
    assert _reasons(gather([str(prod)])) == [
        f"not rendered: its base {base} is remote and was not fetched (--remote)"
    ]
    assert not (tools / "was-run").exists()
    assert gather([str(prod)], Reading(remote=True)).unchecked == []
    assert (tools / "was-run").exists()
