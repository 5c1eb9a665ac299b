"""Which cards meet a need, in every form: the choice first and why, then all that was weighed, then
what is not known.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from barostat.core.limits import API_VERSION
from barostat.core.units import figure, many
from barostat.judge.provisioning.choice import Choice
from barostat.judge.provisioning.need import Need
from barostat.judge.provisioning.offers import Forecast, Offer
from barostat.judge.provisioning.recorded_load import RecordedLoad
from barostat.judge.sizing.emulated_fp8 import emulated_fp8
from barostat.judge.sizing.plan import CapacityPlan
from barostat.shells.reports.sheet.blocks import (
    Block,
    Candidates,
    Document,
    Footer,
    Heading,
    Items,
    Section,
    Table,
    Verdict,
    named,
)
from barostat.shells.reports.sheet.ranges import Candidate, Ranges
from barostat.shells.reports.sheet.scale import duration, plain
from barostat.shells.reports.simulation.closing import level
from barostat.shells.reports.simulation.data import format_seconds

_FEW = 100
_PRICED = ("per hour", "per M output", "per M tokens")
_HEAD = ("", "replicas", "cards", *_PRICED, "tokens/s", "TTFT p99", "mean ITL p99", "KV")


@dataclass(frozen=True, slots=True)
class Answer:
    """Model, engine version, what was needed, and the choice."""

    model: str
    version: str
    need: Need
    choice: Choice

    @property
    def promised(self) -> str:
        """The service level in words."""
        return level(self.need.slo) or "no SLO (--slo): that it keeps up"


def _span(one: Offer) -> str:
    if one.replicas is None:
        return "none"
    if one.fewest == one.most:
        return str(one.replicas)
    return f"{one.replicas} ({one.fewest} to {one.most if one.most is not None else 'none'})"


def _with_ends(one: Offer, field: str) -> str:
    """The time expected, and where steps are as short or as long as they may be: `330 (280-390)
    ms`.
    """
    values = _times(one, field)
    if values is None:
        return "-"
    by, unit = (1000.0, "ms") if values[0] < 1 else (1.0, "s")
    middle, low, high = (figure(value * by) for value in values)
    return f"{middle} ({low}-{high}) {unit}"


def _times(one: Offer, field: str) -> tuple[float, float, float] | None:
    """Expected, least and most."""
    values = [getattr(run, field) for run in (one.expected, one.fast, one.slow) if run is not None]
    if len(values) < 3 or None in values:
        return None
    return values[0], min(values), max(values)


def cells(answer: Answer, *, short: bool = False) -> list[tuple[str, ...]]:
    """The table, the heading first. `short`: without what a forecast may be off by."""
    choice = answer.choice
    rows: list[tuple[str, ...]] = []
    for one in choice.ranked:
        if one.replicas is None or one.expected is None:
            continue
        cost, each = one.cost(one.cards), one.cost_per_million(answer.need)
        rows.append((
            one.name, _span(one), str(one.cards), f"{cost:,.2f}" if cost is not None else "-",
            *(("-", "-") if each is None else (f"{value:,.3g}" for value in each)),
            f"{one.expected.output_tokens_per_s:,.0f}",
            format_seconds(one.expected.ttft_p99_s) if short else _with_ends(one, "ttft_p99_s"),
            format_seconds(one.expected.tpot_p99_s) if short else _with_ends(one, "tpot_p99_s"),
            f"{one.expected.kv_usage_ratio:.0%}",
        ))  # fmt: skip
    keep = [place for place, name in enumerate(_HEAD) if name not in _PRICED or choice.by_price]
    return [tuple(row[place] for place in keep) for row in (_HEAD, *rows)]


def _others(choice: Choice) -> list[tuple[str, str]]:
    return [
        (one.name, one.refused or "no number of replicas meets the SLO")
        for one in choice.ranked
        if one.replicas is None
    ]


def notes(answer: Answer) -> list[str]:
    """Return notes on the forecast, as sentences."""
    ranked = [one for one in answer.choice.ranked if one.replicas is not None]
    need = answer.need
    twin = (
        f"the twin's forecast: {_simulated(need)}; in brackets, where steps are as short or as long "
        "as the step model's doubt has it"
    )
    said = [
        twin,
        *_of_trace(need.recorded, ranked),
        *_doubts(ranked),
    ]
    if answer.choice.by_price:
        said.append(
            "a million tokens cost what the cards cost in the time that this load takes for them, "
            f"not at full load; per M tokens: {figure(need.input_tokens, 4)} of input to "
            f"{figure(need.output_tokens, 4)} of output"
        )
    said += [told for one in ranked if one.plan is not None and (told := _emulated(one.plan))]
    return [*dict.fromkeys(said), "no spare replica is in it: add one for an upgrade or a fault"]


def _simulated(need: Need) -> str:
    """Describe the simulated workload."""
    if need.recorded is not None:
        return (
            f"the requests of {need.recorded.source} given to the replicas in turn, two of which "
            "are simulated"
        )
    return (
        f"two runs of {need.load} spread over the replicas alike, lengths with a spread of "
        f"{need.spread:g}"
    )


def _of_trace(load: RecordedLoad | None, offers: Sequence[Offer]) -> list[str]:
    """What was simulated of a trace, and what is different behind a router."""
    if load is None:
        return []
    said = [
        f"{one.name}: {many(one.too_long, 'request')} left out that the engine refuses for "
        f"{'its' if one.too_long == 1 else 'their'} length"
        for one in offers
        if one.too_long
    ]
    if few := [one.name for one in offers if len(load.requests) < _FEW * (one.replicas or 1)]:
        said.append(
            f"{', '.join(few)}: fewer than {_FEW} requests of the trace for each replica: a longer "
            "trace says more"
        )
    if len(load.requests) < load.of_requests:
        said.append(
            f"only the busiest {len(load.requests):,} requests of {load.of_requests:,}: those from "
            f"{load.from_s:,.0f} to {load.from_s + load.lasts_s * load.times:,.0f} s in {load.source}"
        )
    if load.shares_prefixes:
        said.append(
            "prompts with a common prefix go to the replicas in turn; a router that keeps them "
            "together finds more of them in the cache"
        )
    return said


def _doubts(offers: Sequence[Offer]) -> list[str]:
    """How far steps may be off, those alike in one sentence."""
    alike: dict[tuple[float, tuple[str, ...]], list[str]] = {}
    for one in offers:
        alike.setdefault((one.doubt_ratio, one.doubts), []).append(one.name)
    return [
        (
            f"{', '.join(names)}: steps may be off by "
            f"{ratio:.0%}{''.join(f'; {why}' for why in because)}"
        )
        for (ratio, because), names in alike.items()
    ]


def _emulated(plan: CapacityPlan) -> str:
    return emulated_fp8(plan.request.card, plan.flags.kv_cache_dtype)


def _beyond_slo(one: Offer, need: Need) -> str:
    """What its own interval has beyond the SLO, as a sentence; empty if it holds throughout."""
    beyond = [
        f"{name} may be {format_seconds(times[2])} where {format_seconds(limit)} is allowed"
        for name, field, limit in (
            ("TTFT p99", "ttft_p99_s", need.slo.ttft_s),
            ("mean ITL p99", "tpot_p99_s", need.slo.itl_s),
        )
        if limit is not None and (times := _times(one, field)) is not None and times[2] > limit
    ]
    if not beyond and one.most is None:
        beyond = ["no number of replicas meets the SLO if steps are slower"]
    if not beyond:
        return ""
    return (
        f"With steps {one.doubt_ratio:.0%} slower {', '.join(beyond)}: measure one before you buy."
    )


def offers_document(answer: Answer) -> Document:
    """Return the report: the choice and why, the forecasts with what they may be off by, what is
    ruled out.
    """
    choice = answer.choice
    meeting = [one for one in choice.ranked if one.replicas is not None]
    about = f"{answer.need.told}; {answer.promised}; vLLM {answer.version}"
    blocks: list[Block] = [
        Heading("plan", answer.model, about),
        _verdict(answer),
        Section("Why this one", [Items(choice.because[1:])]),
        *(_forecasts(answer, meeting) if meeting else []),
        Section("Ruled out", [Items([named(name, why) for name, why in _others(choice)])]),
        Section("Notes", [Items(notes(answer))]),
        Footer("the same as data: barostat plan --for -o json"),
    ]
    return Document(f"Plan: {answer.model}", blocks)


def _verdict(answer: Answer) -> Verdict:
    chosen = answer.choice.chosen
    if chosen is None or chosen.replicas is None:
        return Verdict("critical", "NONE", "None of these meets it")
    doubt = _beyond_slo(chosen, answer.need)
    return Verdict(
        "warning" if doubt else "none",
        "TAKE, IF MEASURED" if doubt else "TAKE",
        f"{many(chosen.replicas, 'replica')} on {chosen.name}",
        " ".join(filter(None, (f"{answer.choice.because[0]}.", doubt))),
    )


def _forecasts(answer: Answer, meeting: Sequence[Offer]) -> list[Block]:
    chosen = answer.choice.chosen
    slo = answer.need.slo
    drawn = [
        Ranges(
            title,
            [found for one in meeting if (found := _candidate(one, field, chosen)) is not None],
            duration,
            None if limit is None else (limit, duration(limit)),
        )
        for title, field, limit in (
            ("TTFT p99", "ttft_p99_s", slo.ttft_s),
            ("Mean ITL, p99 of requests", "tpot_p99_s", slo.itl_s),
        )
    ]
    amounts = [
        Candidate(
            one.name,
            float(one.replicas or 0),
            float(one.fewest or 0),
            float(one.most or one.replicas or 0),
            one is chosen,
        )
        for one in meeting
    ]
    return [
        Candidates([Ranges("Replicas", amounts, plain), *drawn]),
        Table(cells(answer), chosen=(0,), shorter=cells(answer, short=True)),
    ]


def _candidate(one: Offer, field: str, chosen: Offer | None) -> Candidate | None:
    values = _times(one, field)
    return None if values is None else Candidate(one.name, *values, one is chosen)


def document(answer: Answer) -> dict[str, Any]:
    """Return the versioned JSON document."""
    need, chosen = answer.need, answer.choice.chosen
    return {
        "apiVersion": API_VERSION,
        "kind": "CapacityOffers",
        "model": answer.model,
        "engineVersion": answer.version,
        "need": {
            "requestsPerSecond": need.rate_per_s or None, "users": need.users or None, "inputTokens": need.input_tokens,
            "outputTokens": need.output_tokens,
            "spread": need.spread if need.recorded is None else None, "thinkSeconds": need.think_s if need.users else None,
            "trace": need.recorded.source if need.recorded is not None else None,
            "ttftSeconds": need.slo.ttft_s, "itlSeconds": need.slo.itl_s,
        },
        "chosen": chosen.name if chosen is not None else None,
        "because": list(answer.choice.because),
        "offers": [_offer(one, need) for one in answer.choice.ranked],
        "notes": notes(answer),
    }  # fmt: skip


def _offer(one: Offer, need: Need) -> dict[str, Any]:
    of_output, of_all = one.cost_per_million(need) or (None, None)
    card = one.plan.request.card if one.plan is not None else None
    return {
        "alternative": one.name,
        "gpu": card.name if card is not None else None,
        "gpusPerReplica": one.cards_each or None,
        "replicas": one.replicas,
        "replicasRange": [one.fewest, one.most],
        "gpus": one.cards,
        "costPerHour": one.cost(one.cards),
        "costPerHourIfSlow": one.cost(one.most_cards),
        "costPerMillionOutputTokens": of_output,
        "costPerMillionTokens": of_all,
        "stepDoubtRatio": one.doubt_ratio or None,
        "forecast": _run(one.expected),
        "forecastIfFast": _run(one.fast),
        "forecastIfSlow": _run(one.slow),
        "refused": one.refused or None,
        "requestsTooLong": one.too_long or None,
    }


def _run(found: Forecast | None) -> dict[str, float | None] | None:
    if found is None:
        return None
    return {
        "goodRequestsPerSecond": round(found.good_per_s, 4),
        "outputTokensPerSecond": round(found.output_tokens_per_s, 2),
        "ttftP50Seconds": found.ttft_p50_s,
        "ttftP99Seconds": found.ttft_p99_s,
        "meanItlP50Seconds": found.tpot_p50_s,
        "meanItlP99Seconds": found.tpot_p99_s,
        "kvUsageRatio": round(found.kv_usage_ratio, 4),
        "preemptionsPerSecond": round(found.preempted_per_s, 4),
    }
