"""Changes of a pod template outside the engine's settings: memory, /dev/shm, service links, startup
probe.

memory               700Mi: limit and request; 700Mi (request 500Mi): where they differ; absent: neither
/dev/shm             1Gi: an emptyDir in memory of that size; unlimited: one without a size; absent: nothing is mounted there
enableServiceLinks   true, false
startupProbe         the probe as JSON
"""

from __future__ import annotations

import copy
import json
from collections.abc import Mapping
from typing import Any

from barostat.core.change import ConfigChange
from barostat.core.proposed_change import (
    PodEdit,
    SetCpu,
    SetMemory,
    SetServiceLinks,
    SetSharedMemory,
    SetStartupProbe,
)
from barostat.judge.manifest_edit.flag_surgery import NotChanged
from barostat.platform.objects import Object, mapping, objects, text, value
from barostat.platform.pods import container_named, engine_container

MEMORY, SHM, LINKS, STARTUP = "memory", "/dev/shm", "enableServiceLinks", "startupProbe"
UNLIMITED = "unlimited"


def change_of_pod_spec(edit: PodEdit, template: Object) -> ConfigChange | NotChanged:
    """Express the edit as a change of this template; NotChanged if it cannot be made."""
    match edit:
        case SetMemory(amount):
            if engine_container(template) is None:
                return NotChanged("the template has no container")
            return _change(MEMORY, template, amount)
        case SetSharedMemory(amount):
            return _change(SHM, template, amount)
        case SetServiceLinks(enabled):
            return _change(LINKS, template, str(enabled).lower())
        case SetStartupProbe():
            probe = {
                "httpGet": {"path": edit.path, "port": edit.port},
                "periodSeconds": edit.period_s,
                "timeoutSeconds": edit.timeout_s,
                "failureThreshold": edit.failure_threshold,
            }
            return _change(STARTUP, template, _json(probe))
        case SetCpu():
            return NotChanged("a person does it")


def _change(name: str, template: Object, wanted: str) -> ConfigChange | NotChanged:
    now = pod_spec_now(name, template)
    return now if isinstance(now, NotChanged) else ConfigChange("pod-spec", name, now, wanted)


def with_pod_spec(change: ConfigChange, template: Object) -> Object | NotChanged:
    """Return a copy of the template with the change."""
    new: dict[str, Any] = copy.deepcopy(dict(template))
    match change.name:
        case "memory":
            _set_memory(new, change.value)
        case "/dev/shm":
            if isinstance(now := _shm_now(template), NotChanged):
                return now
            _set_shm(new, change.value)
        case "enableServiceLinks":
            _put(new["spec"], LINKS, None if change.value is None else change.value == "true")
        case "startupProbe":
            _put(_engine(new), STARTUP, None if change.value is None else json.loads(change.value))
        case _:
            return NotChanged(f"{change.name} is not a supported pod-spec change")
    return new


def pod_spec_now(name: str, template: Object) -> str | NotChanged | None:
    """Return the current value in the template, in the notation of changes; None if it is absent."""
    match name:
        case "memory":
            return _memory_now(template)
        case "/dev/shm":
            return _shm_now(template)
        case "enableServiceLinks":
            now = value(template, "spec", LINKS)
            return str(now).lower() if isinstance(now, bool) else None
        case "startupProbe":
            former = _engine(dict(template)).get(STARTUP)
            return None if former is None else _json(former)
        case _:
            return NotChanged(f"{name} is not a supported pod-spec change")


def _engine(template: dict[str, Any]) -> dict[str, Any]:
    container = engine_container(template)
    name = container.name if container is not None else ""
    found: dict[str, Any] = next(
        item for item in template["spec"]["containers"] if item.get("name") == name
    )
    return found


def _put(place: dict[str, Any], key: str, new: Any) -> None:
    if new is None:
        place.pop(key, None)
    else:
        place[key] = new


def _json(found: Any) -> str:
    return json.dumps(found, sort_keys=True)


def _memory_now(template: Object) -> str | None:
    container = engine_container(template)
    limit, request = (
        (container.limits.get("memory"), container.requests.get("memory"))
        if container is not None
        else (None, None)
    )
    if limit == request:
        return limit
    return f"{limit or 'none'} (request {request or 'none'})"


def _limit_and_request(written: str) -> tuple[str, str]:
    """Limit and request of `700Mi` or `700Mi (request 500Mi)`."""
    limit, _, rest = written.partition(" (request ")
    return limit, rest.removesuffix(")") or limit


def _set_memory(template: dict[str, Any], wanted: str | None) -> None:
    limit, request = (None, None) if wanted is None else _limit_and_request(wanted)
    resources = _engine(template).setdefault("resources", {})
    for kind, amount in (("limits", limit), ("requests", request)):
        amounts = resources.setdefault(kind, {})
        _put(amounts, "memory", None if amount == "none" else amount)
        if not amounts:
            del resources[kind]


def _mount(engine: Mapping[str, Any]) -> Mapping[str, Any] | None:
    return next(
        (
            found
            for found in objects(engine, "volumeMounts")
            if text(found, "mountPath").rstrip("/") == SHM
        ),
        None,
    )


def _shm_now(template: Object) -> str | NotChanged | None:
    container = engine_container(template)
    engine = container_named(template, container.name) if container else {}
    mount = _mount(engine)
    if mount is None:
        return None
    volume = next(
        (
            found
            for found in objects(template, "spec", "volumes")
            if text(found, "name") == text(mount, "name")
        ),
        {},
    )
    if text(volume, "emptyDir", "medium") != "Memory":
        return NotChanged(
            f"{SHM} is volume {text(mount, 'name')}, which is no emptyDir in memory: a "
            "person changes it"
        )
    return text(mapping(volume, "emptyDir"), "sizeLimit") or UNLIMITED


def _set_shm(template: dict[str, Any], wanted: str | None) -> None:
    """Set the size of /dev/shm on the mounted volume, or on a new one. None: remove the mount, and
    the volume if nothing else mounts it.
    """
    engine, spec = _engine(template), template["spec"]
    source: dict[str, Any] = {"medium": "Memory"} | (
        {} if wanted in (None, UNLIMITED) else {"sizeLimit": wanted}
    )
    mount = _mount(engine)
    if mount is None:
        if wanted is not None:
            taken = {text(volume, "name") for volume in objects(spec, "volumes")}
            name = next(name for name in ("shm", "dev-shm", "barostat-shm") if name not in taken)
            engine.setdefault("volumeMounts", []).append({"name": name, "mountPath": SHM})
            spec.setdefault("volumes", []).append({"name": name, "emptyDir": source})
        return
    name = text(mount, "name")
    if wanted is not None:
        next(volume for volume in spec["volumes"] if volume.get("name") == name)["emptyDir"] = (
            source
        )
        return
    _put(
        engine,
        "volumeMounts",
        [found for found in engine["volumeMounts"] if found is not mount] or None,
    )
    others = [*objects(spec, "containers"), *objects(spec, "initContainers")]
    if not any(
        text(found, "name") == name for item in others for found in objects(item, "volumeMounts")
    ):
        _put(
            spec,
            "volumes",
            [volume for volume in spec["volumes"] if volume.get("name") != name] or None,
        )
