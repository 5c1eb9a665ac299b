"""Scrape configurations and their targets: monitors of the Prometheus operator and similar tools,
scrape configurations, annotations.

Source: monitoring.coreos.com/v1 ServiceMonitor and PodMonitor, v1alpha1 ScrapeConfig;
operator.victoriametrics.com/v1beta1 VMServiceScrape, VMPodScrape; monitoring.googleapis.com/v1
PodMonitoring and ClusterPodMonitoring; opentelemetry.io OpenTelemetryCollector; Prometheus'
configuration (scrape_configs); the prometheus.io, k8s.grafana.com and ad.datadoghq.com annotations.
"""

from __future__ import annotations

from typing import Literal

from barostat.lint.document import Document, Node
from barostat.lint.facts import Given, Scrape

_SERVICES = ("ServiceMonitor", "VMServiceScrape")
_PODS = ("PodMonitor", "VMPodScrape", "PodMonitoring", "ClusterPodMonitoring")
_OTHERS = ("ScrapeConfig", "VMScrapeConfig", "VMStaticScrape", "OpenTelemetryCollector", "Probe")


def scrape_of(document: Document, root: Node) -> Scrape | None:
    """Return the scrape configuration of an object; None for other objects."""
    kind, spec = root.word("kind"), root.get("spec")
    name, place = (
        root.word("metadata", "name"),
        document.place(root.get("metadata", "name") or root),
    )
    if kind in _SERVICES or kind in _PODS:
        of: Literal["services", "pods"] = "services" if kind in _SERVICES else "pods"
        selector = spec.get("selector") if spec is not None else None
        if spec is None or selector is None:
            return Scrape(kind, name, place, of, plain=False)
        labels = selector.get("matchLabels")
        found = (
            {key: value.text for key, value in labels.entries.items() if value.kind == "scalar"}
            if labels is not None
            else {}
        )
        endpoints = spec.maps_at("endpoints") + spec.maps_at("podMetricsEndpoints")
        ports = [
            port
            for one in endpoints
            if (port := one.get("port")) is not None and port.kind == "scalar"
        ]
        named = tuple(
            Given(port.text, document.place(port)) for port in ports if not port.text.isdigit()
        )
        return Scrape(
            kind,
            name,
            place,
            of,
            found,
            labels is not None and not selector.get("matchExpressions"),
            named,
        )
    if kind in _OTHERS or (
        kind in ("", "ConfigMap") and "scrape_configs" in document.text and _has_jobs(root)
    ):
        return Scrape(kind or "scrape_configs", name, place, "anything", plain=False)
    return None


def _has_jobs(root: Node) -> bool:
    if root.get("scrape_configs") is not None:
        return True
    data = root.get("data")
    return data is not None and any(
        value.kind == "scalar" and "scrape_configs" in value.text for value in data.entries.values()
    )


def asks_for_scrape(metadata: Node | None) -> bool:
    """True if an annotation asks for a scrape, or names a scraper of its own (Datadog's checks)."""
    annotations = metadata.get("annotations") if metadata is not None else None
    if annotations is None:
        return False
    return any(
        (key.endswith("/scrape") and value.text.lower() == "true")
        or key.startswith("ad.datadoghq.com/")
        for key, value in annotations.entries.items()
    )
