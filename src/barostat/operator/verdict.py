"""From an examination of one workload to what the operator's decisions rest on."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from barostat.core.diagnosis import Diagnosis, Expected, ReplicaReport
from barostat.core.limits import ServiceLevel
from barostat.core.verdict import Present
from barostat.core.window import Window
from barostat.judge.advice.change_text import as_written
from barostat.judge.advice.tried_steps import NOT_MODELLED, with_trials
from barostat.judge.diagnosis.diagnose import Examination
from barostat.judge.diagnosis.fleet import badness
from barostat.judge.evidence.recording import Recording
from barostat.operator.incident import (
    MOST_ROWS,
    EvidenceRow,
    Figures,
    IncidentPlan,
    TwinFigures,
    rfc3339,
)
from barostat.operator.step import Harm
from barostat.twin.summary import Slo

_HARMFUL = ("warning", "critical")
_SUMS = {
    "running_requests": "running_requests",
    "waiting_requests": "waiting_requests",
    "preempted_per_second": "preemptions_per_s",
    "output_tokens_per_second": "generation_tokens_per_s",
}
_HIGHEST = {
    "kv_usage_ratio": "kv_usage_ratio",
    "ttft_p99_seconds": "ttft_p99_s",
    "itl_p99_seconds": "itl_p99_s",
}


def harm_of(examined: Examination, *, was_tried: bool = False) -> Harm | None:
    """The harm that the examination shows; None if there is no harm, or it is unknown. `was_tried`:
    the examination is one of `tried`.

    A healthy engine whose pool will be full is not harmed yet: that is a prediction.
    """
    replicas = [one for one in examined.report.replicas if _harmful(one.diagnosis)]
    if not replicas:
        return None
    worst = max(replicas, key=lambda one: badness(one.diagnosis))
    diagnosis = worst.diagnosis
    alike = tuple(one.name for one in replicas if one.diagnosis.cause == diagnosis.cause)
    return Harm(
        diagnosis.cause,
        "critical" if diagnosis.severity == "critical" else "warning",
        diagnosis.summary,
        diagnosis.variant,
        alike,
        _evidence(worst),
        _first_step(worst, was_tried=was_tried),
    )


def verdict_of(examined: Examination) -> str:
    """The diagnosis of the workload in a sentence."""
    found = examined.report.fleet
    return f"{found.cause}: {found.summary}"


def judged(examined: Examination) -> bool:
    """True if something could be concluded of at least one replica."""
    return any(
        one.diagnosis.cause != "unknown" or one.diagnosis.severity == "critical"
        for one in examined.report.replicas
    )


def _harmful(diagnosis: Diagnosis) -> bool:
    return diagnosis.severity in _HARMFUL and not diagnosis.cause.startswith("healthy")


def _evidence(report: ReplicaReport) -> tuple[EvidenceRow, ...]:
    """Return the evidence of the diagnosis, the strongest symptom first, each signal once."""
    found: dict[str, EvidenceRow] = {}
    for symptom in report.symptoms:
        if symptom.name in report.rests_on and isinstance(symptom.verdict, Present):
            for row in symptom.verdict.evidence:
                made = EvidenceRow(row.signal, f"{row.value:.4g} {row.unit}", row.source, row.note)
                found.setdefault(row.signal, made)
    return tuple(found.values())[:MOST_ROWS]


def _first_step(report: ReplicaReport, *, was_tried: bool) -> IncidentPlan | None:
    if not report.next:
        return None
    first = report.next[0]
    plan = IncidentPlan(first.lever, str(as_written(first.change)), str(first.because))
    if not was_tried:
        return plan
    trials = report.trials
    if trials is None or trials.today is None or first.forecast is None:
        why = first.untried or (trials.why_not if trials is not None else "")
        return replace(plan, not_tried=str(why or NOT_MODELLED))
    return replace(
        plan,
        effect=first.forecast.effect,
        unchanged=_twin_figures(trials.today),
        changed=_twin_figures(first.forecast.expected),
    )


def _twin_figures(expected: Expected) -> TwinFigures:
    def shown(value: float | None) -> str:
        return "" if value is None else f"{value:.4g}"

    return TwinFigures(
        shown(expected.preempted_per_s),
        shown(expected.output_tokens_per_s),
        shown(expected.ttft_p99_s),
        shown(expected.itl_p99_s),
        shown(expected.refused_ratio),
    )


def tried(examined: Examination, recording: Recording, slo: ServiceLevel) -> Examination:
    """The examination with its next steps tried on the twin: up to two seconds of one core."""
    return with_trials(examined, recording, Slo(slo.ttft_p99_seconds, slo.itl_p99_seconds))


def figures_of(windows: Iterable[Window], at: float) -> Figures:
    """Return the figures over all replicas: sums, and the maximum of quantities that cannot be
    summed.
    """
    own = list(windows)
    made = {
        **{name: _of(own, signal, sum) for name, signal in _SUMS.items()},
        **{name: _of(own, signal, max) for name, signal in _HIGHEST.items()},
    }
    return Figures(at=rfc3339(at), **made)


def _of(windows: list[Window], signal: str, combine: object) -> str:
    values = [found.last for window in windows if (found := window.fresh(signal)) is not None]
    return f"{combine(values):.4g}" if values else ""  # type: ignore[operator]
