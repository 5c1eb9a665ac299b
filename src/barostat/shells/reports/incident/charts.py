"""What was measured in an incident, as drawings over its time with the phases behind, and as a
table: before the change and after it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from barostat.catalog.settings.table import canonical_name
from barostat.core.change import Expect
from barostat.judge.mitigation.measurements import Look
from barostat.remedy.plan import RemedyPlan
from barostat.remedy.state import State
from barostat.shells.reports.sheet.blocks import Block, Charts, Inline, Paragraph, bold
from barostat.shells.reports.sheet.charts import Band, Chart, Line, Span
from barostat.shells.reports.sheet.drawing import Entry
from barostat.shells.reports.sheet.scale import duration, percent, plain

Words = Callable[[float], str]
QUANTITIES: tuple[tuple[str, Words, str, str], ...] = (
    ("KV usage", percent, "kv_usage_ratio", ""),
    ("Preemptions per second", plain, "preemptions_per_s", ""),
    ("Running requests", plain, "running_requests", ""),
    ("Waiting requests", plain, "waiting_requests", ""),
    ("Output tokens per second", plain, "generation_tokens_per_s", ""),
    ("Time to first token", duration, "ttft_mean_s", "ttft_p99_s"),
    ("Time between tokens", duration, "itl_mean_s", "itl_p99_s"),
)
"""Title, how its values are written, the signal over time (of latencies the mean), the one of the
whole time.
"""
_COUNTS = ("running_requests", "waiting_requests")
NAMES = ("KV usage", "preemptions/s", "running", "waiting", "tokens/s", "TTFT p99", "ITL p99")
TAIL = 1.5
"""The axis ends that many times the measured time after the last point at the latest: what is drawn
would be a sliver otherwise.
"""


def drawings(state: State, looks: Sequence[Look], bands: tuple[Band, ...]) -> list[Block]:
    """One small chart for each quantity, on one axis of time; its 0 is the beginning of the
    incident. Empty without a look.
    """
    if not looks:
        return []
    drawn = [_chart(state.plan, looks, *quantity) for quantity in QUANTITIES]
    return [
        *_legend(state.plan, looks),
        Paragraph("Where no line is, nothing was measured.", "soft"),
        Charts(drawn, _span(state, looks, bands)),
    ]


def rows(state: State, looks: Sequence[Look]) -> list[tuple[str, ...]]:
    """A row for each look: when, at what time, the pod, and every quantity; with a heading. Empty
    without a look.
    """
    if not looks:
        return []
    began = _began(state, looks)
    heading = ("", "from", "pod", *NAMES)
    return [
        heading,
        *(
            (found.when, f"{found.at - began:.0f} s", _pod(state, found), *_values(found))
            for found in looks
        ),
    ]


def _values(found: Look) -> Iterable[str]:
    for _, words, over_time, of_all in QUANTITIES:
        points = found.series.get(of_all or over_time, ())
        yield words(sum(point.value for point in points) / len(points)) if points else "-"


def _chart(
    plan: RemedyPlan, looks: Sequence[Look], title: str, words: Words, over_time: str, of_all: str
) -> Chart:
    kinds = _kinds(looks)
    lines = []
    for found in looks:
        kind, points = kinds[found.when, _name(found)], found.series.get(over_time, ())
        if points:
            lines.append(Line(points, kind=kind, tip=f"{found.when}: {_name(found)}"))
        for at, value in found.series.get(of_all, ()):
            from_s = points[0].at if points else found.at
            lines.append(
                Line(
                    [(from_s, value), (at, value)],
                    kind=f"{kind} dashed",
                    tip=f"{found.when}: {_name(found)}, p99",
                )
            )
    notes = [*(["mean; dashed: p99"] if of_all else []), *_conditions(plan, over_time, of_all)]
    top = 1.0 if over_time == "kv_usage_ratio" else None
    return Chart(
        title,
        tuple(lines),
        words,
        top,
        _limits(plan, words, over_time, of_all),
        "; ".join(notes),
        over_time in _COUNTS,
    )


def _kinds(looks: Sequence[Look]) -> dict[tuple[str, str], str]:
    """How the line of a pod looks, before and after: every other one is faint."""
    found: dict[tuple[str, str], str] = {}
    for when, kind in (("before", "second"), ("after", "")):
        names = dict.fromkeys(_name(entry) for entry in looks if entry.when == when)
        found |= {
            (when, name): f"{kind} faint" if place % 2 else kind for place, name in enumerate(names)
        }
    return found


def _legend(plan: RemedyPlan, looks: Sequence[Look]) -> list[Paragraph]:
    found = []
    for when, words in (("before", "before"), ("after", f"with {plan.change}")):
        keys: list[Inline] = [
            Entry(name, kind) for (at, name), kind in _kinds(looks).items() if at == when
        ]
        if keys:
            found.append(Paragraph((bold(words), " ", *keys)))
    return found


def _limits(plan: RemedyPlan, words: Words, *signals: str) -> tuple[tuple[float, str], ...]:
    """What was promised of these signals, and how many requests may run at once."""
    found = [
        limit
        for expect in plan.expectation.expects
        if expect.signal in signals
        for limit in _promised(expect, plan, words)
    ]
    if "running_requests" in signals and canonical_name(plan.change.name) in (
        "max_num_seqs",
        "max_num_active_seqs",
    ):
        for value, when in ((plan.change.former, "before"), (plan.change.value, "after")):
            if value is not None and value.isdigit():
                found.append((float(value), f"limit {when}: {value}"))
    return tuple(found)


_STATES = {
    "zero": "is at most {:g}",
    "below": "is at most {:g}",
    "above": "is at least {:g}",
    "falls": "falls by {:.0%}",
    "rises": "rises by {:.0%}",
    "holds": "rises by no more than {:.0%}",
    "no-more": "stays as it is",
}


def _promised(expect: Expect, plan: RemedyPlan, words: Words) -> list[tuple[float, str]]:
    was = dict(plan.baseline).get(expect.signal)
    if was is None and expect.want in ("falls", "rises", "holds"):
        return []
    bounds = {
        "below": (expect.bound, "at most"),
        "above": (expect.bound, "at least"),
        "falls": ((was or 0.0) * (1.0 - expect.bound), "at most"),
        "rises": ((was or 0.0) * (1.0 + expect.bound), "at least"),
        "holds": ((was or 0.0) * (1.0 + expect.bound), "at most"),
    }
    if expect.want not in bounds:
        return []
    value, side = bounds[expect.want]
    return [(value, f"{side} {words(value)}{' at the load before' if expect.by_load else ''}")]


def _conditions(plan: RemedyPlan, *signals: str) -> list[str]:
    """When what was promised of these signals does not apply."""
    others = [
        other
        for expect in plan.expectation.expects
        if expect.signal in signals
        for other in expect.unless
    ]
    return [
        f"the limit does not apply while {other.signal} {_STATES[other.want].format(other.bound)}"
        for other in others
    ]


def _span(state: State, looks: Sequence[Look], bands: tuple[Band, ...]) -> Span:
    first = min(found.at for found in looks)
    last = max(points[-1].at for found in looks for points in found.series.values())
    began = _began(state, looks)
    ended = state.timeline[-1].at if state.timeline else last
    from_s = min(first, began)
    until_s = max(last, min(ended, last + TAIL * (last - from_s)))
    return Span(from_s, max(until_s, from_s + 1.0), zero_s=began, bands=bands)


def _began(state: State, looks: Sequence[Look]) -> float:
    return state.timeline[0].at if state.timeline else min(found.at for found in looks)


def _name(found: Look) -> str:
    return f"{found.pod}, engine {found.engine}" if found.engine else found.pod


def _pod(state: State, found: Look) -> str:
    """The pod with its part in the change. Numbered pods have the same name before and after it."""
    slots = [slot for slot, pod in state.pods if pod.name == found.pod]
    if found.when == "before":
        slots = [slot for slot in slots if not slot.startswith("new-")]
    return f"{_name(found)} ({slots[0]})" if slots else _name(found)
