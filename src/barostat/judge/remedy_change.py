"""From the words of a next step to one change, and from a change to the pod template that holds it.

--max-num-seqs 48, --enable-prefix-caching, remove --swap-space 4      argument, variable or line of a config file (flag surgery)
resources: {limits: {memory: 12Gi}}                                    memory of the engine's container, limit and request alike
volumes: [... sizeLimit: 1Gi ...]                                      the volume behind /dev/shm
kubectl rollout undo ...                                               the template of the revision before
replicas: 3                                                            one replica more (one at a time)
request: {maxOutputTokens: 512}, edge: {kvTokenBudget: 9216}           a limit of the limits file
"""

from __future__ import annotations

import copy
import hashlib
import json
import re
from collections.abc import Iterable, Mapping
from typing import Any

from barostat.catalog.vllm_flags import FLAGS, canonical_name
from barostat.core.change import Change
from barostat.core.config import ConfigScalar
from barostat.core.diagnosis import NextStep
from barostat.judge.flag_surgery import NotChanged, set_flag
from barostat.platform.objects import Object, mapping, objects, text
from barostat.platform.pods import engine_container

MEMORY, SHM, REVISION, REPLICAS = "memory", "/dev/shm", "revision", "replicas"
_FLAG = re.compile(r"^(--[a-z][\w-]*)(?:[ =](\S+))?$")
_REMOVE = re.compile(r"^remove (--[a-z][\w-]*)")
_MEMORY = re.compile(r"memory: (\d+(?:\.\d+)?(?:Ki|Mi|Gi|Ti)?)\b")
_SHM = re.compile(r"sizeLimit: (\d+(?:Mi|Gi))")
_LIMIT = re.compile(r"^(request|edge): \{(\w+): ([\d.]+)\}$")
_ADDED_BY_REPLICA_SET = "pod-template-hash"


def digest(template: Object) -> str:
    """A short name for exactly this template."""
    return hashlib.sha256(json.dumps(template, sort_keys=True, separators=(",", ":")).encode()).hexdigest()[:16]


def change_of(
    step: NextStep, template: Object, *, replicas: int, config_maps: Mapping[str, Object], revision: tuple[str, str] | None
) -> Change | NotChanged:
    """The one change that the next step asks for. `revision`: the present one and the one before, where there is one."""
    words = step.change.strip()
    if (limit := _LIMIT.match(words)) is not None:
        return Change("limits", f"{limit[1]}.{limit[2]}", None, limit[3])
    if words.startswith("replicas: "):
        return Change("replicas", REPLICAS, str(replicas), str(replicas + 1))
    if words.startswith("kubectl rollout undo"):
        return Change("revision", REVISION, *revision) if revision is not None else NotChanged("there is no revision to go back to")
    if step.lever == "host-memory-limit":
        return _memory(template, words)
    if step.lever == "shm-size":
        size = _SHM.search(words)
        return Change("pod-spec", SHM, _shm_now(template), size[1]) if size else NotChanged("the size is not told")
    if (gone := _REMOVE.match(words)) is not None:
        return asked_for(gone[1], None, template, config_maps, switch=False)
    if (flag := _FLAG.match(words)) is not None:
        return asked_for(flag[1], flag[2], template, config_maps)
    return NotChanged("a person does it")


def asked_for(
    name: str, value: str | None, template: Object, config_maps: Mapping[str, Object], *, switch: bool = True
) -> Change | NotChanged:
    """That setting at that value; without a value a switch is on (`--no-x`: off), and a setting that `remove` names is gone."""
    wanted: ConfigScalar | None = None if value is None else _scalar(value)
    bare = name.lstrip("-")
    if value is None and switch and _is_switch(bare):
        negated = bare.startswith("no-") and bare[3:].replace("-", "_") in FLAGS
        name, wanted = (f"--{bare[3:]}", False) if negated else (name, True)
    found = set_flag(template, name, wanted, config_maps=config_maps, template_only=True)
    return found if isinstance(found, NotChanged) else found.change


def changed_template(
    change: Change, template: Object, *, config_maps: Mapping[str, Object] | None = None, revision: Object | None = None
) -> Object | NotChanged:
    """The template with the change, everything else as it is. `revision`: the template of the revision that a rollback goes to."""
    match change.kind:
        case "argument" | "environment" | "config-file":
            value = None if change.value is None else _scalar(change.value)
            found = set_flag(template, change.name, value, config_maps=config_maps or {}, template_only=True)
            return found if isinstance(found, NotChanged) else found.template
        case "pod-spec":
            return _with_memory(template, change.value) if change.name == MEMORY else _with_shm(template, change.value)
        case "revision":
            if revision is None:
                return NotChanged(f"revision {change.value} is not kept any more")
            before: dict[str, Any] = copy.deepcopy(dict(revision))
            before.get("metadata", {}).get("labels", {}).pop(_ADDED_BY_REPLICA_SET, None)
            return before
        case _:
            return NotChanged(f"{change.name} is no part of the template")


