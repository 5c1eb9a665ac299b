"""HCL as Terraform and Nomad write it: values with their places, references that nothing resolves."""

from __future__ import annotations

import pytest

from barostat.io.manifests.hcl_tree import read_hcl
from barostat.io.manifests.yaml_tree import LARGEST_BYTES

TEXT = """\
# a comment
locals { size = 4 /* cards */ }
resource "kubernetes_deployment" "llm" {
  spec {
    container {
      image = "vllm/vllm-openai:${var.tag}"
      args  = concat(["--model", var.model], var.more, ["--port=8000"])
      limits = { "nvidia.com/gpu" = 1, memory = local.big ? "8Gi" : "4Gi" }
    }
    container { image = "b\\"c" }
  }
  script = <<-EOT
    vllm serve ${var.model}
  EOT
  task = jsonencode({ command = ["vllm", "serve"] })
}
"""


def test_blocks_attributes_and_expressions() -> None:
    document = read_hcl(TEXT, "a.tf")
    assert document.problem is None
    (root,) = document.roots
    resource = root.maps_at("resource")[0]
    assert resource.word("name") == "llm"
    first, second = resource.maps_at("spec", 0, "container")
    assert first.word("image") == "vllm/vllm-openai:${var.tag}"
    assert [item.text for item in first.list_at("args")] == [
        "--model",
        "$ar.model",
        "$ar.more",
        "--port=8000",
    ]
    assert first.word("limits", "nvidia.com/gpu") == "1"
    assert first.word("limits", "memory").startswith("$")
    assert second.word("image") == 'b"c'
    assert [item.text for item in resource.list_at("task", "command")] == ["vllm", "serve"]
    script = resource.get("script")
    assert script is not None
    assert script.text == "    vllm serve ${var.model}\n"
    place = document.within(script, 4, 8)
    assert (place.line, document.text[place.start : place.end]) == (13, "vllm")


@pytest.mark.parametrize(
    ("text", "line", "reason"),
    [
        ("a = {\n", 1, "never closed"),
        ('a = "b\n', 1, "never closed"),
        ("a = <<X\nb\n", 1, "here-document"),
        ("ok = 1\n? = 2\n", 2, "unexpected"),
        ("a = " + "[" * 500, 1, "deep"),
        ("a {" * 500, 1, "deep"),
    ],
)
def test_text_that_is_no_hcl_is_one_problem(text: str, line: int, reason: str) -> None:
    problem = read_hcl(text, "a.tf").problem
    assert problem is not None
    assert problem.place.line == line
    assert reason in problem.reason


def test_a_large_text_is_not_read() -> None:
    problem = read_hcl(" " * (LARGEST_BYTES + 1), "a.tf").problem
    assert problem is not None
    assert "too large" in problem.reason
