"""The metric on which KServe and Knative scale a service: named in its spec or its annotations, by
default CPU.

Source: serving.kserve.io/v1beta1 ComponentExtensionSpec (scaleMetric, autoScaling); kserve/kserve
pkg/constants (annotations) and pkg/controller/v1beta1/inferenceservice/reconcilers/hpa (CPU where
nothing is said); Knative, "Metrics".
"""

from __future__ import annotations

from barostat.lint.document import Document, Node, Place
from barostat.lint.facts import Query, Scaler

_METRIC = ("autoscaling.knative.dev/metric", "serving.kserve.io/metric")
_RAW = ("RawDeployment", "Standard")
_RESOURCES = ("cpu", "memory")


def scaler_of_service(document: Document, root: Node) -> Scaler:
    """The scaler that an InferenceService or a Knative Service brings."""
    predictor, name = root.get("spec", "predictor"), root.word("metadata", "name")
    resources: list[tuple[str, Place]] = []
    queries: list[Query] = []
    if (
        predictor is not None
        and (metric := predictor.get("scaleMetric")) is not None
        and metric.text in _RESOURCES
    ):
        resources.append((metric.text, document.place(metric)))
    for said in (
        root.get("metadata", "annotations"),
        root.get("spec", "template", "metadata", "annotations"),
    ):
        values = [said.get(key) for key in _METRIC] if said is not None else []
        resources += [
            (value.text, document.place(value))
            for value in values
            if value is not None and value.text in _RESOURCES
        ]
    for metric in predictor.maps_at("autoScaling", "metrics") if predictor is not None else ():
        named = metric.get("resource", "name")
        if named is not None and named.text in _RESOURCES:
            resources.append((named.text, document.place(named)))
        for kind in ("external", "podmetric"):
            query, threshold = (
                metric.get(kind, "metric", "query"),
                metric.get(kind, "target", "value"),
            )
            if query is not None and metric.word(kind, "metric", "backend") in ("prometheus", ""):
                at = document.place(threshold) if threshold is not None else None
                queries.append(
                    Query(
                        "scaler",
                        name,
                        query.text,
                        document.place(query),
                        metric.number(kind, "target", "value"),
                        at,
                    )
                )
    if (
        predictor is not None
        and not resources
        and not queries
        and (most := _left_to_default(root, predictor)) is not None
    ):
        resources.append(("cpu (KServe's default)", document.place(most)))
    return Scaler(
        root.word("kind"), name, root.word("metadata", "namespace"), (root.word("kind"), name),
        document.place(root.get("metadata", "name") or root), resources=tuple(resources), queries=tuple(queries),
    )  # fmt: skip


def _left_to_default(root: Node, predictor: Node) -> Node | None:
    """maxReplicas of a service for which KServe makes an autoscaler, and nothing says on what."""
    said = root.get("metadata", "annotations") or root
    told = (
        predictor.get("scaleMetric") is not None
        or predictor.get("autoScaling") is not None
        or any(key in said.entries for key in _METRIC)
    )
    if (
        told
        or said.word("serving.kserve.io/deploymentMode") not in _RAW
        or said.word("serving.kserve.io/autoscalerClass") not in ("", "hpa")
    ):
        return None
    least = predictor.number("minReplicas")
    most = predictor.number("maxReplicas")
    return (
        predictor.get("maxReplicas")
        if most is not None and most > max(1.0, 1.0 if least is None else least)
        else None
    )
