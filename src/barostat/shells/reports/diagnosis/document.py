"""The diagnosis for a tired person: what it is, why, what it is not, what to do.

One document for every form. `short`, as a terminal shows it, has the worst replica and the first of
each list. Else every replica and all that was found; a page folds its readings away and draws the
signals over time.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import TypeVar

from barostat.core.diagnosis import NextStep, ReplicaReport, SymptomFinding, Trials
from barostat.core.shown import ShownReport
from barostat.core.units import many
from barostat.core.verdict import Absent, Present
from barostat.core.window import Window
from barostat.judge.advice.change_text import as_written
from barostat.judge.advice.remedy_text import remedy_words
from barostat.shells.reports.diagnosis.forecasts import (
    PLAIN,
    effect_words,
    numbered_rows,
    rows,
    trials_words,
)
from barostat.shells.reports.diagnosis.headline import WORDS, cause_words, sure, verdict
from barostat.shells.reports.diagnosis.in_full import (
    by_reason,
    evidence_words,
    readings,
    reasons_once,
)
from barostat.shells.reports.diagnosis.not_measured import not_measured
from barostat.shells.reports.diagnosis.window import drawings, measured, tiles
from barostat.shells.reports.sheet.blocks import (
    BREAK,
    Badge,
    Beside,
    Block,
    Document,
    Facts,
    Folded,
    Footer,
    Heading,
    Inline,
    Item,
    Items,
    Listing,
    Only,
    Paragraph,
    Section,
    Table,
    Text,
    bold,
    code,
    named,
    soft,
    tag,
)
from barostat.shells.reports.sheet.scale import duration

SHORT_REFUSED = 3
_SHORT_RULED_OUT = 4
_SHORT_EVIDENCE = 5
_SHORT_STEPS = 4
_SHORT_MISSING = 4
_MOST_NAMES = 16
_Listed = TypeVar("_Listed")


def report_document(
    report: ShownReport, windows: Mapping[str, Window] | None = None, *, short: bool = False
) -> Document:
    """Return the report. `windows`: what each replica's report rests on, by the replica's name; one
    without gets no drawings.
    """
    at = datetime.fromtimestamp(report.at, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
    when = [at] if report.at else []
    notes = [
        *(
            Paragraph(
                (
                    bold("Former version kept" if r.warm_until else "Remedy under way"),
                    f": {remedy_words(r)}",
                )
            )
            for r in report.remedies
        ),
        *(Paragraph(f"Note: {problem}", "soft") for problem in report.problems),
    ]
    parts: list[Block]
    if len(report.replicas) == 1:
        (replica,) = report.replicas
        about = _about(replica, report.target)
        window = (windows or {}).get(replica.name)
        parts = [*notes, *replica_blocks(replica, window, short=short, heading=False)]
    else:
        about = f"{len(report.replicas)} replicas"
        parts = [*notes, verdict(report.fleet), _replicas(report)]
        shown = _worst(report) if short else report.replicas
        for one in shown:
            below = replica_blocks(one, (windows or {}).get(one.name), short=short, heading=False)
            parts.append(Section(_about(one), below, apart=True))
        if short:
            parts += _hidden(report, len(shown))
    return Document(
        f"Barostat: {report.target}",
        [
            Heading("diagnose", report.target, " · ".join([about, *when])),
            *parts,
            Footer("the same as data: barostat diagnose -o json"),
        ],
        titles="beside",
    )


def _worst(report: ShownReport) -> Sequence[ReplicaReport]:
    """The first replica that is as bad as the whole, for the same cause."""
    if report.fleet.severity == "none":
        return ()
    cause, severity = report.fleet.cause, report.fleet.severity
    as_bad = (
        one
        for one in report.replicas
        if (one.diagnosis.cause, one.diagnosis.severity) == (cause, severity)
    )
    return [*as_bad][:1]


def _hidden(report: ShownReport, shown: int) -> list[Block]:
    sick = sum(one.diagnosis.severity != "none" for one in report.replicas) - shown
    if sick <= 0:
        return []
    verb = "is" if sick == 1 else "are"
    return [
        Paragraph(f"{many(sick, 'more replica')} {verb} not healthy: -o wide shows each.", "soft")
    ]


def _about(replica: ReplicaReport, target: str = "") -> str:
    """Its name, if that is not the target's, and its version."""
    version = replica.engine_version
    engine = f"vLLM {version}" if version else "vLLM, version not known"
    return engine if replica.name == target else f"{replica.name} · {engine}"


