"""Prometheus rules, autoscalers and Services: who watches, scales and opens the engines.

Source: monitoring.coreos.com/v1 PrometheusRule, Prometheus' rule files, keda.sh/v1alpha1
ScaledObject (minReplicaCount is 0 unless set), autoscaling/v1 and v2 HorizontalPodAutoscaler,
core/v1 Service, networking.k8s.io/v1 Ingress, inference.networking.k8s.io/v1 InferencePool (of
v1alpha2: targetPortNumber, a selector without matchLabels).
"""

from __future__ import annotations

from collections.abc import Iterator

from barostat.judge.manifest_check.kserve_scaling import scaler_of_service
from barostat.judge.manifest_check.pod_specs import is_knative
from barostat.judge.manifest_check.scrapes import asks_for_scrape
from barostat.lint.document import Document, Node
from barostat.lint.facts import Given, Query, Scaler, Service, VolumeClaim
from barostat.platform.objects import quantity


def queries_of(document: Document, root: Node) -> Iterator[Query]:
    """The expressions of a PrometheusRule or of a plain rule file."""
    groups = (
        root.maps_at("spec", "groups")
        if root.word("kind") in ("PrometheusRule", "VMRule")
        else root.maps_at("groups")
    )
    for rule in (rule for group in groups for rule in group.maps_at("rules")):
        expression = rule.get("expr")
        if expression is None or expression.kind != "scalar":
            continue
        alert = rule.word("alert")
        yield Query(
            "alert" if alert else "record",
            alert or rule.word("record"),
            expression.text,
            document.place(expression),
        )


def scaler_of(document: Document, root: Node) -> Scaler | None:
    """The HPA or ScaledObject, or what a service of KServe or Knative says of itself; None for any
    other object.
    """
    kind = root.word("kind")
    if kind == "InferenceService" or is_knative(root):
        return scaler_of_service(document, root)
    if kind == "HorizontalPodAutoscaler":
        return _hpa(document, root)
    return _scaled_object(document, root) if kind == "ScaledObject" else None


def _hpa(document: Document, root: Node) -> Scaler:
    spec = root.get("spec") or root
    resources, metrics = [], []
    shares: set[str] = set()
    for metric in spec.maps_at("metrics"):
        kind = metric.word("type")
        body = metric.get(kind[:1].lower() + kind[1:]) if kind else None
        if body is None:
            continue
        name = (
            body.get("name")
            if kind in ("Resource", "ContainerResource")
            else body.get("metric", "name")
        )
        if name is None:
            continue
        target = body.number("target", "averageValue")
        target = body.number("target", "value") if target is None else target
        if kind in ("Resource", "ContainerResource"):
            resources.append((name.text, document.place(name)))
            if body.get("target", "averageUtilization") is not None and kind == "Resource":
                shares.add(name.text)
        else:
            metrics.append((name.text, document.place(name), target))
    for key, name_ in (
        ("targetCPUUtilizationPercentage", "cpu"),
        ("targetMemoryUtilizationPercentage", "memory"),
    ):
        if spec.get(key) is not None:
            resources.append((name_, document.key_place(spec, key)))
            shares.add(name_)
    least = spec.get("minReplicas")
    return Scaler(
        "HorizontalPodAutoscaler", root.word("metadata", "name"), root.word("metadata", "namespace"),
        (spec.word("scaleTargetRef", "kind"), spec.word("scaleTargetRef", "name")), document.place(root.get("metadata", "name") or root),
        spec.number("minReplicas"), document.place(least) if least is not None else None, tuple(resources), tuple(metrics),
        shares=frozenset(shares), most=spec.number("maxReplicas"),
    )  # fmt: skip


def _scaled_object(document: Document, root: Node) -> Scaler:
    spec = root.get("spec") or root
    resources, queries, others = [], [], 0
    for trigger in spec.maps_at("triggers"):
        kind = trigger.word("type")
        query = trigger.get("metadata", "query")
        if kind in ("cpu", "memory"):
            resources.append((kind, document.place(trigger.get("type") or trigger)))
        elif kind == "prometheus" and query is not None:
            threshold = trigger.get("metadata", "threshold")
            queries.append(
                Query("scaler", root.word("metadata", "name"), query.text, document.place(query), trigger.number("metadata", "threshold"),
                      document.place(threshold) if threshold is not None else None)
            )  # fmt: skip
        else:
            others += 1
    least = spec.get("minReplicaCount")
    return Scaler(
        "ScaledObject", root.word("metadata", "name"), root.word("metadata", "namespace"),
        (spec.word("scaleTargetRef", "kind") or "Deployment", spec.word("scaleTargetRef", "name")),
        document.place(root.get("metadata", "name") or root), spec.number("minReplicaCount") if least is not None else 0.0,
        document.place(least) if least is not None else None, tuple(resources), (), tuple(queries), others,
        most=spec.number("maxReplicaCount"),
    )  # fmt: skip


