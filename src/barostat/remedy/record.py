"""The record of an incident: a state as one JSON document, and back. Versioned, read strictly: what
is not understood is not acted on.
"""

from __future__ import annotations

import json
from collections.abc import Container, Mapping
from dataclasses import fields, is_dataclass
from functools import cache
from types import UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from barostat.core.errors import InputError
from barostat.remedy.acts import NOTHING_CUT, Act, PodRef
from barostat.remedy.plan import RemedyPlan
from barostat.remedy.program import program
from barostat.remedy.state import Condition, Entry, State
from barostat.remedy.step import Phase

API_VERSION = "barostat.dev/v1alpha1"
KIND = "PressureIncident"
KEY = "incident.json"
"""Where the ConfigMap of an incident keeps it."""

_ACTS: dict[str, type] = {act.__name__: act for act in get_args(Act)}
_PROGRESS = (
    "epoch",
    "holder",
    "revision",
    "cursor",
    "recorded",
    "committed",
    "back",
    "verified",
    "approved",
    "cut",
)
_ADDED: Mapping[str, Any] = {
    "owners": (), "edge": None, "any_load": False, "end_s": 30.0, "rolls": "spares", "canary": "none",
    "canary_percent": 0, "surge": 0, "unavailable": 0, "unit_pods": 1, "cut": NOTHING_CUT,
    "keep_previous_s": 0.0, "not_kept": "", "previous": "", "drops": (),
}  # fmt: skip
"""Fields missing in records of earlier versions, with their defaults. They are written only if they
differ from the default.
"""
_TOP = (
    "apiVersion",
    "kind",
    "id",
    "targetRef",
    "cause",
    "phase",
    "why",
    "conditions",
    "plan",
    "progress",
    "pods",
    "undo",
    "timeline",
)


def record_name(incident: str) -> str:
    """Return the name of that incident's ConfigMap."""
    return f"incident-{incident}"


def to_json(state: State) -> str:
    """The state as the incident's document: stable, one line, readable by a person through `jq`."""
    target = state.plan.target
    document = {
        "apiVersion": API_VERSION,
        "kind": KIND,
        "id": state.plan.id,
        "targetRef": {"apiVersion": target.api_version, "kind": target.kind, "name": target.name},
        "cause": state.plan.cause,
        "phase": state.phase,
        "why": state.why,
        "conditions": [plain(found) for found in state.conditions],
        "plan": plain(state.plan),
        "progress": {
            _key(name): plain(getattr(state, name))
            for name in _PROGRESS
            if name not in _ADDED or getattr(state, name) != _ADDED[name]
        },
        "pods": {slot: plain(pod) for slot, pod in state.pods},
        "undo": [{"act": type(act).__name__, **plain(act)} for act in state.undo],
        "timeline": [plain(entry) for entry in state.timeline],
    }
    return json.dumps(document, ensure_ascii=False, separators=(",", ":"))


def from_json(text: str, where: str = "incident") -> State:
    """The state that the document holds, as a run that was just read back: nothing is outstanding.

    Errors: InputError for anything that is not exactly such a document, with the path of what is
    wrong.
    """
    try:
        document = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InputError(f"is no JSON: {error}", where) from error
    body = _object(document, _TOP, where)
    if body["apiVersion"] != API_VERSION or body["kind"] != KIND:
        raise InputError(
            f"is {body['kind']} {body['apiVersion']}, this version reads {KIND} {API_VERSION}",
            where,
        )
    plan = _read(RemedyPlan, body["plan"], f"{where}.plan")
    pods = body["pods"]
    if not isinstance(pods, dict):
        raise InputError("must be an object of slots", f"{where}.pods")
    progress = _object(
        body["progress"], tuple(map(_key, _PROGRESS)), f"{where}.progress", _may_lack()
    )
    hints = _hints(State)
    state = State(
        plan=plan,
        phase=_read(Phase, body["phase"], f"{where}.phase"),
        why=_read(str, body["why"], f"{where}.why"),
        conditions=_read(tuple[Condition, ...], body["conditions"], f"{where}.conditions"),
        timeline=_read(tuple[Entry, ...], body["timeline"], f"{where}.timeline"),
        undo=_read(tuple[Act, ...], body["undo"], f"{where}.undo"),
        pods=tuple(
            sorted((slot, _read(PodRef, pod, f"{where}.pods.{slot}")) for slot, pod in pods.items())
        ),
        **{
            name: _read(hints[name], progress[_key(name)], f"{where}.progress.{_key(name)}")
            for name in _PROGRESS
            if _key(name) in progress
        },
    )
    if body["id"] != plan.id or body["cause"] != plan.cause:
        raise InputError("the id or the cause differs from the plan's", where)
    if not 0 <= state.cursor <= len(program(plan)):
        raise InputError(
            f"step {state.cursor} does not exist: the plan has {len(program(plan))}",
            f"{where}.progress.cursor",
        )
    return state


