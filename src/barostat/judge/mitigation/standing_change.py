"""Whether the change of an incident is still in place on its target, or was changed since."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from barostat.catalog.settings.table import canonical_name
from barostat.core.change import ConfigChange
from barostat.engines.vllm.command_line.config import read_value
from barostat.judge.manifest_edit.config_change import digest
from barostat.judge.manifest_edit.flag_surgery import NotChanged, set_flag
from barostat.judge.manifest_edit.pod_spec_change import STARTUP, pod_spec_now
from barostat.judge.mitigation.target_snapshot import TargetSnapshot
from barostat.platform.objects import name_of, quantity, text
from barostat.platform.workloads import marks
from barostat.remedy.annotations import PATCHED, written_patch
from barostat.remedy.plan import RemedyPlan


def made_else(seen: TargetSnapshot, done: RemedyPlan) -> str:
    """Return how the plan's change differs from what it was left as; empty if it does not, or if
    this is unknown.

    Any later change of the template counts for a rollback to a former revision, because reverting
    it would revert all of them.
    """
    change = done.change
    if change.kind == "revision":
        as_left = text(marks(seen.home), PATCHED) == written_patch(done.id, digest(seen.source))
        return (
            ""
            if as_left
            else f"the template is not as {done.id} left it: somebody has changed it since"
        )
    now = _now(seen, change)
    if isinstance(now, NotChanged) or _same(change, now):
        return ""
    left, found = ("absent" if value is None else value for value in (change.value, now))
    return (
        f"{change.name} is {found} now, and {done.id} left it at {left}: somebody has changed "
        "it since"
    )


def _now(seen: TargetSnapshot, change: ConfigChange) -> str | NotChanged | None:
    """Return the template's current value; NotChanged if it is the one that the change set, or
    unknown.
    """
    if change.kind == "pod-spec":
        return pod_spec_now(change.name, seen.template)
    if change.kind not in ("argument", "environment", "config-file"):
        return NotChanged("it is no part of the template")
    maps = {name_of(item): item for item in seen.lists.get("configmaps", [])}
    again = change.value == "true" if change.value in ("true", "false") else change.value
    found = set_flag(seen.template, change.name, again, config_maps=maps, template_only=True)
    return found if isinstance(found, NotChanged) else found.change.former


def _same(change: ConfigChange, now: str | None) -> bool:
    left = change.value
    if left is None or now is None or left == now:
        return left == now
    if change.name == STARTUP:  # the server adds what a probe leaves out
        return _holds(json.loads(now), json.loads(left))
    if change.kind == "pod-spec":
        return [quantity(word.strip("()")) or word for word in left.split()] == [
            quantity(word.strip("()")) or word for word in now.split()
        ]
    read = read_value(canonical_name(change.name), now)
    return (
        change.kind != "environment"
        and read is not None
        and read == read_value(canonical_name(change.name), left)
    )


def _holds(found: Any, left: Any) -> bool:
    if not isinstance(left, Mapping):
        return bool(found == left)
    return isinstance(found, Mapping) and all(
        _holds(found.get(key), value) for key, value in left.items()
    )
