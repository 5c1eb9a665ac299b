"""Files that mention vLLM and from which nothing was read: each is a note with the reason."""

from __future__ import annotations

import re
from collections.abc import Iterator

from barostat.judge.manifest_check.commands import SERVER
from barostat.judge.manifest_check.forms import forms
from barostat.judge.manifest_check.images import image_facts
from barostat.lint.document import Document, Node
from barostat.lint.facts import Scene
from barostat.lint.rule import Finding, unchecked

_MENTION = re.compile(r"^(?![ \t]*(?:#|//|;))[^\n]*?(vllm)", re.IGNORECASE | re.MULTILINE)
_START_NOTHING = frozenset(
    [
        "Certificate",
        "ClusterRole",
        "ClusterRoleBinding",
        "CustomResourceDefinition",
        "DestinationRule",
        "ExternalSecret",
        "Gateway",
        "GitRepository",
        "GrafanaDashboard",
        "HTTPRoute",
        "HelmRepository",
        "HorizontalPodAutoscaler",
        "InferenceModel",
        "InferenceObjective",
        "InferencePool",
        "Ingress",
        "IngressRoute",
        "Kustomization",
        "LimitRange",
        "ModelRoute",
        "ModelServer",
        "Namespace",
        "NetworkPolicy",
        "OCIRepository",
        "PersistentVolume",
        "PersistentVolumeClaim",
        "PodDisruptionBudget",
        "PodMonitor",
        "PodMonitoring",
        "PriorityClass",
        "PrometheusRule",
        "ResourceQuota",
        "Role",
        "RoleBinding",
        "Route",
        "ScaledObject",
        "ScrapeConfig",
        "Secret",
        "SecretProviderClass",
        "Service",
        "ServiceAccount",
        "ServiceEntry",
        "ServiceMonitor",
        "StorageClass",
        "ValidatingAdmissionPolicy",
        "ValidatingAdmissionPolicyBinding",
        "VirtualService",
    ]
)
"""Kinds of objects that start no engine, whatever their names."""


def unread(scene: Scene) -> Iterator[Finding]:
    """Yield a note for each file that mentions vLLM and gave nothing to judge."""
    read = {engine.place.file for engine in scene.engines}
    read |= {limits.place.file for limits in scene.limits}
    read |= {test.place.file for test in scene.load_tests}
    read |= {query.place.file for query in scene.queries}
    read |= {scaler.place.file for scaler in scene.scalers}
    for document in scene.documents:
        mention = _MENTION.search(document.text)
        if mention is None or document.file in read:
            continue
        reason = _reason(document)
        if reason:
            place = document.at(*mention.span(1))
            yield unchecked(place, f"mentions vLLM, and nothing was read: {reason}", "note")


def _reason(document: Document) -> str:
    """Return why nothing was read, empty if nothing could be."""
    reasons = [_of_root(document, root) for root in document.roots]
    return next((reason for reason in reasons if reason), "") if reasons else "it is empty"


def _of_root(document: Document, root: Node) -> str:
    kind = root.word("kind")
    if kind in _START_NOTHING:
        return ""
    form = next((form for form in forms() if not form.general and form.is_of(document, root)), None)
    if form is not None and form.is_whole:
        return _of_containers(root)
    starts = any(node.kind == "scalar" and SERVER.search(node.text) for node in root.walk())
    if kind == "ConfigMap" and not starts:
        return ""
    name = form.name if form is not None else f"a {kind}" if kind else "a file"
    return f"{name} in which no command or image that starts it was recognised"


def _of_containers(root: Node) -> str:
    """Return which containers have vLLM's image and an entry point of their own."""
    images = [
        node.text
        for parent in root.walk()
        if parent.kind == "map" and (node := parent.get("image")) is not None
    ]
    ours = [image for image in images if image_facts(image).server]
    return f"what {ours[0]} starts is not in its command or arguments" if ours else ""
