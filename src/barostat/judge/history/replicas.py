"""Which replicas there were: series grouped by the labels that Prometheus put on them, whatever
relabelling left of these.

A gauge of vLLM carries `engine` and `model_name` of its own; everything else on it came with the
target:

    vllm:num_requests_running{engine="0", model_name="m", | namespace="inference", pod="vllm-0",
    instance="10.0.0.7:8000", job="vllm"}
                              the engine's own            | the target's: they are the same on every series of one scrape
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from statistics import median

from barostat.core.units import many
from barostat.judge.history.series import Series

ENGINES_LABELS = ("engine", "model_name", "pid")
OWN_LABELS = frozenset(
    {"__name__", *ENGINES_LABELS, *(f"exported_{name}" for name in ENGINES_LABELS)}
)
"""The engine's own. Prometheus renames one that the target has as well: a pod's label `engine:
vllm`, put on by a labelmap.
"""
POD_LABELS = ("exported_pod", "pod", "kubernetes_pod_name", "pod_name", "kubernetes_pod")
NAMESPACE_LABELS = ("exported_namespace", "namespace", "kubernetes_namespace")
RAY_LABELS = ("ReplicaId", "WorkerId")
"""Ray's agent on a node shows what all engines on it have told it: one target, and engines apart by
these.

Source: vLLM 0.11 to 0.33 v1/metrics/ray_wrappers.py (ReplicaId within Ray Serve); Ray's metrics
agent (WorkerId).
"""
CLUSTER_LABELS = (
    "cluster",
    "k8s_cluster",
    "cluster_name",
    "k8s_cluster_name",
    "kubernetes_cluster",
)
WHO_ASKS = frozenset({
    "job", "endpoint", "service", "container", "prometheus", "prometheus_replica", "__replica__", "replica", "receive", "scrape_job",
    "metrics_path", "node", "tenant_id",
})  # fmt: skip
"""Labels that say by which way a target was scraped, not which target it is: two of these are two
looks at one engine.
"""

_OF_TARGET = frozenset(
    {"job", "instance", "prometheus", "prometheus_replica", "__replica__", *CLUSTER_LABELS}
)


@dataclass(frozen=True, slots=True)
class RememberedReplica:
    """A scrape target. `labels`: those added by the scrape. `at`: instants of its scrapes,
    ascending, unix seconds.

    `others`: labels that other targets have and this one lacks: series with one of them belong to
    another target, even if the other labels match.
    """

    name: str
    labels: Mapping[str, str]
    at: tuple[float, ...]
    models: tuple[str, ...] = ()
    others: frozenset[str] = frozenset()

    @property
    def pod(self) -> str:
        """The pod's name, or empty."""
        return first_of(self.labels, POD_LABELS)

    @property
    def namespace(self) -> str:
        """The pod's namespace, or empty."""
        return first_of(self.labels, NAMESPACE_LABELS)

    @property
    def cluster(self) -> str:
        """The cluster that it is in, where several share a memory; or empty."""
        return first_of(self.labels, CLUSTER_LABELS)

    @property
    def target(self) -> Mapping[str, str]:
        """The labels that name the scrape itself, as its `up` has them, too; none where the address
        was taken away.

        The others may have been added to samples or taken from them (`metric_relabel_configs`),
        which `up` never passes through.
        """
        kept = {name: text for name, text in self.labels.items() if name in _OF_TARGET}
        return kept if "instance" in kept else {}

    def owns(self, series: Series) -> bool:
        """True for series of exactly this target."""
        return self.labels.items() <= series.labels.items() and not any(
            series.labels.get(name) for name in self.others
        )

    @property
    def interval_s(self) -> float | None:
        """The usual time between two scrapes; None for fewer than two."""
        pauses = [later - earlier for earlier, later in pairwise(self.at)]
        return median(pauses) if pauses else None


def first_of(labels: Mapping[str, str], names: Iterable[str]) -> str:
    """The first of the labels that is there; empty if none is."""
    for name in names:
        if found := labels.get(name):
            return found
    return ""


def remembered_replicas(
    gauges: Sequence[Series], since: float = 0.0
) -> tuple[list[RememberedReplica], list[str]]:
    """Return the replicas behind the series of one gauge, by name, and problems of their labels, a
    sentence each.

    A target that was scraped in two ways (two jobs, a pair of Prometheus servers) is one replica;
    the way with more points since `since` is used. Earlier points do not count, because a target's
    labels may have changed.
    """
    targets: dict[tuple[tuple[str, str], ...], list[Series]] = {}
    for one in gauges:
        targets.setdefault(
            tuple(
                sorted((name, text) for name, text in one.labels.items() if name not in OWN_LABELS)
            ),
            [],
        ).append(one)
    ways: dict[
        tuple[tuple[str, str], ...], list[tuple[tuple[tuple[str, str], ...], list[Series]]]
    ] = {}
    for labels, found in targets.items():
        ways.setdefault(_identity(dict(labels)), []).append((labels, found))
    problems, kept = [], []
    for several in ways.values():
        counted = [(*_points(found, since), labels, found) for labels, found in several]
        best = max(counted, key=lambda way: way[:3])[2:]
        several = [way[2:] for way in counted if way[0]] or [best]
        kept.append(best)
        if len(several) > 1:
            apart = sorted(
                {name for labels, _ in several for name, _ in set(labels) ^ set(best[0])}
            )
            problems.append(
                f"{_name(dict(best[0]))} is there {len(several)} times (they differ in "
                f"{', '.join(apart)}): one of them is taken"
            )
    problems += _blurred(kept)
    named = {name for labels in targets for name, _ in labels}
    replicas = [_replica(dict(labels), found, named) for labels, found in kept]
    return _named_apart(replicas, since), problems


