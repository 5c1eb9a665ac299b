"""From a proposed change to the one change of a target's manifest, and from that to the pod template
that holds it.

    SetFlag, UnsetFlag, SetEnvironment   argument, variable or line of a config file (flag_surgery.py)
    EditPodSpec                          pod_spec_change.py
    RollBack                             the template of the previous revision
    Scale                                one replica more (one at a time)
    SetEdgeLimit                         a limit of the limits file
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping

from barostat.catalog.settings.setting import option_of
from barostat.core.change import ConfigChange
from barostat.core.config import ConfigScalar, written
from barostat.core.proposed_change import (
    EditPodSpec,
    ProposedChange,
    RollBack,
    Scale,
    SetEdgeLimit,
    SetFlag,
    UnsetFlag,
)
from barostat.judge.manifest_edit.flag_surgery import NotChanged, set_flag
from barostat.judge.manifest_edit.pod_spec_change import change_of_pod_spec, with_pod_spec
from barostat.platform.objects import Object

REVISION, REPLICAS = "revision", "replicas"
ADDED_BY_REPLICA_SET = "pod-template-hash"
_BY_A_PERSON = ("trust_remote_code", "port")
"""The first lets code of the model's run; with the second go the pod's probes and its Service."""


def digest(template: Object) -> str:
    """A short name for exactly this template."""
    return hashlib.sha256(
        json.dumps(template, sort_keys=True, separators=(",", ":")).encode()
    ).hexdigest()[:16]


def change_of(
    change: ProposedChange,
    template: Object,
    *,
    replicas: int,
    config_maps: Mapping[str, Object],
    revision: tuple[str, str] | None,
) -> ConfigChange | NotChanged:
    """The change of this target, with the present value. `revision`: the present and the previous
    one, where there is one.
    """
    match change:
        case SetEdgeLimit(limit, tokens):
            return ConfigChange("limits", limit, None, str(tokens))
        case Scale(of="workload"):
            return ConfigChange("replicas", REPLICAS, str(replicas), str(replicas + 1))
        case RollBack():
            if revision is None:
                return NotChanged("no revision with other pods is kept")
            return ConfigChange("revision", REVISION, *revision)
        case EditPodSpec(edit):
            return change_of_pod_spec(edit, template)
        case SetFlag(name, value) if name not in _BY_A_PERSON:
            return setting_change(name, value, template, config_maps)
        case UnsetFlag(name):
            return setting_change(name, None, template, config_maps)
        case _:
            return NotChanged("a person does it")


def setting_change(
    name: str,
    value: ConfigScalar | None,
    template: Object,
    config_maps: Mapping[str, Object],
) -> ConfigChange | NotChanged:
    """An argument or a variable of the engine at that value; None removes it."""
    spelled = name if name.isupper() else option_of(name)
    wanted = written(value) if isinstance(value, float) else value
    found = set_flag(template, spelled, wanted, config_maps=config_maps, template_only=True)
    return found if isinstance(found, NotChanged) else found.change


def changed_template(
    change: ConfigChange,
    template: Object,
    *,
    config_maps: Mapping[str, Object] | None = None,
) -> Object | NotChanged:
    """Return a copy of the template with the change."""
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
