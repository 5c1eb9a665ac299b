"""From a recording to a report: symptoms are judged, causes weigh them, one is named."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple, Protocol, TypeVar

from barostat.core.diagnosis import (
    NOTHING_WRONG,
    CauseName,
    Diagnosis,
    Forecast,
    OtherCause,
    ReplicaReport,
    Report,
    Severity,
    SymptomFinding,
)
from barostat.core.redaction.values import every_text
from barostat.core.shown import ShownReport, safe_texts, shown_report
from barostat.core.symptom import Harm, judge_all
from barostat.core.verdict import Unknown, Verdict
from barostat.core.window import Window
from barostat.judge.diagnosis.at_the_gateway import is_seen, live_steps
from barostat.judge.diagnosis.case import Case, Claim, Cleared, Judgement, Open
from barostat.judge.diagnosis.causes import causes
from barostat.judge.diagnosis.fleet import badness, fleet, with_scope
from barostat.judge.diagnosis.forecast import forecast
from barostat.judge.diagnosis.next_steps import next_steps
from barostat.judge.diagnosis.pair_halves import halves, with_halves
from barostat.judge.diagnosis.trigger import trigger
from barostat.judge.diagnosis.wanted import wanted
from barostat.judge.evidence.assemble import windows
from barostat.judge.evidence.namespace_objects import nearby
from barostat.judge.evidence.recording import Recording, ReplicaRecording
from barostat.platform.pods import engines_in
from barostat.symptoms import symptoms

SURE_ENOUGH = 0.45
"""A claim below this names a suspicion, not a cause."""


ENDED = ("crash-looping", "restarts", "process-ended", "engine-died", "start-cut-short")
FIRST_LOAD_RANK = 30
"""Causes below this rank are failures (a dead card, a refused start), from it on load."""
ENDS = ("log_engine_dead", "log_gpu_program_error")
"""Lines of the current life after which no engine serves."""


T = TypeVar("T")
R = TypeVar("R")


class Each(Protocol):
    """Applies a pure function to every item, perhaps on several cores."""

    def __call__(self, work: Callable[[T], R], items: Sequence[T], /) -> list[R]:
        """Return `work` of each item, in their order."""
        ...


class _Judged(NamedTuple):
    """A replica's report, its texts safe for output, and what it rests on."""

    by_engine: Mapping[str, Window]
    problems: tuple[str, ...]
    report: ReplicaReport
    shown: Window


@dataclass(frozen=True, slots=True)
class Examination:
    """The report with what it rests on. `windows`: by replica, then by engine. `shown`: each
    replica's window that its report is about.
    """

    report: ShownReport
    windows: Mapping[str, Mapping[str, Window]]
    shown: Mapping[str, Window]


def diagnose(recording: Recording) -> ShownReport:
    """The report on every replica of a recording, and on the fleet. Pure: the same recording gives
    the same report.
    """
    return examine(recording).report


def in_order(work: Callable[[T], R], items: Sequence[T]) -> list[R]:
    """Return `work` of each item, one after the other."""
    return [work(item) for item in items]


def examine(recording: Recording, each: Each = in_order) -> Examination:
    """The report and the windows that it was judged from, each made once. `each`: applies a pure
    function to every replica, perhaps on several cores.
    """
    near, safe = nearby(recording), safe_texts()

    def judged(replica: ReplicaRecording) -> _Judged:
        by_engine, problems = windows(near(replica), replica)
        report, shown = _replica(recording, replica, by_engine, problems)
        return _Judged(by_engine, problems, every_text(report, safe), shown)

    found = each(judged, recording.replicas)
    if elsewhere := _sick(one.report for one in found):
        # A gateway's figures are of all replicas: once one of them explains them, they blame
        # nothing before the others.
        for place, (replica, one) in enumerate(zip(recording.replicas, found, strict=True)):
            if one.report.diagnosis.cause == "network-or-gateway":
                again, shown = _replica(recording, replica, one.by_engine, one.problems, elsewhere)
                found[place] = one._replace(report=every_text(again, safe), shown=shown)
    replicas = tuple(one.report for one in found)
    names = [replica.name for replica in recording.replicas]
    half_of = halves(recording, {name: one.shown for name, one in zip(names, found, strict=True)})
    report = Report(
        at=recording.at,
        target=recording.target,
        replicas=with_scope(replicas),
        fleet=with_halves(
            fleet(replicas),
            replicas,
            {
                one.name: half_of[name]
                for name, one in zip(names, replicas, strict=True)
                if name in half_of
            },
        ),
        problems=recording.problems,
        remedies=recording.remedies,
    )
    told = shown_report(report, replicas_are_safe=True)
    return Examination(
        told,
        {name: one.by_engine for name, one in zip(names, found, strict=True)},
        {report.name: one.shown for report, one in zip(told.replicas, found, strict=True)},
    )


