"""A prepared plan, and a verification, as stable JSON for programs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from barostat.core.verdict import Absent, Present, Unknown, Verdict
from barostat.judge.mitigation.prepared import NothingPrepared, Prepared
from barostat.remedy.acts import Judged
from barostat.remedy.plan import RemedyPlan
from barostat.remedy.precheck import judged
from barostat.remedy.record import API_VERSION, plain
from barostat.shells.reports.diagnosis.data import step_json, trials_json
from barostat.shells.reports.incident.owner_patch import patch_text
from barostat.shells.reports.json_text import json_text

PREVIEW, VERIFICATION = "RemedyPreview", "RemedyVerification"


def preview_json(found: Prepared | NothingPrepared) -> str:
    """The plan with its checks, what stands in its way and what would be written; where there is no
    plan, why.
    """
    if isinstance(found, NothingPrepared):
        body: dict[str, Any] = {
            "plan": None,
            "why": found.why,
            "standing": found.standing,
            "passedOver": list(found.passed_over),
        }
        return _written(PREVIEW, body)
    checks = [
        {"name": check.name, **_verdict(verdict)}
        for check, verdict in judged(found.facts, found.plan)
    ]
    in_the_way = [
        {"kind": owner.kind, "name": owner.name, "namespace": owner.namespace, "because": owner.because,
         "hasSwitch": owner.switch is not None, "source": owner.source, "patch": patch_text(found.seen, found.plan, owner)}
        for owner in found.in_the_way
    ]  # fmt: skip
    body = {
        "plan": plain(found.plan),
        "checks": checks,
        "inTheWay": in_the_way,
        "refused": [
            *found.against,
            *(f"{owner.kind} {owner.name}: {owner.because}" for owner in found.in_the_way),
        ],
        "passedOver": list(found.passed_over),
        **_tried(found),
        "writes": list(found.writes),
        "limits": found.limits,
    }
    return _written(PREVIEW, body)


def _tried(found: Prepared) -> dict[str, Any]:
    """Today and each candidate on the twin, as `diagnose -o json` has them."""
    if found.replica is None:
        return {"candidates": [], "trials": None}
    trials = found.replica.trials
    steps = [step_json(step, trials) for step in found.replica.next]
    return {"candidates": steps, "trials": trials_json(trials)}


def verification_json(plan: RemedyPlan, outcomes: Mapping[str, Judged], outcome: str) -> str:
    """Return, per replica, whether the promise of the change in force is kept."""
    replicas = [
        {"name": name, "outcome": judged.outcome, "reasons": list(judged.reasons)}
        for name, judged in outcomes.items()
    ]
    return _written(
        VERIFICATION,
        {"incident": plan.id, "change": str(plan.change), "outcome": outcome, "replicas": replicas},
    )


def nothing_in_force_json(why: str) -> str:
    """There is nothing to take back, and why."""
    return _written(PREVIEW, {"plan": None, "why": why, "standing": "healthy", "passedOver": []})


def _verdict(verdict: Verdict) -> dict[str, str]:
    match verdict:
        case Present(because):
            return {"verdict": "holds", "because": because}
        case Absent(because):
            return {"verdict": "refused", "because": because}
        case Unknown(why):
            return {"verdict": "cannot-tell", "because": why}


def _written(kind: str, body: Mapping[str, Any]) -> str:
    return json_text({"apiVersion": API_VERSION, "kind": kind, **body})
