"""Cards that are asked for in a number that only a template's variable tells."""

from __future__ import annotations

from barostat.io.manifests.read import document_of
from barostat.judge.manifest_check.check import check


def told(resources: str, marks: str = "{}") -> list[str]:
    container = (
        f"{{name: a, image: 'vllm/vllm-openai:v0.32.0', args: [--model, a/b], resources: "
        f"{resources}}}"
    )
    text = (
        f"kind: Pod\napiVersion: v1\nmetadata: {{name: a, annotations: {marks}}}\nspec: "
        f"{{containers: [{container}]}}\n"
    )
    rules = ("no-card", "card-not-limited", "idle-cards", "tensor-parallel-mismatch")
    return [one.rule for one in check([document_of(text, "a.yaml")]).findings if one.rule in rules]


def test_a_number_that_cannot_be_read_is_not_none() -> None:
    assert told("{limits: {nvidia.com/gpu: '${CARDS}'}}") == []
    assert told("{limits: {nvidia.com/gpu: '${CARDS}'}, requests: {nvidia.com/gpu: 1}}") == []


def test_none_at_all_is_told() -> None:
    assert told("{limits: {memory: 64Gi}}") == ["no-card"]
    assert told("{requests: {nvidia.com/gpu: '${CARDS}'}}") == ["card-not-limited"]


def test_a_part_of_a_card_is_asked_for_by_an_annotation() -> None:
    assert told("{}", "{gpu-fraction: '0.5'}") == []
    assert told("{}", "{other: '0.5'}") == ["no-card"]
