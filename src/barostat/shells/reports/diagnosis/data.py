"""The diagnosis as data: the stable, versioned JSON contract."""

from __future__ import annotations

from typing import Any

from barostat.core.diagnosis import (
    Diagnosis,
    Expected,
    NextStep,
    ReplicaReport,
    RunningRemedy,
    StepForecast,
    SymptomFinding,
    Trials,
)
from barostat.core.shown import ShownReport
from barostat.core.verdict import Absent, Evidence, Present, Unknown
from barostat.judge.advice.change_text import as_set_option, as_written, price_of, summary_of
from barostat.shells.reports.api_version import API_VERSION


def report_json(report: ShownReport) -> dict[str, Any]:
    """`kind: DiagnosisReport` as plain data, keys in reading order."""
    return {
        "apiVersion": API_VERSION,
        "kind": "DiagnosisReport",
        "at": round(report.at, 3),
        "target": report.target,
        "fleet": {"diagnosis": _diagnosis(report.fleet)},
        "replicas": [_replica(replica) for replica in report.replicas],
        "remedies": [_remedy(remedy) for remedy in report.remedies],
        "problems": list(report.problems),
    }


def _remedy(remedy: RunningRemedy) -> dict[str, Any]:
    return {
        "incident": remedy.incident,
        "target": remedy.target,
        "phase": remedy.phase or None,
        "change": remedy.change or None,
        "holder": remedy.holder or None,
        "pods": [{"name": name, "role": role} for name, role in remedy.pods],
        "limits": [
            {
                "gateway": held.gateway,
                "name": held.name,
                "value": held.value,
                "leaseSeconds": held.lease_s,
            }
            for held in remedy.limits
        ],
        "warmUntil": remedy.warm_until or None,
    }


def _replica(replica: ReplicaReport) -> dict[str, Any]:
    return {
        "name": replica.name,
        "engine": {"name": "vllm", "version": replica.engine_version or None},
        "diagnosis": _diagnosis(replica.diagnosis),
        "forecast": {
            "exhaustionInSeconds": None
            if replica.forecast.exhaustion_in_s is None
            else round(replica.forecast.exhaustion_in_s, 1),
            "because": replica.forecast.because,
        },
        "restsOn": list(replica.rests_on),
        "contributing": list(replica.contributing),
        "ruledOut": [{"cause": item.cause, "because": item.because} for item in replica.ruled_out],
        "notRuledOut": [
            {"cause": item.cause, "because": item.because} for item in replica.not_ruled_out
        ],
        "symptoms": [_symptom(finding) for finding in replica.symptoms],
        "missing": list(replica.missing),
        "next": [step_json(step, replica.trials) for step in replica.next],
        "trials": trials_json(replica.trials),
        "notAdvised": [step_json(step, replica.trials) for step in replica.not_advised],
        "problems": list(replica.problems),
    }


def _diagnosis(diagnosis: Diagnosis) -> dict[str, Any]:
    trigger = diagnosis.trigger
    return {
        "cause": diagnosis.cause,
        "variant": diagnosis.variant or None,
        "severity": diagnosis.severity,
        "confidence": round(diagnosis.confidence, 2),
        "scope": diagnosis.scope,
        "trigger": None if trigger is None else {"kind": trigger.kind, "detail": trigger.detail},
        "summary": diagnosis.summary,
    }


def _symptom(finding: SymptomFinding) -> dict[str, Any]:
    match finding.verdict:
        case Present(because, evidence, confidence):
            return {
                "name": finding.name,
                "verdict": "Present",
                "confidence": round(confidence, 2),
                "evidence": [_evidence(item) for item in evidence],
                "reason": because,
            }
        case Absent(because, evidence):
            return {
                "name": finding.name,
                "verdict": "Absent",
                "evidence": [_evidence(item) for item in evidence],
                "reason": because,
            }
        case Unknown(why, missing, _):
            return {
                "name": finding.name,
                "verdict": "Unknown",
                "evidence": [],
                "reason": why,
                "missing": list(missing),
            }


def _evidence(item: Evidence) -> dict[str, Any]:
    return {
        "signal": item.signal,
        "value": round(item.value, 6),
        "unit": item.unit,
        "ageSeconds": round(item.age_s, 1),
        "source": item.source,
        "note": item.note,
    }


def trials_json(found: Trials | None) -> dict[str, Any] | None:
    """Return the basis of the order of next steps as plain data."""
    if found is None:
        return None
    return {
        "today": _expected(found.today),
        "told": str(found.basis),
        "whyNot": str(found.why_not) or None,
        "assumptions": [str(one) for one in found.assumptions],
        "startSeconds": None if found.start_s is None else round(found.start_s, 1),
    }


def step_json(step: NextStep, trials: Trials | None) -> dict[str, Any]:
    """One next step with its forecast and its price."""
    forecast = step.forecast
    return {
        "lever": step.lever,
        "change": str(as_written(step.change)),
        "because": str(step.because),
        "restarts": step.restarts,
        "set": None if forecast is None else str(as_set_option(step.change)),
        "expected": None if forecast is None else _expected(forecast.expected),
        "effect": None if forecast is None else forecast.effect,
        "told": None if forecast is None else str(summary_of(forecast)),
        "price": None if forecast is None or trials is None else str(price_of(step, trials)),
        "untried": str(step.untried) or None,
        "between": _between(forecast),
    }


def _between(forecast: StepForecast | None) -> dict[str, Any] | None:
    if forecast is None or forecast.between is None:
        return None
    least, most = forecast.between
    return {"least": _expected(least), "most": _expected(most)}


def _expected(found: Expected | None) -> dict[str, Any] | None:
    if found is None:
        return None
    return {
        "outputTokensPerSecond": _short(found.output_tokens_per_s), "ttftMeanSeconds": _short(found.ttft_mean_s),
        "ttftP99Seconds": _short(found.ttft_p99_s), "itlMeanSeconds": _short(found.itl_mean_s), "itlP99Seconds": _short(found.itl_p99_s),
        "preemptionsPerSecond": _short(found.preempted_per_s), "refusedRatio": _short(found.refused_ratio),
    }  # fmt: skip


def _short(value: float | None) -> float | None:
    return None if value is None else float(f"{value:.4g}")
