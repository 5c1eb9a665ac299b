"""RayService with Ray Serve LLM.

Arguments: `spec.serveConfigV2`, a YAML text: `applications[].args.llm_configs[].engine_kwargs`. Rolls:
a change of that text is made on the same cluster, where Ray Serve stops a fifth of the old replicas,
and at least one, at a time; a change of `spec.rayClusterConfig` starts a second cluster and needs its
GPUs beside those in use. Back: the former text. Reverts: the operator owns the RayClusters.
Source: ray.io/v1; controllers/ray/rayservice_controller.go (shouldPrepareNewCluster) of kuberay
v1.6.0; Ray Serve's deployment state (max(int(0.2 * n), 1) replicas are stopped at a time).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from barostat.platform.objects import Object, count, mapping, text
from barostat.platform.workloads._kind import Api, Found, Lists, Part, Place, put
from barostat.platform.workloads._owned import OwnedKind
from barostat.platform.workloads.ray_cluster import runs_engines
from barostat.platform.yaml_block import Block, blocks, scalar_after, with_entries, with_scalar

_ARGUMENTS = "engine_kwargs"
_REPLICAS = ("num_replicas", "min_replicas")
_TEXT = ("spec", "serveConfigV2")
_CONFIG = ("spec", "rayClusterConfig")
_SEEN = ("status", "observedGeneration")
_WORKERS = (*_CONFIG, "workerGroupSpecs")
_CLUSTER = (*_WORKERS, "*", "template")


class RayService(OwnedKind):
    """A change goes into the text of `serveConfigV2`, with place and comments kept. Its replicas are
    Ray Serve's: the status says how they are, and several may run in one pod.
    """

    api = Api("RayService", "rayservices", "ray.io", "v1")
    selector_path = ()
    places = (
        Place(_CLUSTER, role="worker", units=("replicas",), several=("template",)),
        Place((*_CONFIG, "headGroupSpec", "template"), role="head", several=_WORKERS),
    )
    source_path = ("spec",)
    reads = ("rayclusters",)
    pod_suffix = "-.*-(head|worker)-.*"
    whole = False
    default_replicas = None
    units_are_pods = False
    scale_by_hand = "apply the patch: Ray Serve adds the replica on a worker that has room"
    without_surge = "Change serveConfigV2 alone: it rolls on the same cluster."
    reverts = "the RayService's operator owns the RayClusters"

    def why_not(self, item: Object) -> str:
        """One replica would be stopped before the next one starts."""
        found = blocks(text(item, *_TEXT), _ARGUMENTS)
        if len(found) != 1:
            return (
                f"serveConfigV2 has {len(found)} blocks {_ARGUMENTS}: which of them belongs to the "
                "engine under pressure is for a person to say"
            )
        if self.replicas(item) == 1:
            return (
                "Ray Serve stops the one replica before it starts the next, so a change of "
                "serveConfigV2 is an outage for as long as the engine starts: set num_replicas to 2 "
                "first, or apply the patch in a quiet hour"
            )
        return ""

    def has_seen(self, item: Object, lists: Lists[Object]) -> bool:
        """By the generation that KubeRay has noted."""
        del lists
        seen, present = (count(item, *path) or 0 for path in (_SEEN, ("metadata", "generation")))
        return seen >= present

    def newest_pods(self, item: Object, lists: Lists[Found]) -> list[Found]:
        """Return its pods: which replica runs what is not to be seen there."""
        return self.own_pods(item, lists)

    def rolled_out(self, item: Object, lists: Lists[Object]) -> bool:
        """True if KubeRay has seen the present state, and Ray Serve says that all runs."""
        applications = mapping(item, "status", "activeServiceStatus", "applicationStatuses")
        return (
            self.has_seen(item, lists)
            and bool(applications)
            and all(map(_runs, applications.values()))
        )

    def answers(self, pod: Object) -> bool:
        """True but for a head without cards, which runs no engine."""
        return runs_engines(pod)

    def replicas(self, item: Object) -> int:
        """Replicas of the application; 1 where the text does not say."""
        return int(_replicas(item)[1])

    def with_replicas(self, item: Object, wanted: int) -> Mapping[str, Any]:
        """The number in its line of the text; empty where it does not stand in a line of its own."""
        key, _ = _replicas(item)
        new = with_scalar(text(item, *_TEXT), key, str(wanted)) if key else text(item, *_TEXT)
        patch: dict[str, Any] = {}
        if new != text(item, *_TEXT):
            put(patch, _TEXT, new)
        return patch

    def ready(self, item: Object) -> int | None:
        """The status does not count replicas."""
        return None

    def surge(self, item: Object) -> int:
        """None: a changed serveConfigV2 stays on the same cluster."""
        return 0

    def unavailable(self, item: Object) -> int:
        """A fifth of the replicas, and at least one."""
        return max(1, self.replicas(item) // 5)

    def parts(self, item: Object) -> tuple[Part, ...]:
        """The engine of the text, as the one container of a template; without one, the pods."""
        found = blocks(text(item, *_TEXT), _ARGUMENTS)
        if len(found) != 1:
            return super().parts(item)
        engine = {"spec": {"containers": [{"name": "engine", "args": _words(found[0])}]}}
        return (Part("", engine, _TEXT, Place(_TEXT), self.replicas(item)),)

    def engine_args(self, item: Object) -> tuple[str, ...]:
        """Those of the only engine of the text: the containers start Ray."""
        found = blocks(text(item, *_TEXT), _ARGUMENTS)
        return tuple(_words(found[0])) if len(found) == 1 else ()

    def unit_templates(self, item: Object) -> list[Object]:
        """The first group of workers."""
        return [part.template for part in super().parts(item)[:1]]

    def put_template(self, new: dict[str, Any], part: Part, template: Object) -> None:
        """Write the arguments that changed into their lines of the text."""
        if part.path != _TEXT:
            super().put_template(new, part, template)
            return
        words = template["spec"]["containers"][0]["args"]
        put(new, _TEXT, with_entries(text(new, *_TEXT), _ARGUMENTS, _entries(words)))


def _runs(application: Any) -> bool:
    """True for an application whose deployments all have the replicas of its present text."""
    deployments = mapping(application, "serveDeploymentStatuses").values()
    healthy = all(text(found, "status") == "HEALTHY" for found in deployments)
    return text(application, "status") == "RUNNING" and healthy


def _replicas(item: Object) -> tuple[str, str]:
    """The key that says how many replicas there are, and the number; 1 under no key without one."""
    for key in _REPLICAS:
        written = scalar_after(text(item, *_TEXT), key)
        if written is not None and written.isdecimal():
            return key, written
    return "", "1"


def _words(block: Block) -> list[str]:
    """The block as a command line: `max_num_seqs: 64` is `--max-num-seqs=64`."""
    options = [f"--{key.replace('_', '-')}={found}" for key, found in block.entries.items()]
    return ["vllm", "serve", *options]


def _entries(words: list[str]) -> dict[str, str]:
    found: dict[str, str] = {}
    left = words[2:]
    while left:
        flag, equals, written = left.pop(0).partition("=")
        if not equals:
            written = left.pop(0) if left and not left[0].startswith("--") else "true"
        found[flag.lstrip("-").replace("-", "_")] = written
    return found


KIND = RayService()
