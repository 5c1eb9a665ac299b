"""Which replicas there were: series grouped by the labels that Prometheus put on them, whatever relabelling left of these.

A gauge of vLLM carries `engine` and `model_name` of its own; everything else on it came with the target:

    vllm:num_requests_running{engine="0", model_name="m", | namespace="inference", pod="vllm-0", instance="10.0.0.7:8000", job="vllm"}
                              the engine's own            | the target's: they are the same on every series of one scrape
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import median

from barostat.core.units import many
from barostat.judge.history.series import Series

OWN_LABELS = frozenset({"__name__", "engine", "model_name", "pid"})
POD_LABELS = ("exported_pod", "pod", "kubernetes_pod_name", "pod_name", "kubernetes_pod")
NAMESPACE_LABELS = ("exported_namespace", "namespace", "kubernetes_namespace")
WHO_ASKS = frozenset({
    "job", "endpoint", "service", "container", "prometheus", "prometheus_replica", "__replica__", "replica", "receive", "scrape_job",
    "metrics_path", "node", "tenant_id",
})  # fmt: skip
"""Labels that say by which way a target was scraped, not which target it is: two of these are two looks at one engine."""


@dataclass(frozen=True, slots=True)
class RememberedReplica:
    """One target. `labels`: those that the target's scrape carries. `at`: instants of its scrapes, ascending, unix seconds."""

    name: str
    labels: Mapping[str, str]
    at: tuple[float, ...]
    models: tuple[str, ...] = ()

    @property
    def pod(self) -> str:
        """The pod's name, or empty."""
        return first_of(self.labels, POD_LABELS)

    @property
    def namespace(self) -> str:
        """The pod's namespace, or empty."""
        return first_of(self.labels, NAMESPACE_LABELS)

    @property
    def interval_s(self) -> float | None:
        """The usual time between two scrapes; None for fewer than two."""
        pauses = [later - earlier for earlier, later in pairwise(self.at)]
        return median(pauses) if pauses else None


def first_of(labels: Mapping[str, str], names: Iterable[str]) -> str:
    """The first of the labels that is there; empty if none is."""
    return next((labels[name] for name in names if labels.get(name)), "")


def remembered_replicas(gauges: Sequence[Series]) -> tuple[list[RememberedReplica], list[str]]:
    """The replicas behind the series of one gauge, by name, and what is odd about their labels, a sentence each.

    One target that was scraped in two ways (two jobs, a pair of Prometheus servers) is one replica: the way with more points is taken.
    """
    targets: dict[tuple[tuple[str, str], ...], list[Series]] = {}
    for one in gauges:
        targets.setdefault(tuple(sorted((name, text) for name, text in one.labels.items() if name not in OWN_LABELS)), []).append(one)
    ways: dict[tuple[tuple[str, str], ...], list[tuple[tuple[tuple[str, str], ...], list[Series]]]] = {}
    for labels, found in targets.items():
        ways.setdefault(_identity(dict(labels)), []).append((labels, found))
    problems, kept = [], []
    for several in ways.values():
        best = max(several, key=lambda way: (sum(len(one.points) for one in way[1]), way[0]))
        kept.append(best)
        if len(several) > 1:
            apart = sorted({name for labels, _ in several for name, _ in set(labels) ^ set(best[0])})
            problems.append(
                f"{_name(dict(best[0]))} is there {len(several)} times (they differ in {', '.join(apart)}): one of them is taken"
            )
    problems += _blurred(kept)
    replicas = [_replica(dict(labels), found) for labels, found in kept]
    return _named_apart(replicas), problems


def _identity(labels: Mapping[str, str]) -> tuple[tuple[str, str], ...]:
    """What tells one engine from another: pod and address where they are there, else all that is left."""
    pod, instance = first_of(labels, POD_LABELS), labels.get("instance", "")
    if pod or instance:
        return (
            ("namespace", first_of(labels, NAMESPACE_LABELS)),
            ("pod", pod),
            ("instance", instance),
            ("cluster", labels.get("cluster", "")),
        )
    return tuple(sorted((name, text) for name, text in labels.items() if name not in WHO_ASKS - {"job", "service"}))


def _blurred(kept: Sequence[tuple[tuple[tuple[str, str], ...], list[Series]]]) -> list[str]:
    """A sentence where the labels no longer tell replicas apart."""
    blurred = [labels for labels, _ in kept if not first_of(dict(labels), POD_LABELS) and not dict(labels).get("instance")]
    if not blurred:
        return []
    several = many(len(blurred), "group")
    return [f"{several} of series carries neither pod nor instance (relabelled or aggregated): replicas may be merged here"]


def _replica(labels: Mapping[str, str], found: Sequence[Series]) -> RememberedReplica:
    instants = sorted({point.at for one in found for point in one.points})
    models = sorted({one.labels["model_name"] for one in found if one.labels.get("model_name")})
    return RememberedReplica(_name(labels), labels, tuple(instants), tuple(models))


def _name(labels: Mapping[str, str]) -> str:
    return first_of(labels, POD_LABELS) or first_of(labels, ("instance", "job", "service")) or "all of it"


def _named_apart(replicas: Sequence[RememberedReplica]) -> list[RememberedReplica]:
    """The same, with so much in front of a name (or behind it) that no two are called alike, ordered by name."""
    spaces = {one.namespace for one in replicas if one.namespace}
    clusters = {one.labels.get("cluster", "") for one in replicas}
    found = []
    for one in replicas:
        name = f"{one.namespace}/{one.name}" if len(spaces) > 1 and one.namespace else one.name
        if len(clusters) > 1 and one.labels.get("cluster"):
            name = f"{one.labels['cluster']}/{name}"
        place = one.pod, one.namespace, one.labels.get("cluster")
        if one.pod and sum((other.pod, other.namespace, other.labels.get("cluster")) == place for other in replicas) > 1:
            name = f"{name}:{one.labels.get('instance', '').rpartition(':')[2]}"
        found.append(RememberedReplica(name, one.labels, one.at, one.models))
    return sorted(found, key=lambda one: one.name)
