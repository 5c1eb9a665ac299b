"""The cards of the second RayCluster that a changed RayService starts."""

from __future__ import annotations

import pytest

from barostat.io.manifests.read import document_of
from barostat.judge.manifest_check.check import check

RULE = "no-card-for-second-cluster"
ONE = """kind: RayService
apiVersion: ray.io/v1
metadata: {{name: r}}
spec:
  {strategy}
  serveConfigV2: |
    applications:
    - args: {{llm_configs: [{{engine_kwargs: {{max_model_len: 8192}}}}]}}
  rayClusterConfig:
    headGroupSpec: {{template: {{spec: {{containers: [{{name: head, resources: {{limits: {{{head}}}}}}}]}}}}}}
    workerGroupSpecs:
    - {{groupName: a, {size}, template: {{spec: {{containers: [{{name: w, resources: {{limits: {{{worker}}}}}}}]}}}}}}
"""


def _told(strategy: str = "", head: str = "", size: str = "replicas: 2", worker: str = "") -> str:
    text = ONE.format(strategy=strategy, head=head, size=size, worker=worker)
    found = check([document_of(text, "a.yaml")], persona="pedant").findings
    return "; ".join(f"{one.persona}: {one.message}" for one in found if one.rule == RULE)


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"worker": "nvidia.com/gpu: 1"}, "pedant: .. with 2 cards beside"),
        ({"worker": "nvidia.com/gpu: 4"}, "ordinary: .. with 8 cards beside"),
        ({"worker": "amd.com/gpu: 1", "size": "replicas: 1"}, "pedant: .. with 1 card beside"),
        ({"worker": "nvidia.com/gpu: 2", "size": "numOfHosts: 2"}, "ordinary: .. with 4 cards"),
        ({"worker": "nvidia.com/gpu: 1", "head": "nvidia.com/gpu: 1"}, "pedant: .. with 3 cards"),
    ],
)
def test_a_change_of_the_cluster_needs_its_cards_once_more(
    given: dict[str, str], says: str
) -> None:
    persona, cards = says.split(" .. ")
    told = _told(**given)
    assert told.startswith(persona)
    assert cards in told


@pytest.mark.parametrize("kind", ["None", "NewClusterWithIncrementalUpgrade"])
def test_an_upgrade_that_is_off_or_goes_step_by_step_is_not_named(kind: str) -> None:
    assert _told(f"upgradeStrategy: {{type: {kind}}}", worker="nvidia.com/gpu: 4") == ""


def test_without_cards_there_is_none_to_want() -> None:
    assert _told(worker="cpu: 1") == ""
