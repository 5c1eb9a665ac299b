"""The texts that ConfigMaps hold, and which of several of one name a pod means: never one of
another namespace, and the nearest else.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from barostat.judge.manifest_check.pod_specs import objects_of
from barostat.lint.document import Document, Node


@dataclass(frozen=True, slots=True)
class Held:
    """A value of a ConfigMap, with its place. `namespace`: empty if the manifest has none."""

    document: Document
    node: Node
    namespace: str


ConfigMaps = Mapping[tuple[str, str], Sequence[Held]]
"""By the ConfigMap's name and the text's key."""


def config_maps_of(documents: Iterable[Document]) -> ConfigMaps:
    """Every text of every ConfigMap."""
    found: dict[tuple[str, str], list[Held]] = {}
    for document in documents:
        for root in (one for each in document.objects() for one in objects_of(each)):
            if root.word("kind") != "ConfigMap":
                continue
            for key, text in (root.get("data") or root).entries.items():
                if text.kind == "scalar":
                    held = Held(document, text, root.word("metadata", "namespace"))
                    found.setdefault((root.word("metadata", "name"), key), []).append(held)
    return found


def meant(
    config_maps: ConfigMaps, name: str, key: str, document: Document, namespace: str
) -> Held | None:
    """The text that a pod in that document and namespace mounts; of several the one whose file lies
    nearest, the last of equals.
    """
    own = document.file.split("/")

    def near(held: Held) -> tuple[bool, int]:
        folders = zip(own, held.document.file.split("/"), strict=False)
        return held.document is document, next(
            (depth for depth, (mine, other) in enumerate(folders) if mine != other), len(own)
        )

    all_of_it = config_maps.get((name, key), ())
    candidates = [
        held
        for held in all_of_it
        if not held.namespace or not namespace or held.namespace == namespace
    ]
    return max(reversed(candidates), key=near) if candidates else None


def all_meant(
    config_maps: ConfigMaps, name: str, document: Document, namespace: str
) -> dict[str, Held]:
    """Return every text of the ConfigMap of that name, by key; nothing if none was read."""
    found = {
        key: meant(config_maps, name, key, document, namespace)
        for held_name, key in config_maps
        if held_name == name
    }
    return {key: held for key, held in found.items() if held is not None}
