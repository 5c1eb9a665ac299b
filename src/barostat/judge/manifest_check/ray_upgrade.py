"""The second RayCluster that a changed RayService starts, with the cards that it needs.

Source: ray.io/v1 RayServiceSpec (upgradeStrategy), RayClusterSpec, WorkerGroupSpec (replicas,
numOfHosts); controllers/ray/rayservice_controller.go (shouldPrepareNewCluster) of kuberay v1.6.0.
"""

from __future__ import annotations

from barostat.judge.manifest_check.container_host import cards_of
from barostat.lint.document import Document, Node
from barostat.lint.facts import RayUpgrade

_CONFIG = ("spec", "rayClusterConfig")


def ray_upgrade_of(document: Document, root: Node) -> RayUpgrade | None:
    """Return the upgrade of a RayService to a new cluster; None for any other object, and for one
    whose upgrades are off or go step by step.
    """
    config = root.get(*_CONFIG)
    strategy = root.word("spec", "upgradeStrategy", "type") or "NewCluster"
    if root.word("kind") != "RayService" or config is None or strategy != "NewCluster":
        return None
    cards = _of_pod(config.get("headGroupSpec"))
    for group in config.maps_at("workerGroupSpecs"):
        replicas, hosts = group.number("replicas"), group.number("numOfHosts") or 1.0
        cards += (1.0 if replicas is None else replicas) * hosts * _of_pod(group)
    return RayUpgrade(root.word("metadata", "name"), document.place(config), cards)


def _of_pod(group: Node | None) -> float:
    """The cards that a pod of the group asks for, as far as they can be read."""
    containers = group.maps_at("template", "spec", "containers") if group is not None else []
    asked = [cards_of(container.get("resources", "limits")) for container in containers]
    return sum(found[1] or 0.0 for found in asked if found is not None)
