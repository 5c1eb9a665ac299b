"""`barostat incident review`: as a document, and as data."""

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
from barostat.shells.reports.api_version import API_VERSION
from barostat.shells.reports.sheet.blocks import (
    Block,
    Document,
    Facts,
    Footer,
    Heading,
    Items,
    Listing,
    Only,
    Table,
    Verdict,
)

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


def review_document(review: Review) -> Document:
    """Return the conclusions, then the incidents; in a terminal one block per incident."""
    said = conclusions(review)
    rows = [_row(one) for one in review.incidents]
    blocks: list[Block] = [
        Heading("incident review", "Incident review", _span(review)),
        _verdict(review),
        Items(said[1:]),
    ]
    if rows:
        each = [Facts(list(zip(_HEAD, row, strict=True))) for row in rows]
        blocks += [
            Only(("html", "markdown"), [Table([_HEAD, *rows], range(len(_HEAD)))]),
            Only(("terminal",), each),
        ]
    blocks += [
        Listing("Not read", review.problems),
        Footer("the same as data: barostat incident review -o json"),
    ]
    return Document("Incident review", blocks)


def _span(review: Review) -> str:
    return f"{rfc3339(review.since)} to {rfc3339(review.until)}"


def _verdict(review: Review) -> Verdict:
    """How much harm there was, and whether what was proposed would make it worse."""
    (first, *_) = conclusions(review)
    if not review.incidents:
        return Verdict("none", "OK", first)
    if any(_plan(one).effect == "harms" for one in review.incidents if one.is_tried):
        return Verdict("critical", "HARMS", first)
    return Verdict("warning", "HARM", first)


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
    """Return the conclusions on the observed period: the amount of harm, then one sentence per
    conclusion.
    """
    found = review.incidents
    if not found:
        return ["no incident"]
    said = [f"{many(len(found), 'incident')}, {ago(review.harmed_s)} of harm"]
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
