"""A RayService whose next change needs twice the cards.

Meaning: a change of `rayClusterConfig` (an image, a resource, a variable) starts a second RayCluster
beside the first, and the first ends only when the second serves. A change of `serveConfigV2` alone
stays on the same cluster, and so does one of a group's replicas.
Impact: where as many cards are not free, the second cluster's workers are Pending, and the change
never arrives.

Bad:

    {kind: RayService, apiVersion: ray.io/v1, metadata: {name: a}, spec: {serveConfigV2: "
    {applications: [{args: {llm_configs: [{engine_kwargs: {max_model_len: 8192}}]}}]}",
    rayClusterConfig: {workerGroupSpecs: [{groupName: gpu, replicas: 2, template: {spec:
    {containers: [{name: ray-worker, resources: {limits: {nvidia.com/gpu: 4}}}]}}}]}}}

Good:

    {kind: RayService, apiVersion: ray.io/v1, metadata: {name: a}, spec: {upgradeStrategy: {type:
    None}, rayClusterConfig: {workerGroupSpecs: [{groupName: gpu, replicas: 2, template: {spec:
    {containers: [{name: ray-worker, resources: {limits: {nvidia.com/gpu: 4}}}]}}}]}}}

Fix: keep as many cards free; or put the change into `serveConfigV2` if it is one of the engine; or
`upgradeStrategy.type: None`, and replace the RayService in a quiet hour.
Source: ray.io/v1 RayService; kuberay v1.6.0 shouldPrepareNewCluster.
"""

from __future__ import annotations

from collections.abc import Iterator

from barostat.lint.facts import Scene
from barostat.lint.rule import Found, Rule
from barostat.lint.rules.no_card_for_surge import MANY_CARDS


def judge(scene: Scene) -> Iterator[Found]:
    """Every RayService with cards; for several of them it is said to everybody."""
    for upgrade in scene.ray_upgrades:
        if upgrade.cards > 0:
            cards = f"{upgrade.cards:.0f} card{'s' if upgrade.cards > 1 else ''}"
            yield Found(
                upgrade.place,
                f"a change of rayClusterConfig starts a second RayCluster with {cards} beside the "
                "first: without as many free it never serves",
                "change serveConfigV2 alone, or keep as many cards free",
                persona="ordinary" if upgrade.cards >= MANY_CARDS else None,
            )


RULE = Rule(
    "no-card-for-second-cluster",
    "a RayService whose next change needs twice the cards",
    judge,
    "warning",
    "medium",
    "pedant",
    topic="rollout",
)
