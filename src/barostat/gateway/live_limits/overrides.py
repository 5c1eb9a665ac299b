"""Temporary limits that replace the file's. Each has a lease and expires unless it is renewed.

A holder may number its runs (`epoch`). Requests of an earlier run are refused once a later run is
known, and requests of a run that has removed its limits are refused too.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from barostat.admit.rules import rules_of
from barostat.core.errors import InputError
from barostat.core.limits import EdgeLimits, RequestLimits, ServingLimits, contradictions

LONGEST_LEASE_S = 3600.0
_REQUEST = {
    "maxInputTokens": "max_input_tokens",
    "maxOutputTokens": "max_output_tokens",
    "maxStreamSeconds": "max_stream_seconds",
}
_EDGE = {"kvTokenBudget": "kv_token_budget", "queueDeadlineSeconds": "queue_deadline_seconds"}
_HOLDERS_KNOWN = 64
_WHOLE = frozenset({"maxInputTokens", "maxOutputTokens", "kvTokenBudget"})


class HeldByAnother(InputError):
    """Another holder's limits are in force, or a later run of the same holder is known."""


@dataclass(frozen=True, slots=True)
class Override:
    """A temporary replacement of the file's limits. `values`: by name in the file. `holder`: only
    the same holder can renew it.

    `epoch`: the holder's run. `enforce`: a gateway with --shadow enforces all limits during that
    time.
    """

    holder: str
    values: Mapping[str, float]
    until: float
    epoch: int = 0
    enforce: bool = False


@dataclass(slots=True)
class Fences:
    """The latest known run of each recent holder, and whether it has removed its limits."""

    _heard: dict[str, tuple[int, bool]] = field(default_factory=dict)

    def refused(self, holder: str, epoch: int) -> str:
        """Return why the run may no longer set limits; empty if it may."""
        latest, ended = self._heard.get(holder, (-1, False))
        if epoch < latest:
            return f"run {epoch} of {holder} is over: run {latest} goes on"
        return (
            f"run {epoch} of {holder} has taken its limits back"
            if epoch == latest and ended and epoch > 0
            else ""
        )

    def heard(self, holder: str, epoch: int, *, ended: bool) -> None:
        """Record a run. Holders without run numbers are never outdated."""
        latest, was = self._heard.pop(holder, (epoch, False))
        self._heard[holder] = (
            (epoch, ended or was) if epoch == latest else max((epoch, ended), (latest, was))
        )
        while len(self._heard) > _HOLDERS_KNOWN:
            del self._heard[next(iter(self._heard))]


def asked_override(document: Any, now: float) -> Override:
    """Parse a request body into an override: {"holder", "leaseSeconds", "limits": {name: number}},
    optionally "epoch" and "enforce".

    Errors: InputError naming the invalid member.
    """
    if not isinstance(document, dict) or document.keys() - {
        "holder",
        "leaseSeconds",
        "limits",
        "epoch",
        "enforce",
    }:
        raise InputError(
            "an object of holder, leaseSeconds and limits (and epoch, enforce) was expected"
        )
    holder, lease_s, limits = (
        document.get("holder"),
        document.get("leaseSeconds"),
        document.get("limits"),
    )
    if (
        not isinstance(holder, str) or not 0 < len(holder) <= 128 or not holder.isprintable()
    ):  # it is printed on its own log line
        raise InputError("a name of at most 128 printable characters was expected", "holder")
    if (
        isinstance(lease_s, bool)
        or not isinstance(lease_s, int | float)
        or not 0 < lease_s <= LONGEST_LEASE_S
    ):
        raise InputError(
            f"a number of seconds up to {LONGEST_LEASE_S:g} was expected", "leaseSeconds"
        )
    if not isinstance(limits, dict) or not limits:
        raise InputError("at least one limit was expected", "limits")
    for name, value in limits.items():
        if name not in _REQUEST and name not in _EDGE:
            raise InputError(
                f"is no limit that can be set here; these can: {', '.join((*_REQUEST, *_EDGE))}",
                f"limits.{name}",
            )
        whole = name in _WHOLE
        if (
            isinstance(value, bool)
            or not isinstance(value, int if whole else int | float)
            or not 0 < value < 1e12
        ):
            raise InputError(
                f"a {'whole ' if whole else ''}number above 0 was expected", f"limits.{name}"
            )
    enforce = document.get("enforce", False)
    if not isinstance(enforce, bool):
        raise InputError("true or false was expected", "enforce")
    return Override(
        holder, dict(limits), now + lease_s, asked_epoch(document.get("epoch", 0)), enforce
    )


def asked_epoch(value: Any) -> int:
    """Parse the number of a run. Errors: InputError if it is not an integer from 0 up."""
    if type(value) is not int or not 0 <= value < 2**31:
        raise InputError("the number of a run was expected, from 0 up", "epoch")
    return value


def in_force(limits: ServingLimits, override: Override | None, now: float) -> ServingLimits:
    """Return the limits with the override applied while its lease lasts; an override never loosens
    the file.

    Errors: InputError if the combination contradicts itself.
    """
    if override is None or now >= override.until:
        return limits
    spec = limits.spec
    stated = replace(
        spec.edge, queue_deadline_seconds=rules_of(limits).queue_deadline_s
    )  # the deadline may be derived from the SLO
    changed_request: RequestLimits = replace(
        spec.request, **_tighter(spec.request, _REQUEST, override)
    )
    changed_edge: EdgeLimits = replace(spec.edge, **_tighter(stated, _EDGE, override))
    made = replace(limits, spec=replace(spec, request=changed_request, edge=changed_edge))
    before = set(contradictions(limits))
    for path, sentence in contradictions(made):
        if (path, sentence) not in before:
            raise InputError(sentence, path)
    return made


def _tighter(
    section: RequestLimits | EdgeLimits, names: Mapping[str, str], override: Override
) -> dict[str, Any]:
    """Return the section's fields as changed by the override: the tighter of both values."""
    made: dict[str, Any] = {}
    for name, value in override.values.items():
        if name in names:
            stands = getattr(section, names[name])
            made[names[name]] = value if stands is None else min(stands, value)
    return made