def _replicas(report: ShownReport) -> Table:
    shown: list[Sequence[Text]] = [("replica", "", "cause", "sure", "trigger")]
    for replica in report.replicas:
        found = replica.diagnosis
        badge = (Badge(WORDS[found.severity], found.severity),)
        trigger = found.trigger.kind if found.trigger else ""
        shown.append((replica.name, badge, cause_words(found), sure(found), trigger))
    return Table(shown, (0, 1, 2, 4), first_to_go=(4, 3))


def replica_blocks(
    replica: ReplicaReport,
    window: Window | None,
    marks: tuple[tuple[float, str], ...] = (),
    *,
    short: bool = False,
    heading: bool = True,
) -> list[Block]:
    """Return the blocks on one replica. `marks`: instants (unix seconds) to show; `heading`: with
    its name and version.
    """
    found: list[Block] = [Paragraph(_about(replica), "soft")] if heading else []
    found += [verdict(replica.diagnosis), Facts(_ahead(replica))]
    if window is not None:
        found.append(Only(("html",), [tiles(window), drawings(window, replica.diagnosis, marks)]))
    said = {one.verdict.because for one in replica.symptoms if isinstance(one.verdict, Present)}
    return [
        *found,
        Beside(_reasons(replica, said, short=short), _steps(replica, short=short)),
        *_forecasts(replica, window, _SHORT_STEPS if short else len(replica.next)),
        *_beyond(replica, said, short=short),
    ]


def _present(replica: ReplicaReport) -> list[SymptomFinding]:
    return [finding for finding in replica.symptoms if isinstance(finding.verdict, Present)]


def _ahead(replica: ReplicaReport) -> list[tuple[str, str]]:
    found = []
    trigger, full_in_s = replica.diagnosis.trigger, replica.forecast.exhaustion_in_s
    if trigger and trigger.detail not in replica.diagnosis.summary:
        found.append(("Trigger", f"{trigger.kind}: {trigger.detail}"))
    if full_in_s is not None:
        because = replica.forecast.because
        found.append(("Forecast", f"KV pool full in about {duration(full_in_s)}: {because}"))
    return found


def _reasons(replica: ReplicaReport, said: set[str], *, short: bool) -> list[Block]:
    """Return the reasons for the cause and the causes ruled out."""
    present = _present(replica)
    carrying = [finding for finding in present if finding.name in replica.rests_on]
    also = [] if short else [finding for finding in present if finding not in carrying]
    return [
        Listing("Why", [_finding(one) for one in _first(carrying, _SHORT_EVIDENCE, short=short)]),
        Listing("Also seen", [_finding(one) for one in also]),
        Listing("Contributing", replica.contributing),
        *_ruled_out(replica, said, short=short),
        Listing("Not ruled out", [named(one.cause, one.because) for one in replica.not_ruled_out]),
    ]


def _ruled_out(replica: ReplicaReport, said: set[str], *, short: bool) -> list[Block]:
    reasons = [(one.cause, one.because) for one in replica.ruled_out]
    in_full = Listing("Ruled out", [named(*row) for row in reasons])
    if short:
        return [Listing("Ruled out", in_full.items[:_SHORT_RULED_OUT])]
    once = Listing("Ruled out", _once(reasons, said))
    return [Only(("html", "markdown"), [in_full]), Only(("terminal",), [once])]


