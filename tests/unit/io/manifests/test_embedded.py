"""Values that stand as text within another object are read where they stand."""

from __future__ import annotations

from pathlib import Path

import pytest

from barostat.io.manifests.gather import Reading, gather
from barostat.io.manifests.read import document_of
from barostat.judge.manifest_check.check import check
from barostat.lint.document import edited

VALUES = """\
servingEngineSpec:
  modelSpec:
  - name: qwen
    repository: vllm/vllm-openai
    tag: v0.21.0
    modelURL: Qwen/Qwen3-8B
    requestGPU: 1
    vllmConfig: {maxModelLen: 8192, extraArgs: ["--swap-space", "4", "--max-num-seqs=64"]}
"""


def _within(key: str, depth: int) -> str:
    return f"{key}: |\n" + "".join(f"{' ' * depth}{line}\n" for line in VALUES.splitlines())


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_a_text_is_read_at_the_places_of_the_file_and_mended_there(end: str) -> None:
    head = "kind: Application\nspec:\n  sources:\n  - helm:\n      "
    text = (head + _within("values", 8)).replace("\n", end)
    (found,) = check([document_of(text, "a.yaml")]).findings
    assert (found.rule, found.place.line) == ("unknown-flag", 13)
    assert text.split(end)[12][found.place.column - 1 :].startswith("--swap-space")
    mended, _ = edited(text, list(found.edits))
    assert mended == text.replace('"--swap-space", "4", ', "")


@pytest.mark.parametrize(
    "text",
    [
        "kind: HelmChart\nspec:\n  " + _within("valuesContent", 4),
        "kind: ConfigMap\ndata:\n  " + _within("values.yaml", 4),
        (
            "kind: ApplicationSet\nspec:\n  template:\n    spec:\n      source:\n        "
            "helm:\n          "
        )
        + _within("values", 12),
    ],
)
def test_whoever_holds_it(text: str) -> None:
    assert [one.rule for one in check([document_of(text, "a.yaml")]).findings] == ["unknown-flag"]


@pytest.mark.parametrize(
    "inner",
    ["servingEngineSpec: [", "servingEngineSpec: {{ .x }}: y", "- servingEngineSpec:\n    a: 1"],
)
def test_a_text_that_is_no_mapping_stays_one(inner: str) -> None:
    rows = "".join(f"    {line}\n" for line in inner.splitlines())
    document = document_of(f"kind: ConfigMap\ndata:\n  v: |\n{rows}", "a.yaml")
    assert document.problem is None
    assert check([document]).findings == ()


def test_values_within_a_kustomization_that_is_not_rendered(tmp_path: Path) -> None:
    inline = "".join(f"    {line}\n" for line in VALUES.splitlines())
    (tmp_path / "kustomization.yaml").write_text(
        f"helmCharts:\n- name: vllm-stack\n  valuesInline:\n{inline}"
    )
    gathered = gather([str(tmp_path)], Reading(render=False))
    assert [one.rule for one in check(gathered.documents).findings] == ["unknown-flag"]


def test_a_kustomization_that_is_no_yaml_is_told_where_it_is_about_us(tmp_path: Path) -> None:
    for name, image in (("ours", "vllm/vllm-openai:v0.21.0"), ("others", "nginx:1")):
        (tmp_path / name).mkdir()
        (tmp_path / name / "kustomization.yaml").write_text("resources: [pod.yaml\n")
        (tmp_path / name / "pod.yaml").write_text(
            f"kind: Pod\nspec: {{containers: [{{name: a, image: '{image}'}}]}}\n"
        )
    (result,) = gather([str(tmp_path)]).unchecked
    assert (result.place.file, result.place.line, result.severity) == (
        str(tmp_path / "ours" / "kustomization.yaml"),
        2,
        "error",
    )
    assert result.message.startswith("not valid YAML")


@pytest.mark.parametrize(("encoding", "said"), [("utf-16", "UTF-16"), ("latin-1", "not UTF-8")])
def test_another_encoding_is_told_also_in_a_folder(
    tmp_path: Path, encoding: str, said: str
) -> None:
    (tmp_path / "a.yaml").write_bytes("# grüße\nimage: vllm/vllm-openai\n".encode(encoding))
    (tmp_path / "b.yaml").write_bytes("# grüße\nimage: nginx\n".encode(encoding))
    (result,) = gather([str(tmp_path)]).unchecked
    assert result.place.file == str(tmp_path / "a.yaml")
    assert said in result.message
