"""The pods that a Kubernetes object would make: of every kind in `platform/workloads`, of jobs, and
of any other object that has a pod spec in it.

Source: batch/v1; serving.knative.dev/v1.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from barostat.judge.manifest_check.scrapes import asks_for_scrape
from barostat.judge.manifest_check.written import written
from barostat.lint.document import Document, Node
from barostat.lint.facts import Given, Pod
from barostat.platform.workloads import Place, kind_named

_JOBS = {
    "Job": Place(("spec", "template")),
    "CronJob": Place(("spec", "jobTemplate", "spec", "template")),
}
_NO_PODS = (
    "ConfigMap",
    "Secret",
    "Service",
    "CustomResourceDefinition",
    "HorizontalPodAutoscaler",
    "ScaledObject",
    "PrometheusRule",
)
GRACE_S = 30.0


@dataclass(frozen=True, slots=True)
class PodSpec:
    """A pod spec in a document. `model`: KServe's predictor.model, which is a container whose image
    the runtime brings.

    `service`, `sizes`: of an LLMInferenceService, its spec and the parallel sizes that KServe puts
    into the command of this part.
    """

    document: Document
    root: Node
    spec: Node
    pod: Pod
    model: Node | None = None
    service: Node | None = None
    sizes: Node | None = None
    annotations: Mapping[str, str] = field(default_factory=dict)


def objects_of(root: Node) -> Iterator[Node]:
    """The object itself, or those of a List."""
    kind = root.word("kind")
    if kind == "List" or (kind.endswith("List") and root.get("items") is not None):
        for item in root.maps_at("items"):
            yield from objects_of(item)
    else:
        yield root


def is_knative(root: Node) -> bool:
    """True for Knative's Service, which is a workload and shares only its kind's name with that of
    Kubernetes.
    """
    return root.word("apiVersion").startswith("serving.knative.dev/")


def pod_specs(document: Document, root: Node) -> Iterator[PodSpec]:
    """Every pod spec of the object."""
    kind = root.word("kind")
    if root.kind != "map" or (kind in _NO_PODS and not is_knative(root)):
        return
    spec = root.get("spec")
    if spec is None or spec.kind != "map":
        return
    known = kind_named(kind)
    places = known.places if known is not None else ()
    for place in (_JOBS[kind],) if kind in _JOBS else places:
        yield from _at_place(document, root, kind, place)
    if kind not in _JOBS and not places:
        for inner in _anywhere(spec):
            yield _made(
                document,
                root,
                inner,
                root.get("spec", "template", "metadata")
                if is_knative(root)
                else root.get("metadata"),
                kind,
                nodes=2 if kind.startswith("Ray") else 1,
            )


def _at_place(document: Document, root: Node, kind: str, place: Place) -> Iterator[PodSpec]:
    at = place.path.index("*") if "*" in place.path else None
    within = [root] if at is None else _entries(root.get(*place.path[:at]))
    for entry in within:
        found = entry.get(*(place.path if at is None else place.path[at + 1 :]))
        inner = found.get("spec") if found is not None and place.form == "template" else found
        if found is None or inner is None or inner.kind != "map":
            continue
        nodes = int(entry.number(*place.size) or 1) if place.size else 1
        if place.several and entry.get(*place.several) is not None:
            nodes = max(2, nodes)
        own = found.get("metadata") if place.form == "template" else root.get("metadata")
        yield _made(
            document,
            root,
            inner,
            own,
            kind,
            nodes=nodes,
            model=inner.get(place.model) if place.model else None,
            service=root.get("spec") if place.parallel else None,
            sizes=entry.get(*place.parallel) if place.parallel else None,
        )


def _entries(node: Node | None) -> list[Node]:
    return [] if node is None else [*node.items, *node.entries.values()]


def _anywhere(node: Node) -> Iterator[Node]:
    """Every mapping below that looks like a pod spec."""
    stack = [node]
    while stack:
        at = stack.pop()
        containers = at.entries.get("containers")
        if (
            containers is not None
            and containers.kind == "list"
            and any(item.word("image") or item.word("name") for item in containers.items)
        ):
            yield at
            continue
        stack.extend(reversed([*at.items, *at.entries.values()]))


def _made(
    document: Document,
    root: Node,
    spec: Node,
    metadata: Node | None,
    kind: str,
    *,
    nodes: int = 1,
    model: Node | None = None,
    service: Node | None = None,
    sizes: Node | None = None,
) -> PodSpec:
    outer = root.get("spec") or spec
    labels = _texts(metadata, "labels") or _texts(root.get("metadata"), "labels")
    rollout = (
        outer.get("strategy") or outer.get("deploymentStrategy") or outer.get("updateStrategy")
    )
    replicas = outer.number("replicas")
    known = kind_named(kind)
    grace = spec.get("terminationGracePeriodSeconds")
    annotations = {**_texts(root.get("metadata"), "annotations"), **_texts(metadata, "annotations")}
    pod = Pod(
        kind=kind,
        name=root.word("metadata", "name") or root.word("metadata", "generateName"),
        namespace=root.word("metadata", "namespace"),
        place=document.place(root.get("metadata", "name") or root),
        labels=labels,
        replicas=int(replicas)
        if replicas is not None
        else known.default_replicas
        if known is not None
        else None,
        strategy=rollout.word("type") if rollout is not None else "",
        max_surge=_given(document, rollout, "rollingUpdate", "maxSurge"),
        max_unavailable=_given(document, rollout, "rollingUpdate", "maxUnavailable"),
        strategy_place=document.place(rollout) if rollout is not None else None,
        grace_s=spec.number("terminationGracePeriodSeconds"),
        grace_place=document.place(grace) if grace is not None else None,
        service_links=spec.word("enableServiceLinks").lower() != "false",
        nodes=nodes,
        raw=kind in _JOBS or is_knative(root) or (known is not None and known.whole),
        scraped=asks_for_scrape(metadata) or asks_for_scrape(root.get("metadata")),
        ports={
            port.word("name"): port.word("containerPort")
            for container in spec.maps_at("containers") + spec.maps_at("initContainers")
            for port in container.maps_at("ports")
        },
        annotations=annotations,
        prepared=bool(spec.list_at("initContainers")),
    )
    return PodSpec(document, root, spec, pod, model, service, sizes, annotations)


def _given(document: Document, node: Node | None, *route: str) -> Given | None:
    found = node.get(*route) if node is not None else None
    return written(document, found) if found is not None and found.kind == "scalar" else None


def _texts(node: Node | None, key: str) -> dict[str, str]:
    found = node.get(key) if node is not None else None
    return (
        {name: value.text for name, value in found.entries.items() if value.kind == "scalar"}
        if found is not None
        else {}
    )