def _sick(reports: Iterable[ReplicaReport]) -> str:
    """The replica that is worst off by itself, with its cause; empty if none is."""
    ill = [
        report
        for report in reports
        if report.diagnosis.severity == "critical"
        or (
            report.diagnosis.severity == "warning"
            and report.diagnosis.cause not in ("network-or-gateway", *NOTHING_WRONG)
        )
    ]
    worst = max(ill, key=lambda report: badness(report.diagnosis), default=None)
    if worst is None:
        return ""
    return (
        f"{worst.name} "
        f"({'not well, cause unknown' if worst.diagnosis.cause == 'unknown' else worst.diagnosis.cause})"
    )


def _replica(
    recording: Recording,
    replica: ReplicaRecording,
    by_engine: Mapping[str, Window],
    problems: tuple[str, ...],
    elsewhere: str = "",
) -> tuple[ReplicaReport, Window]:
    """The replica's report and its window: those of its worst engine, where it has several.
    `elsewhere`: as in a Case.
    """
    reports = [(engine, judge_window(window, elsewhere)) for engine, window in by_engine.items()]
    engine, worst = max(reports, key=lambda entry: badness(entry[1].diagnosis))
    same = [name for name, report in reports if report.diagnosis.cause == worst.diagnosis.cause]
    summary = worst.diagnosis.summary
    if len(reports) > 1:
        summary = (
            f"{summary.rstrip('.')} (engine {engine}; {len(same)} of {len(reports)} "
            f"{engines_in(recording.kubernetes, replica.name)} say so)."
        )
    silent = bool(replica.failed_scrapes or replica.scrapes) and not any(
        "kv_usage_ratio" in w.signals for w in by_engine.values()
    )
    report = replace(
        worst,
        diagnosis=replace(worst.diagnosis, summary=summary),
        next=live_steps(worst.next, by_engine[engine]),
        missing=(*recording.missing, *worst.missing),
        problems=(*problems, *worst.problems),
        unreachable=silent and replica.log is None,
    )
    return report, by_engine[engine]


def judge_window(window: Window, elsewhere: str = "") -> ReplicaReport:
    """The report on one engine's window. `elsewhere`: as in a Case."""
    verdicts = judge_all(symptoms(), window)
    case = Case(window, verdicts, elsewhere)
    judged = {cause.name: (cause.rank, cause.judge(case)) for cause in causes()}
    diagnosis, rests_on = choose(judged, case)
    coming = forecast(window)
    if coming.exhaustion_in_s is not None and diagnosis.cause in ("healthy-busy", "healthy-idle"):
        diagnosis = replace(
            diagnosis, severity="warning", summary=f"{diagnosis.summary} {_coming(coming)}"
        )
    diagnosis = replace(diagnosis, trigger=trigger(case, diagnosis.cause))
    steps, refused, crashed = next_steps(diagnosis.cause, diagnosis.variant, window)
    open_causes = [judgement for _, judgement in judged.values() if isinstance(judgement, Open)]
    had_log = any(name.startswith("log_") for name in window.signals)
    told = (("log_",) if had_log else ()) + (("gateway_",) if is_seen(window) else ())
    lacking = [
        name for judgement in open_causes for name in judgement.missing if not name.startswith(told)
    ]
    broken = [
        f"symptom {name}: {v.why}"
        for name, v in verdicts.items()
        if isinstance(v, Unknown) and v.crashed
    ]
    return ReplicaReport(
        name=window.replica,
        engine_version=str(window.version) if window.version is not None else "",
        diagnosis=diagnosis,
        forecast=coming,
        symptoms=tuple(
            SymptomFinding(name, verdicts[name]) for name in _reading_order(verdicts, rests_on)
        ),
        rests_on=tuple(dict.fromkeys(rests_on)),
        contributing=_contributing(judged, diagnosis.cause),
        ruled_out=_ruled_out(judged, diagnosis.cause),
        not_ruled_out=_not_ruled_out(judged, diagnosis.cause),
        missing=wanted(lacking, ended=bool(case.present(*ENDED))),
        next=steps,
        not_advised=refused,
        problems=(*window.config.problems, *broken, *crashed),
    )