def _first(listed: Sequence[_Listed], most: int, *, short: bool) -> Sequence[_Listed]:
    return listed[:most] if short else listed


def _finding(finding: SymptomFinding) -> Item:
    found = finding.verdict
    assert isinstance(found, Present)
    evidence = Items([evidence_words(item) for item in found.evidence])
    below = [Only(("html",), [Folded("evidence", [evidence])]), Only(("markdown",), [evidence])]
    return Item(named(finding.name, found.because), below if evidence.items else ())


def _once(reasons: Sequence[tuple[str, str]], said: set[str]) -> list[Text]:
    """What is not the case and why; those of which nothing was seen by their names or, where these
    are many, their number.
    """
    told, names = reasons_once(reasons, said)
    if len(names) > _MOST_NAMES:
        names = [f"{len(names)} more, which -o json names"]
    rest = f"{'nor a sign of ' if told else 'no sign of '}{', '.join(names)}"
    return [*(named(*row) for row in told), *([rest] if names else [])]


def _steps(replica: ReplicaReport, *, short: bool) -> list[Block]:
    steps = _first(replica.next, _SHORT_STEPS, short=short)
    refused = _first(replica.not_advised, SHORT_REFUSED, short=short)
    return [
        Listing("Next steps", [_step(step, replica.trials) for step in steps], numbered=True),
        Listing("Don't", [named(names, because) for names, because in by_reason(refused)]),
    ]


def _step(step: NextStep, trials: Trials | None) -> Text:
    """The change, what it costs, why this one, what it is forecast to bring."""
    cost = "live, at your gateway" if step.lever.startswith("edge-") else "live"
    effect = effect_words(step, trials)
    below: tuple[Inline, ...] = (BREAK, soft(effect)) if effect else ()
    written = code(str(as_written(step.change)))
    asked = tag("restarts the engine" if step.restarts else cost)
    return (f"{step.lever}: ", written, " ", asked, BREAK, str(step.because), *below)


def _forecasts(replica: ReplicaReport, window: Window | None, steps: int) -> list[Block]:
    """The next steps beside what was measured and today on the twin; or why there were no trials.
    In a terminal the first so many steps, by their numbers.
    """
    told = [Paragraph(line, "soft") for line in trials_words(replica.next, replica.trials)]
    compared = [
        (name if name in PLAIN else (code(name),), beside_today, *figures)
        for name, *figures, beside_today in rows(replica, measured(window))
    ]
    if not compared:
        return [Section("Forecast", told, small=True)]
    numbered = Table(numbered_rows(replica, steps))
    tables = [
        Only(("html", "markdown"), [Table(compared, (0, 1))]),
        Only(("terminal",), [numbered]),
    ]
    return [Section("Forecast", [*tables, *told[1:]], small=True)]


def _beyond(replica: ReplicaReport, said: set[str], *, short: bool) -> list[Block]:
    """Return missing data, what was not checked, and how to get more."""
    missing = Listing("Missing data", _first(replica.missing, _SHORT_MISSING, short=short))
    notes = Listing("Notes", replica.problems)
    if short:
        cause = replica.diagnosis.cause
        more = f"Full report: -o wide. About a name: barostat explain {cause}"
        return [*([missing] if cause == "unknown" else []), notes, Paragraph(more, "soft")]
    absent = [
        (one.name, one.verdict.because)
        for one in replica.symptoms
        if isinstance(one.verdict, Absent)
    ]
    sources = [f"{source}: {values}" for source, values in readings(_present(replica))]
    untold = not_measured(replica.symptoms)
    return [
        missing,
        notes,
        Only(
            ("terminal",),
            [
                Listing("Measured", sources),
                Listing("Not measured", ["; ".join(untold)] if untold else []),
                Listing("Absent", _once(absent, said)),
            ],
        ),
        Only(("html",), [Folded("Not checked", [Items(untold)])] if untold else []),
    ]