@cache
def _key(name: str) -> str:
    """`answer_s` -> `answerSeconds`, `load_ratio` -> `loadRatio`."""
    first, *rest = name.split("_")
    return first + "".join("Seconds" if part == "s" else part.capitalize() for part in rest)


def plain(value: Any) -> Any:
    """Convert a value to JSON: camelCase keys with the unit spelled out, defaults omitted."""
    if is_dataclass(value) and not isinstance(value, type):
        kept = {field.name: getattr(value, field.name) for field in fields(value)}
        return {
            _key(name): plain(found)
            for name, found in kept.items()
            if name not in _ADDED or found != _ADDED[name]
        }
    return [plain(item) for item in value] if isinstance(value, tuple) else value


@cache
def _may_lack() -> frozenset[str]:
    return frozenset(map(_key, _ADDED))


@cache
def _hints(kind: type) -> dict[str, Any]:
    return get_type_hints(kind)


def _object(
    value: Any, keys: tuple[str, ...], where: str, may_lack: Container[str] = ()
) -> Mapping[str, Any]:
    if not isinstance(value, dict):
        raise InputError("must be an object", where)
    for key in value:
        if key not in keys:
            raise InputError("is not known", f"{where}.{key}")
    for key in keys:
        if key not in value and key not in may_lack:
            raise InputError("is missing", f"{where}.{key}")
    return value


def _read(hint: Any, value: Any, where: str) -> Any:
    """The value as that type says it must be."""
    if hint is Act:
        return _act(value, where)
    if is_dataclass(hint) and isinstance(hint, type):
        body = _object(value, tuple(_key(field.name) for field in fields(hint)), where, _may_lack())
        hints = _hints(hint)
        return hint(
            **{
                field.name: _read(
                    hints[field.name], body[_key(field.name)], f"{where}.{_key(field.name)}"
                )
                for field in fields(hint)
                if _key(field.name) in body
            }
        )
    origin, args = get_origin(hint), get_args(hint)
    if origin is tuple:
        if not isinstance(value, list):
            raise InputError("must be a list", where)
        each = args if args[-1] is not Ellipsis else args[:1] * len(value)
        if len(each) != len(value):
            raise InputError(f"must hold {len(each)} values", where)
        return tuple(
            _read(each[index], item, f"{where}[{index}]") for index, item in enumerate(value)
        )
    if origin is Literal:
        if value not in args or isinstance(value, bool | float):
            raise InputError(f"must be one of {', '.join(map(str, args))}", where)
        return value
    if origin in (Union, UnionType):
        return (
            None
            if value is None and type(None) in args
            else _read(next(arg for arg in args if arg is not type(None)), value, where)
        )
    if hint is float and isinstance(value, int | float) and not isinstance(value, bool):
        return float(value)
    if type(value) is not hint:
        raise InputError(f"must be {hint.__name__}", where)
    return value


def _act(value: Any, where: str) -> Act:
    name = value.get("act") if isinstance(value, dict) else None
    kind = _ACTS.get(name) if isinstance(name, str) else None
    if kind is None:
        raise InputError("names no act", where)
    act: Act = _read(kind, {key: item for key, item in value.items() if key != "act"}, where)
    return act