def choose(
    judged: Mapping[CauseName, tuple[int, Judgement]], case: Case
) -> tuple[Diagnosis, tuple[str, ...]]:
    """Return the claim with the lowest rank and the symptoms it is based on; unknown if there is
    none.

    An unknown cause still has a severity: an engine that died is critical, whatever the cause.
    """
    claims = [
        (rank, name, claim)
        for name, (rank, claim) in judged.items()
        if isinstance(claim, Claim) and not claim.only_contributes
    ]
    if any((found := case.window.fresh(name)) is not None and found.last > 0 for name in ENDS):
        # load hardly ever ends the core: what the last statistics showed is not what killed it, and
        # nothing is healthy
        claims = [entry for entry in claims if entry[0] < FIRST_LOAD_RANK or entry[2].kills]
    sure = sorted(
        (entry for entry in claims if entry[2].confidence >= SURE_ENOUGH),
        key=lambda entry: (entry[0], -entry[2].confidence),
    )
    if sure:
        _, name, claim = sure[0]
        return Diagnosis(
            name,
            claim.severity,
            round(claim.confidence, 2),
            _sentence(claim.summary),
            claim.variant,
        ), claim.rests_on
    dead = case.harmed(Harm.DEATH)
    seen = (*dead, *case.harmed(Harm.PLAIN))
    if seen:
        seen = (*case.present("engine-asleep"), *seen)
    severity: Severity = "critical" if dead else "warning" if seen else "info"
    if weak := sorted(claims, key=lambda entry: -entry[2].confidence):
        _, name, claim = weak[0]
        return Diagnosis(
            "unknown",
            severity,
            0.0,
            f"Cannot tell. The nearest is {name}, on weak evidence: {_sentence(claim.summary)}",
        ), claim.rests_on
    if seen:
        return Diagnosis(
            "unknown",
            severity,
            0.0,
            f"Cannot tell why, but this is plain: {case.because(*seen[:2])}.",
        ), seen
    if any(
        isinstance(judgement, Open) for name, (_, judgement) in judged.items() if name != "unknown"
    ):
        return Diagnosis(
            "unknown",
            severity,
            0.0,
            "Cannot tell: what was measured carries no cause, and much was not measured.",
        ), ()
    return Diagnosis(
        "unknown", severity, 0.0, "Cannot tell: everything was looked at and nothing explains it."
    ), ()


def _sentence(text: str) -> str:
    """The text with one full stop: what it quotes may end in its own, or be cut off."""
    bare = text.rstrip(".")
    return bare if bare.endswith("…") else f"{bare}."


def _contributing(
    judged: dict[CauseName, tuple[int, Judgement]], chosen: CauseName
) -> tuple[str, ...]:
    """Other causes that claim as well, lowest rank first; being healthy contributes nothing."""
    others = [
        (rank, name, claim)
        for name, (rank, claim) in judged.items()
        if isinstance(claim, Claim) and name != chosen and not name.startswith("healthy")
    ]
    return tuple(
        f"{name}: {_sentence(claim.summary)}"
        for _, name, claim in sorted(others, key=lambda entry: (entry[0], entry[1]))
    )


def _ruled_out(
    judged: dict[CauseName, tuple[int, Judgement]], chosen: CauseName
) -> tuple[OtherCause, ...]:
    """Every cause that the evidence clears, in the order in which one would think of them."""
    cleared = [
        (rank, name, judgement.because)
        for name, (rank, judgement) in judged.items()
        if isinstance(judgement, Cleared)
        and name != chosen
        and not (chosen.startswith("healthy") and name.startswith("healthy"))
    ]
    # Beside a failure one thinks of other failures first, beside pressure of other pressure; a sick
    # card looks like pressure.
    failed = chosen in judged and judged[chosen][0] < FIRST_LOAD_RANK and chosen != "node-fault"
    plausible = sorted(
        cleared, key=lambda entry: ((entry[0] < FIRST_LOAD_RANK) is not failed, entry[0], entry[1])
    )
    return tuple(OtherCause(name, because) for _, name, because in plausible if because)


def _not_ruled_out(
    judged: dict[CauseName, tuple[int, Judgement]], chosen: CauseName
) -> tuple[OtherCause, ...]:
    """Kinds of load that come before the chosen one and that nothing clears; nothing if none is
    chosen, or all is well.
    """
    if chosen == "unknown" or chosen.startswith("healthy"):
        return ()
    found = sorted(
        (rank, name, judgement.why)
        for name, (rank, judgement) in judged.items()
        if isinstance(judgement, Open)
    )
    return tuple(
        OtherCause(name, why)
        for rank, name, why in found
        if FIRST_LOAD_RANK <= rank < judged[chosen][0]
    )


def _reading_order(verdicts: Mapping[str, Verdict], rests_on: tuple[str, ...]) -> list[str]:
    """Names of symptoms: those that carry the cause first, then by name."""
    first = [name for name in rests_on if name in verdicts]
    return first + [name for name in sorted(verdicts) if name not in first]


def _coming(coming: Forecast) -> str:
    return f"But the pool will be full in about {coming.exhaustion_in_s:.0f} s: {coming.because}."
