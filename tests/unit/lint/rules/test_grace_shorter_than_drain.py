"""The grace period that is advised leaves the processes time to end, as the rule's page says."""

from __future__ import annotations

from barostat.io.manifests.read import document_of
from barostat.judge.manifest_check.check import check


def fixes(grace: int, hook: int, args: str = "") -> list[str]:
    before = f"{{preStop: {{sleep: {{seconds: {hook}}}}}}}"
    container = (
        f"{{name: a, image: 'vllm/vllm-openai:v0.32.0', args: [--model, a/b{args}], lifecycle: "
        f"{before}}}"
    )
    spec = f"{{terminationGracePeriodSeconds: {grace}, containers: [{container}]}}"
    text = f"kind: Pod\napiVersion: v1\nmetadata: {{name: a}}\nspec: {spec}\n"
    return [
        one.fix
        for one in check([document_of(text, "a.yaml")]).findings
        if one.rule == "grace-shorter-than-drain"
    ]


def test_ten_seconds_are_left() -> None:
    assert fixes(30, 45) == ["terminationGracePeriodSeconds: 55"]
    assert fixes(60, 15, ", --shutdown-timeout, '60'") == ["terminationGracePeriodSeconds: 85"]
    assert fixes(55, 45) == []
