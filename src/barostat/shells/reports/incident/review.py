"""`barostat incident review`: for a terminal, for a ticket, as data."""

from __future__ import annotations

from typing import Any

from barostat.core.redaction.credentials import clean
from barostat.core.redaction.values import every_text
from barostat.core.units import many
from barostat.core.visible import one_line
from barostat.operator.incident import IncidentPlan, TwinFigures, as_document, rfc3339
from barostat.operator.review import ManualAction, Review, ReviewedIncident
from barostat.operator.step import key_of
from barostat.platform.objects import ago
from barostat.shells.reports.aligned import aligned
from barostat.shells.reports.api_version import API_VERSION
from barostat.shells.reports.wrapped import paragraph, terminal_width

_HEAD = ("Began", "Harm", "Workload", "Cause", "Ended", "Would change", "On the twin", "By hand")
_ENDED = {"Healed": "by a remedy", "Recovered": "by itself"}
_FIGURES = (
    ("preemptions/s", "preempted_per_second"),
    ("output tokens/s", "output_tokens_per_second"),
    ("TTFT p99 s", "ttft_p99_seconds"),
    ("ITL p99 s", "itl_p99_seconds"),
)


def shown(review: Review) -> Review:
    """The review as it may leave: each text on one line and without credentials."""
    return every_text(review, lambda text: one_line(clean(text)))


def text(review: Review) -> str:
    """For a terminal: what to conclude first, then a block for each incident."""
    width = terminal_width()
    lines = [line for said in conclusions(review) for line in paragraph(said, "", width)]
    for one in review.incidents:
        row = _row(one)
        lines += ["", *aligned(list(zip(_HEAD, row, strict=True)))]
    lines += [
        line for said in review.problems for line in paragraph(f"not read: {said}", "", width)
    ]
    return "\n".join(lines)


def markdown(review: Review) -> str:
    """For a ticket."""
    lines = ["## Incident review", ""]
    lines += [f"- {said}" for said in conclusions(review)]
    if review.incidents:
        table = [_HEAD, tuple("---" for _ in _HEAD), *(_row(one) for one in review.incidents)]
        lines += ["", *("| " + " | ".join(map(_cell, row)) + " |" for row in table)]
    if review.problems:
        lines += ["", "### Not read", "", *(f"- {said}" for said in review.problems)]
    return "\n".join(lines)


def review_json(review: Review) -> dict[str, Any]:
    """`kind: IncidentReview` as plain data."""
    return {
        "apiVersion": API_VERSION,
        "kind": "IncidentReview",
        "since": rfc3339(review.since),
        "until": rfc3339(review.until),
        "harmSeconds": round(review.harmed_s, 1),
        "avoidableSeconds": round(review.avoidable_s, 1),
        "incidents": [_document(one) for one in review.incidents],
        "notRead": list(review.problems),
    }


def conclusions(review: Review) -> list[str]:
    """What the time of observing comes to, a sentence each."""
    found = review.incidents
    span = f"{rfc3339(review.since)} to {rfc3339(review.until)}"
    if not found:
        return [f"{span}: no incident."]
    said = [f"{span}: {many(len(found), 'incident')}, {ago(review.harmed_s)} of harm."]
    tried = [one for one in found if one.is_tried]
    helps = [one for one in tried if one.would_help]
    if tried:
        said.append(
            f"The proposed change was tried on the twin in {len(tried)} of {len(found)}: it helps in "
            f"{len(helps)} ({ago(review.avoidable_s)} of the harm)."
        )
    if harmful := [one for one in tried if _plan(one).effect == "harms"]:
        names = ", ".join(one.incident.name for one in harmful[:5])
        said.append(f"It does harm in {len(harmful)}: {names}. Do not allow `act` there.")
    if untried := [one for one in found if not one.is_tried]:
        why = dict.fromkeys(_plan(one).not_tried or "no plan was tried" for one in untried)
        said.append(f"Not tried in {len(untried)}: {'; '.join(list(why)[:3])}.")
    manual = [action for one in found for action in one.by_hand]
    if manual:
        done = sum(action.phase == "Done" for action in manual)
        said.append(f"By hand: {many(len(manual), 'change')}, of which {done} verified.")
    return said


def _plan(one: ReviewedIncident) -> IncidentPlan:
    return one.incident.status.plan or IncidentPlan("", "")


def _row(one: ReviewedIncident) -> tuple[str, ...]:
    incident, plan = one.incident, _plan(one)
    return (
        incident.spec.first_harm_at,
        ago(one.for_s),
        str(key_of(incident)),
        f"{incident.status.cause or incident.spec.cause} ({incident.spec.severity})",
        _ENDED.get(incident.status.phase, "still open"),
        plan.change or "nothing proposed",
        _on_the_twin(plan),
        "; ".join(map(_by_hand, one.by_hand)) or "nothing",
    )


def _on_the_twin(plan: IncidentPlan) -> str:
    if not plan.effect:
        return f"not tried: {plan.not_tried}" if plan.not_tried else "not tried"
    before, after = plan.unchanged or TwinFigures(), plan.changed or TwinFigures()
    figures = [
        f"{name} {getattr(before, field)} -> {getattr(after, field)}"
        for name, field in _FIGURES
        if getattr(before, field) and getattr(after, field)
    ]
    return f"{plan.effect}: {', '.join(figures)}" if figures else plan.effect


def _by_hand(action: ManualAction) -> str:
    why = f" ({action.why})" if action.why else ""
    return f"{action.record}: {action.change}: {action.phase}{why}"


def _cell(text_: str) -> str:
    return text_.replace("|", "\\|")


def _document(one: ReviewedIncident) -> dict[str, Any]:
    incident = one.incident
    plan = incident.status.plan
    return {
        "namespace": incident.namespace,
        "name": incident.name,
        "workload": {"kind": incident.spec.target_ref.kind, "name": incident.spec.target_ref.name},
        "cause": incident.status.cause or incident.spec.cause,
        "severity": incident.spec.severity,
        "firstHarmAt": incident.spec.first_harm_at,
        "endedAt": incident.status.ended_at,
        "harmSeconds": round(one.for_s, 1),
        "phase": incident.status.phase,
        "summary": incident.status.summary,
        "plan": None if plan is None else as_document(plan),
        "wouldHelp": one.would_help if one.is_tried else None,
        "byHand": [
            {
                "record": action.record,
                "at": rfc3339(action.at),
                "change": action.change,
                "phase": action.phase,
                "why": action.why,
            }
            for action in one.by_hand
        ],
    }
