"""Workloads of every kind that a remedy changes, with twins as engines, for tests on the cluster."""

from __future__ import annotations

import contextlib
import copy
import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from dev.cluster import lifetime, workloads
from dev.cluster.client import Cluster, Workspace
from dev.cluster.workloads import Manifest
from dev.load import Background, Load
from tests.cluster.test_mitigate import PRESSED, SERVE, mitigate, preempted

from barostat.platform.workloads import WorkloadKind, kind_named

QUICK = ("--for", "20s", "--sustained", "30s")
FAST = tuple("3" if word == "12" else word for word in PRESSED)
TIPPING = (
    "--kv-blocks",
    "128",
    "--latency",
    "base=0.002,decode=0.0035,prefill=0.007",
    "--start-time",
    "3",
)
"""A prompt is dear, so that preempted requests cost more than their own place. A replica completes
1.29 requests/s of `TIPPING_RATE_PER_S`' lengths without preemptions, and 0.71/s in a thrash.
"""
TIPPING_RATE_PER_S = 1.6
"""On two replicas: carried until a burst comes, and never again without a remedy."""
BURST = Load(prompt_tokens=(20, 45), output_tokens=(100, 190), clients=48, waves=1)


@dataclass(frozen=True, slots=True)
class Shape:
    """One kind on the cluster. `make`: from the manifests of a Deployment; `controllers`: what has
    to run for it; `service`: by which requests come; `writes`: all that the operator may write;
    `answering`: selects the pods that serve. `long`: only in `make test-long`. `undrained`: its owner
    takes pods away with requests in them.
    """

    kind: str
    make: Callable[[Sequence[Manifest]], list[Manifest]]
    controllers: tuple[str, ...] = ()
    service: str = "twin"
    answering: str = "app=twin"
    writes: frozenset[str] = frozenset()
    pods_per_unit: int = 1
    killed_at: str = "ScaleHome"
    long: bool = False
    undrained: bool = False

    @property
    def own(self) -> WorkloadKind:
        found = kind_named(self.kind)
        assert found is not None
        return found

    @property
    def target(self) -> str:
        return f"{self.own.api.word}/twin"


_ALWAYS = frozenset({"configmaps", "events"})
DEPLOYMENT = Shape("Deployment", list, writes=_ALWAYS | {"deployments", "pods"})
SHAPES = {
    "StatefulSet": Shape(
        "StatefulSet", workloads.stateful_set, writes=_ALWAYS | {"statefulsets", "pods"}
    ),
    "Rollout": Shape(
        "Rollout",
        workloads.rollout,
        ("rollouts",),
        writes=_ALWAYS | {"rollouts", "pods"},
        killed_at="OpenCanary",
        long=True,
    ),
    "LeaderWorkerSet": Shape(
        "LeaderWorkerSet",
        workloads.leader_worker_set,
        ("lws",),
        "twin-leaders",
        "role=leader",
        _ALWAYS | {"leaderworkersets", "pods"},
        2,
    ),
    "InferenceService": Shape(
        "InferenceService",
        workloads.inference_service,
        ("kserve",),
        answering="serving.kserve.io/inferenceservice=twin",
        writes=_ALWAYS | {"inferenceservices", "deployments", "pods"},
        killed_at="RollHome",
        long=True,
        undrained=True,
    ),
    "LLMInferenceService": Shape(
        "LLMInferenceService",
        workloads.llm_inference_service,
        ("kserve-llmisvc",),
        answering="app.kubernetes.io/name=twin,app.kubernetes.io/part-of=llminferenceservice",
        writes=_ALWAYS | {"llminferenceservices", "deployments", "pods"},
        killed_at="RollHome",
        long=True,
        undrained=True,
    ),
}
RAY_SERVICE = Shape(
    "RayService",
    workloads.ray_service,
    ("kuberay",),
    "twin-serve-svc",
    "ray.io/node-type=worker",
    _ALWAYS | {"rayservices"},
)
"""What runs in its pods is Ray's to say."""


@dataclass(slots=True)
class Pressed:
    """A workload of that kind under a load that thrashes it."""

    space: Workspace
    shape: Shape
    load: Background
    before: dict[str, Any]

    def until_preempting(self) -> None:
        """Every engine preempts."""
        self.space.until(
            "all are preempting",
            lambda: min(preempted(self.space, self.shape.answering).values()) > 40,
            within_s=150,
        )

    def mitigate(self, *words: str, verb: str = "mitigate") -> int:
        """The exit status of the operator's command."""
        return mitigate(self.space, *words, person="operator", verb=verb, target=self.shape.target)

    def home(self) -> dict[str, Any]:
        """The workload as it is."""
        api = self.shape.own.api
        plural = f"{api.plural}.{api.group}" if api.group else api.plural
        found: dict[str, Any] = self.space.get(f"{plural}/twin")
        return found

    def equals_its_source(self, *flags: str) -> bool:
        """True where the workload is as it was applied, but for these flags."""
        now = self.home()["spec"]
        for flag in flags:
            now = _without(now, flag)
        return json.dumps(now, sort_keys=True) == json.dumps(self.before, sort_keys=True)

    def only_allowed_was_written(self) -> None:
        """The API server's audit log knows no other write of the operator."""
        written = self.space.written_by("operator")
        assert {resource for _, resource, _ in written} <= self.shape.writes, written
        assert written


def pressed(
    space: Workspace,
    shape: Shape,
    *,
    replicas: int = 2,
    gpus: int = 1,
    rate_per_s: float = 4.0,
    flags: Sequence[str] = FAST,
    within_s: float = 150.0,
) -> Pressed:
    """Twins of that kind behind a Service; nothing is sent before `load` is entered."""
    manifests = workloads.twin(replicas=replicas, flags=flags, serve=SERVE, gpus=gpus)
    space.apply(shape.make(manifests))
    space.until(
        f"{replicas} are Ready behind the Service",
        lambda: len(space.ready_addresses(shape.service)) >= replicas,
        within_s,
    )
    load = Background(
        space.url(shape.service),
        Load(prompt_tokens=(20, 45), output_tokens=(100, 190), rate_per_s=rate_per_s),
        for_s=2400.0,
    )
    found = Pressed(space, shape, load, {})
    found.before = copy.deepcopy(found.home()["spec"])
    return found


@contextlib.contextmanager
def gpus(cluster: Cluster, count: int) -> Iterator[None]:
    """The node has so many GPUs; afterwards as many as always."""
    node = cluster.admin.json("get", "nodes")["items"][0]["metadata"]["name"]
    lifetime.count_gpus(cluster.admin, node, count)
    try:
        yield
    finally:
        lifetime.count_gpus(cluster.admin, node)


def _without(node: Any, flag: str) -> Any:
    """The same without that flag and its value in any list of words."""
    if isinstance(node, dict):
        return {key: _without(found, flag) for key, found in node.items()}
    if not isinstance(node, list) or flag not in node:
        return [_without(found, flag) for found in node] if isinstance(node, list) else node
    at = node.index(flag)
    return [*node[:at], *node[at + 2 :]]
