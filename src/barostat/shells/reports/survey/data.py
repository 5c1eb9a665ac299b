"""The survey as data: the stable, versioned JSON contract."""

from __future__ import annotations

from typing import Any

from barostat.judge.survey.survey import Survey, SurveyedEngine
from barostat.lint.rule import Finding
from barostat.shells.reports.api_version import API_VERSION


def survey_json(survey: Survey) -> dict[str, Any]:
    """`kind: Survey` as plain data, the worst engine first."""
    return {
        "apiVersion": API_VERSION,
        "kind": "Survey",
        "at": round(survey.at, 3),
        "target": survey.target,
        "costPerHour": _rounded(survey.cost_per_hour, 4),
        "engines": [_engine(one) for one in survey.engines],
        "notRead": list(survey.not_read),
    }


def _engine(one: SurveyedEngine) -> dict[str, Any]:
    report, diagnosis = one.report, one.report.diagnosis
    workload = one.workload
    return {
        "name": report.name,
        "workload": None
        if workload is None
        else {"kind": workload.kind, "name": workload.name, "namespace": workload.namespace},
        "engineVersion": report.engine_version or None,
        "unreachable": report.unreachable,
        "cause": diagnosis.cause,
        "variant": diagnosis.variant,
        "severity": diagnosis.severity,
        "confidence": round(diagnosis.confidence, 3),
        "summary": diagnosis.summary,
        "exhaustionInSeconds": _rounded(report.forecast.exhaustion_in_s, 1),
        "kv": {
            "usedRatio": _rounded(one.used_ratio, 4),
            "poolTokens": _rounded(one.pool_tokens, 0),
            "freeTokens": _rounded(one.free_tokens, 0),
        },
        "runningRequests": _rounded(one.running, 1),
        "waitingRequests": _rounded(one.waiting, 1),
        "rollout": {"outcome": one.rollout.outcome, "because": one.rollout.because},
        "checked": one.is_checked,
        "unsafe": [_finding(found) for found in one.unsafe],
        "missingLimits": [_finding(found) for found in one.missing_limits],
        "gpus": one.gpus,
        "gpu": one.gpu or None,
        "gpuNote": one.gpu_note or None,
        "costPerHour": _rounded(one.cost_per_hour, 4),
    }


def _finding(found: Finding) -> dict[str, Any]:
    return {"rule": found.rule, "severity": found.severity, "message": found.message}


def _rounded(value: float | None, digits: int) -> float | None:
    return None if value is None else round(value, digits)
