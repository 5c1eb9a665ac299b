"""From the words of a next step to one change, and from a change to the pod template that holds it.

--max-num-seqs 48, --enable-prefix-caching, remove --swap-space 4      argument, variable or line of a config file (flag surgery)
resources: {limits: {memory: 12Gi}}, volumes: [... sizeLimit: 1Gi]     what pod_spec_change.py changes
kubectl rollout undo ...                                               the template of the revision before
replicas: 3                                                            one replica more (one at a time)
request: {maxOutputTokens: 512}, edge: {kvTokenBudget: 9216}           a limit of the limits file
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Mapping

from barostat.catalog.vllm_flags import canonical_name, is_switch
from barostat.core.change import ConfigChange
from barostat.core.config import ConfigScalar
from barostat.core.diagnosis import NextStep
from barostat.judge.manifest_edit.flag_surgery import NotChanged, set_flag
from barostat.judge.manifest_edit.pod_spec_change import asked_of_pod_spec, with_pod_spec
from barostat.platform.objects import Object, mapping, objects, text

REVISION, REPLICAS = "revision", "replicas"
_FLAG = re.compile(r"^(--[a-z][\w-]*)(?:[ =](\S+))?$")
_REMOVE = re.compile(r"^remove (--[a-z][\w-]*)")
_LIMIT = re.compile(r"^(request|edge): \{(\w+): ([\d.]+)\}$")
ADDED_BY_REPLICA_SET = "pod-template-hash"
_BY_A_PERSON = ("trust_remote_code", "port")
"""The first lets code of the model's run; with the second go the pod's probes and its Service."""


def digest(template: Object) -> str:
    """A short name for exactly this template."""
    return hashlib.sha256(
        json.dumps(template, sort_keys=True, separators=(",", ":")).encode()
    ).hexdigest()[:16]


def change_of(
    step: NextStep,
    template: Object,
    *,
    replicas: int,
    config_maps: Mapping[str, Object],
    revision: tuple[str, str] | None,
) -> ConfigChange | NotChanged:
    """The one change that the next step asks for. `revision`: the present one and the one before,
    where there is one.
    """
    words = step.change.strip()
    if (limit := _LIMIT.match(words)) is not None:
        return ConfigChange("limits", f"{limit[1]}.{limit[2]}", None, limit[3])
    if words.startswith("replicas: "):
        return ConfigChange("replicas", REPLICAS, str(replicas), str(replicas + 1))
    if words.startswith("kubectl rollout undo"):
        return (
            ConfigChange("revision", REVISION, *revision)
            if revision is not None
            else NotChanged("no revision with other pods is kept")
        )
    if (found := asked_of_pod_spec(step, template)) is not None:
        return found
    if (gone := _REMOVE.match(words)) is not None:
        return asked_for(gone[1], None, template, config_maps, switch=False)
    if (flag := _FLAG.match(words)) is not None and canonical_name(flag[1]) not in _BY_A_PERSON:
        return asked_for(flag[1], flag[2], template, config_maps)
    return NotChanged("a person does it")


def asked_for(
    name: str,
    value: str | None,
    template: Object,
    config_maps: Mapping[str, Object],
    *,
    switch: bool = True,
) -> ConfigChange | NotChanged:
    """That setting at that value; without a value a switch is on (`--no-x`: off), and a setting
    that `remove` names is gone.
    """
    wanted: ConfigScalar | None = None if value is None else _scalar(value)
    bare = name.lstrip("-")
    if value is None and switch and _is_switch(bare):
        negated = bare.startswith("no-")
        name, wanted = (f"--{bare[3:]}", False) if negated else (name, True)
    found = set_flag(template, name, wanted, config_maps=config_maps, template_only=True)
    return found if isinstance(found, NotChanged) else found.change


def changed_template(
    change: ConfigChange,
    template: Object,
    *,
    config_maps: Mapping[str, Object] | None = None,
) -> Object | NotChanged:
    """The template with the change, everything else as it is."""
    match change.kind:
        case "argument" | "environment" | "config-file":
            value = None if change.value is None else _scalar(change.value)
            found = set_flag(
                template, change.name, value, config_maps=config_maps or {}, template_only=True
            )
            return found if isinstance(found, NotChanged) else found.template
        case "pod-spec":
            return with_pod_spec(change, template)
        case _:
            return NotChanged(f"{change.name} is no part of the template")


def _scalar(value: str) -> ConfigScalar:
    return value == "true" if value in ("true", "false") else value


def _is_switch(bare: str) -> bool:
    return is_switch(canonical_name(f"--{bare.removeprefix('no-')}"))


def service_labels(
    template: Object, selector: Object, services: Iterable[Object]
) -> dict[str, str]:
    """The labels by which the Services find these pods, and those of the Deployment's selector:
    they come off one that is taken out.
    """
    labels = mapping(template, "metadata", "labels")
    found = {key: str(value) for key, value in mapping(selector, "matchLabels").items()}
    asked = {
        text(one, "key")
        for one in objects(selector, "matchExpressions")
        if text(one, "operator") in ("In", "Exists")
    }
    found |= {key: str(value) for key, value in labels.items() if key in asked}
    for service in services:
        found |= {
            key: str(value)
            for key, value in mapping(service, "spec", "selector").items()
            if labels.get(key) == value
        }
    return {key: value for key, value in found.items() if key != ADDED_BY_REPLICA_SET}


def selecting(services: Iterable[Object], template: Object) -> list[Object]:
    """The Services that select pods of this template (a Service without a selector selects
    none).
    """
    labels = mapping(template, "metadata", "labels")

    def selects(service: Object) -> bool:
        selector = {
            key: value
            for key, value in mapping(service, "spec", "selector").items()
            if key != ADDED_BY_REPLICA_SET
        }
        return bool(mapping(service, "spec", "selector")) and all(
            labels.get(key) == value for key, value in selector.items()
        )

    return [service for service in services if selects(service)]


def separable(services: list[Object]) -> bool:
    """Every one of these Services can be left by taking a label off, and there is one."""
    return bool(services) and all(
        set(mapping(service, "spec", "selector")) - {ADDED_BY_REPLICA_SET} for service in services
    )