def _pool(document: Document, root: Node, spec: Node) -> Service:
    """What the Gateway API's inference extension sends requests to: pods by their labels, each at a
    port of its own number.
    """
    selector = spec.get("selector", "matchLabels") or spec.get("selector")
    found = (
        {key: value.text for key, value in selector.entries.items() if value.kind == "scalar"}
        if selector is not None
        else {}
    )
    ports = [port.get("number") for port in spec.maps_at("targetPorts")] or [
        spec.get("targetPortNumber")
    ]
    targets = tuple(
        Given(port.text, document.place(port))
        for port in ports
        if port is not None and port.kind == "scalar"
    )
    place = document.place(root.get("metadata", "name") or root)
    return Service(
        root.word("metadata", "name"),
        root.word("metadata", "namespace"),
        place,
        found,
        variables=False,
        targets=targets,
        kind="InferencePool",
    )


def _texts(node: Node | None) -> dict[str, str]:
    return (
        {key: value.text for key, value in node.entries.items() if value.kind == "scalar"}
        if node is not None
        else {}
    )


def claim_of(document: Document, root: Node) -> VolumeClaim | None:
    """Return the PersistentVolumeClaim, None for any other object."""
    if root.word("kind") != "PersistentVolumeClaim":
        return None
    size = root.get("spec", "resources", "requests", "storage")
    return VolumeClaim(
        root.word("metadata", "name"),
        root.word("metadata", "namespace"),
        document.place(root.get("metadata", "name") or root),
        frozenset(item.text for item in root.list_at("spec", "accessModes")),
        Given(size.text, document.place(size)) if size is not None else None,
        quantity(size.text) if size is not None else None,
    )


def service_of(document: Document, root: Node) -> Service | None:
    """The Service, Ingress or InferencePool, None for any other object."""
    kind, spec = root.word("kind"), root.get("spec")
    if spec is not None and kind == "InferencePool":
        return _pool(document, root, spec)
    if spec is None or kind not in ("Service", "Ingress") or is_knative(root):
        return None
    name, namespace = root.word("metadata", "name"), root.word("metadata", "namespace")
    if kind == "Ingress":
        backends = [spec.word("defaultBackend", "service", "name")]
        backends += [
            path.word("backend", "service", "name")
            for rule in spec.maps_at("rules")
            for path in rule.maps_at("http", "paths")
        ]
        guarded = any(
            "auth" in key for key in (root.get("metadata", "annotations") or root).entries
        )
        place = document.place(root.get("metadata", "name") or root)
        return Service(
            name,
            namespace,
            place,
            {f"service:{backend}": "" for backend in backends if backend},
            "" if guarded else "Ingress",
            kind="Ingress",
            annotations=_texts(root.get("metadata", "annotations")),
            ingress_class=spec.word("ingressClassName")
            or root.word("metadata", "annotations", "kubernetes.io/ingress.class"),
        )
    selector = spec.get("selector")
    found = (
        {key: value.text for key, value in selector.entries.items() if value.kind == "scalar"}
        if selector is not None
        else {}
    )
    opens = spec.word("type") if spec.word("type") in ("LoadBalancer", "NodePort") else ""
    annotations = root.get("metadata", "annotations")
    if annotations is not None and any(
        "internal" in key.lower() or "internal" in value.text.lower()
        for key, value in annotations.entries.items()
    ):
        opens = ""
    node = spec.get("type") if opens else root.get("metadata", "name")
    marks = root.get("metadata", "labels")
    labels = (
        {key: value.text for key, value in marks.entries.items() if value.kind == "scalar"}
        if marks is not None
        else {}
    )
    ports = frozenset(port.word("name") for port in spec.maps_at("ports"))
    addresses = [spec.word("clusterIP"), *(item.text for item in spec.list_at("clusterIPs"))]
    variables = "None" not in addresses and spec.word("type") != "ExternalName"
    place = document.place(node or root)
    led = [port.get("targetPort") or port.get("port") for port in spec.maps_at("ports")]
    targets = tuple(
        Given(port.text, document.place(port))
        for port in led
        if port is not None and port.kind == "scalar"
    )
    scraped = asks_for_scrape(root.get("metadata"))
    return Service(name, namespace, place, found, opens, labels, scraped, ports, variables, targets)