def _points(found: Sequence[Series], since: float) -> tuple[int, int]:
    """How many points there are from then on, and how many in all."""
    return sum(point.at >= since for one in found for point in one.points), sum(
        len(one.points) for one in found
    )


def _identity(labels: Mapping[str, str]) -> tuple[tuple[str, str], ...]:
    """Return the labels that identify an engine: pod and address if present, otherwise all."""
    pod, instance = first_of(labels, POD_LABELS), labels.get("instance", "")
    if pod or instance:
        return (
            ("namespace", first_of(labels, NAMESPACE_LABELS)),
            ("pod", pod),
            ("instance", instance),
            ("cluster", first_of(labels, CLUSTER_LABELS)),
            ("ray", first_of(labels, RAY_LABELS)),
        )
    return tuple(
        sorted(
            (name, text)
            for name, text in labels.items()
            if name not in WHO_ASKS - {"job", "service"}
        )
    )


def _blurred(kept: Sequence[tuple[tuple[tuple[str, str], ...], list[Series]]]) -> list[str]:
    """A sentence where the labels no longer tell replicas apart."""
    blurred = [
        labels
        for labels, _ in kept
        if not first_of(dict(labels), POD_LABELS) and not dict(labels).get("instance")
    ]
    if not blurred:
        return []
    several = many(len(blurred), "group")
    return [
        (
            f"{several} of series carries neither pod nor instance (relabelled or aggregated): "
            "replicas may be merged here"
        )
    ]


def _replica(
    labels: Mapping[str, str], found: Sequence[Series], named: Iterable[str]
) -> RememberedReplica:
    instants = sorted({point.at for one in found for point in one.points})
    models = sorted(
        {
            model
            for one in found
            if (model := first_of(one.labels, ("exported_model_name", "model_name")))
        }
    )
    return RememberedReplica(
        _name(labels), labels, tuple(instants), tuple(models), frozenset(named) - frozenset(labels)
    )


def _name(labels: Mapping[str, str]) -> str:
    return (
        first_of(labels, POD_LABELS)
        or first_of(labels, ("instance", "job", "service"))
        or "all of it"
    )


def _named_apart(replicas: Sequence[RememberedReplica], since: float) -> list[RememberedReplica]:
    """Return the replicas with unique names, by adding a prefix or suffix, ordered by name.

    The only one still present since `since` keeps the bare name, so a pod that came back with
    another address continues under its name. `platform.pods.pod_place` parses these names.
    """
    spaces = {one.namespace for one in replicas if one.namespace}
    clusters = {one.cluster for one in replicas}
    alike: dict[str, list[RememberedReplica]] = {}
    for one in replicas:
        cluster = one.cluster if len(clusters) > 1 else ""
        namespace = one.namespace if len(spaces) > 1 or cluster else ""
        alike.setdefault(
            "/".join(part for part in (cluster, namespace, one.name) if part), []
        ).append(one)
    found = []
    for name, several in alike.items():
        there = [one for one in several if any(at >= since for at in one.at)]
        for one, behind in zip(several, _told_apart(several), strict=True):
            found.append(replace(one, name=name if there == [one] else f"{name}{behind}"))
    return sorted(found, key=lambda one: one.name)


def _told_apart(several: Sequence[RememberedReplica]) -> list[str]:
    """Return the suffix of each name: nothing for a single replica, else the port, the address,
    Ray's id, or the labels that differ.
    """
    if len(several) == 1:
        return [""]
    ports = [one.labels.get("instance", "").rpartition(":")[2] for one in several]
    if len(set(ports)) == len(several) and all(port.isdigit() for port in ports):
        return [f":{port}" for port in ports]
    for labels in (("instance",), RAY_LABELS):
        told = [first_of(one.labels, labels) for one in several]
        if len(set(told)) == len(several) and all(told):
            return [f"@{text}" for text in told]
    shared = set.intersection(*(set(one.labels.items()) for one in several))
    return [
        f"@{','.join(f'{name}={text}' for name, text in sorted(set(one.labels.items()) - shared))}"
        for one in several
    ]
