"""RayCluster, alone or made by a RayService.

Arguments: those of vLLM are in what is submitted to it (Ray Serve, a job); its pods' command starts
Ray. Rolls: `workerGroupSpecs` may grow and shrink in place; a changed template reaches only pods that
are made later. Reverts: a RayService's operator replaces the clusters that it made.
Source: ray.io/v1; controllers/ray/raycluster_controller.go of kuberay v1.6.0.
"""

from __future__ import annotations

from barostat.platform.objects import Object, count, objects, text
from barostat.platform.pods import RAY_CLUSTER, engine_container
from barostat.platform.workloads._kind import Api, Place, WorkloadKind

_WORKERS = ("spec", "workerGroupSpecs")


def runs_engines(pod: Object) -> bool:
    """True for a worker, and for a head that has cards."""
    is_head = text(pod, "metadata", "labels", "ray.io/node-type") == "head"
    container = engine_container(pod)
    return not is_head or (container is not None and container.gpus > 0)


class RayCluster(WorkloadKind):
    """RayCluster: found and diagnosed, not changed."""

    api = Api("RayCluster", "rayclusters", "ray.io", "v1")
    places = (
        Place(
            (*_WORKERS, "*", "template"), "template", "worker", ("replicas",), several=("template",)
        ),
        Place(("spec", "headGroupSpec", "template"), role="head", several=_WORKERS),
    )
    source_path = ("spec",)
    name_label = RAY_CLUSTER
    role_label = "ray.io/group"
    pod_suffix = "-(head|.*worker)-.*"
    whole = False
    default_replicas = None
    by_hand = (
        "the engine's arguments are in what was submitted to the cluster: change serveConfigV2 of the "
        "RayService that owns it, or submit the application again with changed engine_kwargs"
    )
    reverts = "a RayService's operator owns the clusters that it made"

    def answers(self, pod: Object) -> bool:
        """True but for a head without cards, which runs no engine."""
        return runs_engines(pod)

    def replicas(self, item: Object) -> int:
        """Return the desired workers of all groups."""
        groups = objects(item, *_WORKERS)
        return sum(count(group, "replicas") or 0 for group in groups)

    def ready(self, item: Object) -> int | None:
        """Return the number of Ready workers; None without a status."""
        return count(item, "status", "readyWorkerReplicas")

    def surge(self, item: Object) -> int:
        """None: a changed template waits for the next pod."""
        return 0


KIND = RayCluster()