def _scalar(value: str) -> ConfigScalar:
    return value == "true" if value in ("true", "false") else value


def _is_switch(bare: str) -> bool:
    name = canonical_name(bare.removeprefix("no-"))
    return name in FLAGS and (bare.startswith("no-") or name.startswith(("enable_", "enforce_", "disable_", "async_")))


def _memory(template: Object, words: str) -> Change | NotChanged:
    size = _MEMORY.search(words)
    container = engine_container(template)
    if size is None or container is None:
        return NotChanged("the present limit is not recorded, so the new one cannot be told")
    return Change("pod-spec", MEMORY, container.limits.get("memory"), size[1])


def _shm_now(template: Object) -> str | None:
    for volume in objects(template, "spec", "volumes"):
        mounted = any(
            text(mount, "name") == text(volume, "name") and text(mount, "mountPath").rstrip("/") == SHM
            for item in objects(template, "spec", "containers")
            for mount in objects(item, "volumeMounts")
        )
        if mounted:
            return text(volume, "emptyDir", "sizeLimit") or None
    return None


def _engine(template: dict[str, Any]) -> dict[str, Any]:
    container = engine_container(template)
    name = container.name if container is not None else ""
    found: dict[str, Any] = next(item for item in template["spec"]["containers"] if item.get("name") == name)
    return found


def _with_memory(template: Object, value: str | None) -> Object:
    new: dict[str, Any] = copy.deepcopy(dict(template))
    resources = _engine(new).setdefault("resources", {})
    for kind in ("limits", "requests"):
        if value is None:
            resources.get(kind, {}).pop("memory", None)
        else:
            resources.setdefault(kind, {})["memory"] = value
    return new


def _with_shm(template: Object, value: str | None) -> Object:
    """An emptyDir in memory of that size is mounted at /dev/shm: the one that is there, or a new one."""
    new: dict[str, Any] = copy.deepcopy(dict(template))
    engine, spec = _engine(new), new["spec"]
    mount = next((found for found in engine.get("volumeMounts") or [] if str(found.get("mountPath", "")).rstrip("/") == SHM), None)
    if mount is None:
        taken = {text(volume, "name") for volume in objects(new, "spec", "volumes")}
        name = next(name for name in ("shm", "dev-shm", "barostat-shm") if name not in taken)
        engine.setdefault("volumeMounts", []).append({"name": name, "mountPath": SHM})
        spec.setdefault("volumes", []).append({"name": name, "emptyDir": {"medium": "Memory", "sizeLimit": value}})
        return new
    for volume in spec.get("volumes") or []:
        if volume.get("name") == mount.get("name"):
            for source in [key for key in volume if key != "name"]:
                del volume[source]
            volume["emptyDir"] = {"medium": "Memory"} | ({"sizeLimit": value} if value else {})
    return new


def service_labels(template: Object, selector: Object, services: Iterable[Object]) -> dict[str, str]:
    """The labels by which the Services find these pods, and those of the Deployment's selector: they come off one that is taken out."""
    labels = mapping(template, "metadata", "labels")
    found = {key: str(value) for key, value in mapping(selector, "matchLabels").items()}
    for service in services:
        found |= {key: str(value) for key, value in mapping(service, "spec", "selector").items() if labels.get(key) == value}
    return {key: value for key, value in found.items() if key != _ADDED_BY_REPLICA_SET}


def selecting(services: Iterable[Object], template: Object) -> list[Object]:
    """The Services that select pods of this template (a Service without a selector selects none)."""
    labels = mapping(template, "metadata", "labels")

    def selects(service: Object) -> bool:
        selector = {key: value for key, value in mapping(service, "spec", "selector").items() if key != _ADDED_BY_REPLICA_SET}
        return bool(mapping(service, "spec", "selector")) and all(labels.get(key) == value for key, value in selector.items())

    return [service for service in services if selects(service)]


def separable(services: list[Object]) -> bool:
    """Every one of these Services can be left by taking a label off, and there is one."""
    return bool(services) and all(set(mapping(service, "spec", "selector")) - {_ADDED_BY_REPLICA_SET} for service in services)
