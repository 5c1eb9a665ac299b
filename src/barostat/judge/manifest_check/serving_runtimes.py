"""A KServe InferenceService with the runtime that it names, as KServe merges them into a container.

Source: kserve/kserve pkg/controller/v1beta1/inferenceservice/utils (MergeRuntimeContainers: a value
of the service overrules the runtime's; its arguments and variables are added at the end).
"""

from __future__ import annotations

from barostat.judge.manifest_check.pod_specs import objects_of
from barostat.lint.document import Document, Node

KINDS = ("ServingRuntime", "ClusterServingRuntime")
MODEL_CONTAINER = "kserve-container"
_ADDED = ("args", "env", "volumeMounts", "envFrom")
"""Lists to which the service's items are appended after the runtime's."""


def runtime_container(document: Document, name: str, namespace: str) -> Node | None:
    """Return the model container of the runtime of that name in the same file, None if it is
    elsewhere.

    A runtime in another file cannot be merged, because every value keeps its place in one file.
    """
    for root in document.roots:
        for each in objects_of(root):
            is_named = each.word("kind") in KINDS and each.word("metadata", "name") == name
            if not is_named or each.word("metadata", "namespace") not in ("", namespace):
                continue
            for container in each.maps_at("spec", "containers"):
                if container.word("name") == MODEL_CONTAINER:
                    return container
    return None


def merged(runtime: Node, model: Node) -> Node:
    """Return the container that both make. `model`: the service's predictor.model."""
    entries = {**runtime.entries, **{key: model.entries[key] for key in _own(model)}}
    keys = {**runtime.keys, **{key: model.keys[key] for key in _own(model) if key in model.keys}}
    for key in _ADDED:
        behind = model.get(key)
        if behind is None or behind.kind != "list":
            continue
        before = runtime.get(key)
        items = [*(before.items if before is not None else []), *behind.items]
        entries[key] = Node(
            "list", behind.line, behind.column, behind.start, behind.end, items=items
        )
    return Node("map", model.line, model.column, model.start, model.end, entries=entries, keys=keys)


def _own(model: Node) -> list[str]:
    """Return the keys by which the service overrules the runtime's container."""
    return [
        key
        for key, value in model.entries.items()
        if key not in ("name", "runtime", "modelFormat", "storageUri", "storage", *_ADDED)
        and not value.is_null
    ]
