"""Resolves the environment of a pod's containers from ConfigMaps (`envFrom`, `valueFrom`). Secrets
are not resolved.

Source: core/v1 EnvFromSource, ConfigMapKeySelector (Kubernetes 1.34): a later envFrom overrides an
earlier one, and env overrides both; names that are not C identifiers are skipped.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from barostat.platform.objects import Object, mapping, objects, text
from barostat.platform.pods import container_named

_IDENTIFIER = re.compile(r"[-._a-zA-Z][-._a-zA-Z0-9]*")


def with_references(pod: Object, config_maps: Mapping[str, Object]) -> Object:
    """The pod (or template) with each variable that a ConfigMap holds as a literal; what is not
    among `config_maps` (by name) stays.
    """
    containers = objects(pod, "spec", "containers")
    if not any(
        "envFrom" in item or any("valueFrom" in entry for entry in objects(item, "env"))
        for item in containers
    ):
        return pod
    spec = mapping(pod, "spec")
    return {
        **pod,
        "spec": {
            **spec,
            "containers": [{**item, "env": _filled(item, config_maps)} for item in containers],
        },
    }


def referred_config_maps(pod: Object, container: str) -> tuple[str, ...]:
    """The names of those that the container's variables are from."""
    item = container_named(pod, container)
    named = [text(source, "configMapRef", "name") for source in objects(item, "envFrom")]
    named += [text(entry, "valueFrom", "configMapKeyRef", "name") for entry in objects(item, "env")]
    return tuple(dict.fromkeys(filter(None, named)))


def _filled(container: Object, config_maps: Mapping[str, Object]) -> list[Any]:
    own = [_literal(entry, config_maps) for entry in objects(container, "env")]
    named = {text(entry, "name") for entry in own}
    taken: dict[str, str] = {}
    for source in objects(container, "envFrom"):
        held = mapping(config_maps.get(text(source, "configMapRef", "name"), {}), "data")
        prefix = text(source, "prefix")
        taken |= {
            prefix + key: found
            for key, found in held.items()
            if isinstance(found, str) and _IDENTIFIER.fullmatch(prefix + key)
        }
    return [
        *({"name": name, "value": found} for name, found in taken.items() if name not in named),
        *own,
    ]


def _literal(entry: Object, config_maps: Mapping[str, Object]) -> Object:
    reference = mapping(entry, "valueFrom", "configMapKeyRef")
    held = mapping(config_maps.get(text(reference, "name"), {}), "data").get(text(reference, "key"))
    return {"name": text(entry, "name"), "value": held} if isinstance(held, str) else entry
