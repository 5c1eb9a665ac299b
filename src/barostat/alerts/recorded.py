"""The recording rules: one name per quantity, the same whatever the version calls it. Alerts and
dashboards read these and nothing else.

    replica:...    per scraped server: engines of one server are summed, every other label stays
    model:...      over all replicas of a model: cluster, job, namespace and model_name stay; the workload of the rules is added, as two may
                   have replicas of one model, and other promises

Shares are 0..1, times are seconds. A quantity that a version does not have is missing, never 0.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from barostat.alerts.expressions import (
    WINDOW_S,
    bucket_label,
    either,
    next_bucket,
    over_engines,
    quantile,
    rate,
)
from barostat.alerts.terms import Terms
from barostat.catalog import metric_names as vllm
from barostat.catalog.vllm_exposed import buckets

RUNNING = "replica:vllm_running:sum"
WAITING = "replica:vllm_waiting:sum"
CAPACITY_WAITING = "replica:vllm_capacity_waiting:sum"
KV_USAGE = "replica:vllm_kv_usage:ratio"
ASLEEP = "replica:vllm_asleep:max"
FINISHED = "replica:vllm_finished:rate5m"
PREEMPTIONS = "replica:vllm_preemptions:rate5m"
PREEMPTED_SHARE = "replica:vllm_preemptions_per_finished:ratio5m"
GENERATED = "replica:vllm_generation_tokens:rate5m"
PROMPTS = "replica:vllm_prompt_tokens:rate5m"
REFUSED = "replica:vllm_rejections:rate5m"
PREFIX_HITS = "replica:vllm_prefix_hits:ratio5m"
QUANTILES: Mapping[str, tuple[str, ...]] = {
    "replica:vllm_ttft_seconds": vllm.TTFT,
    "replica:vllm_itl_seconds": vllm.ITL,
    "replica:vllm_e2e_seconds": vllm.E2E,
    "replica:vllm_queue_seconds": vllm.QUEUE_TIME,
    "replica:vllm_prompt_length_tokens": vllm.PROMPT_LENGTH,
    "replica:vllm_output_length_tokens": vllm.OUTPUT_LENGTH,
    "replica:vllm_max_tokens": vllm.MAX_TOKENS,
}
SHARES = (0.5, 0.99)
SLOW = "model:vllm_slow:ratio_"
COUNTED = "model:vllm_slow_of:increase1h"
BURN_WINDOWS_S: Mapping[str, float] = {"5m": 300.0, "30m": 1800.0, "1h": 3600.0, "6h": 21600.0}
MODEL = ("cluster", "job", "namespace", "model_name")
"""The labels of a fleet that are kept, as far as they exist."""


@dataclass(frozen=True, slots=True)
class Recorded:
    """A Prometheus recording rule."""

    name: str
    expression: str
    labels: Mapping[str, str] = field(default_factory=dict)


def quantile_name(quantity: str, share: float) -> str:
    """What the quantile of a quantity is recorded as: `replica:vllm_ttft_seconds:p99_5m`."""
    return f"{quantity}:p{share * 100:g}_5m"


def recorded(terms: Terms) -> tuple[Recorded, ...]:
    """Return every recording rule for these terms, in an order in which each reads only earlier
    ones.
    """
    return (*_state(terms), *_flow(terms), *_latency(terms), *slow_shares(terms))


def _gauge(terms: Terms, candidates: tuple[str, ...], how: str = "sum", **labels: str) -> str:
    return either(
        candidates,
        terms,
        lambda name: over_engines(how, f"{name}{terms.matchers(**labels)}", *labels),
    )


def _state(terms: Terms) -> list[Recorded]:
    waiting = _gauge(terms, vllm.WAITING)
    if terms.version is None or terms.version.before(
        vllm.V0_GONE_IN
    ):  # V0's swapped ones were preempted and wait for their blocks
        swapped = _gauge(terms, vllm.SWAPPED_V0)
        waiting = f"({waiting}) + ({swapped}) or {waiting}"
    # Before 0.20 the deferred ones are not told apart: all that wait are counted.
    by_reason = _gauge(terms, vllm.WAITING_BY_REASON, reason="capacity")
    told = terms.version is None or terms.version.at_least("0.20.0")
    only = terms.version is not None and told
    all_of_them = WAITING + terms.matchers()
    return [
        Recorded(RUNNING, _gauge(terms, vllm.RUNNING)),
        Recorded(WAITING, waiting),
        Recorded(CAPACITY_WAITING, by_reason if only else f"{by_reason} or {all_of_them}" if told else all_of_them),
        Recorded(KV_USAGE, _gauge(terms, vllm.KV_USAGE, "max")),
        Recorded(ASLEEP, f"1 - ({_gauge(terms, vllm.SLEEP_STATE, 'max', sleep_state='awake')})"),
    ]  # fmt: skip


def _flow(terms: Terms) -> list[Recorded]:
    def flow(candidates: tuple[str, ...], *labels: str) -> str:
        return either(
            candidates,
            terms,
            lambda name: over_engines("sum", rate(f"{name}_total", terms), *labels),
        )

    # no look-ups are no hits
    hits = f"({flow(vllm.PREFIX_HITS)}) / clamp_min({flow(vllm.PREFIX_QUERIES)}, 1e-9)"
    if terms.version is None or terms.version.before(vllm.V0_GONE_IN):
        hits += (
            " or "
            f"clamp_min({over_engines('max', vllm.PREFIX_HIT_RATE_V0[0] + terms.matchers())}, "
            "0)"
        )
    found = [
        Recorded(FINISHED, flow(vllm.FINISHED, "finished_reason")),
        Recorded(PREEMPTIONS, flow(vllm.PREEMPTIONS)),
        Recorded(
            PREEMPTED_SHARE, f"{PREEMPTIONS}{terms.matchers()} / {FINISHED}{terms.matchers()}"
        ),
        Recorded(GENERATED, flow(vllm.GENERATION_TOKENS)),
        Recorded(PROMPTS, flow(vllm.PROMPT_TOKENS)),
        Recorded(PREFIX_HITS, hits),
    ]
    if terms.version is None or terms.version.at_least("0.32.0"):
        found.append(Recorded(REFUSED, flow(vllm.REJECTIONS, "reason")))
    return found


def _latency(terms: Terms) -> list[Recorded]:
    return [
        Recorded(quantile_name(quantity, share), quantile(share, candidates, terms))
        for quantity, candidates in QUANTILES.items()
        for share in SHARES
    ]


def slow_shares(terms: Terms) -> list[Recorded]:
    """Return for each latency SLO the share of slower requests, over every burn window; none
    without an SLO.
    """
    found = []
    for slo, candidates, bound in promised_bounds(terms):
        labels = {"slo": slo, **of_workload(terms)}
        for window, seconds in BURN_WINDOWS_S.items():
            found.append(
                Recorded(f"{SLOW}{window}", _slower(candidates, terms, bound, seconds), labels)
            )
        found.append(Recorded(COUNTED, _counted(candidates, terms), labels))
    return found


def of_workload(terms: Terms) -> dict[str, str]:
    """Return the label that identifies a model's recordings as those of these rules; none without a
    workload name.
    """
    return {"workload": terms.workload} if terms.workload else {}


def promised_bounds(terms: Terms) -> list[tuple[str, tuple[str, ...], float]]:
    """Return each latency SLO: its name, its metrics, and its bucket, the next bound above the SLO."""
    wanted = (
        ("ttft", vllm.TTFT, terms.promised.ttft_s, "ttft"),
        ("itl", vllm.ITL, terms.promised.itl_s, "itl"),
    )
    found: list[tuple[str, tuple[str, ...], float]] = []
    for slo, candidates, promised, family in wanted:
        bound = None if promised is None else next_bucket(buckets(family, 0), promised)  # type: ignore[arg-type]
        if bound is not None:
            found.append((slo, candidates, bound))
    return found


def _slower(candidates: tuple[str, ...], terms: Terms, bound: float, seconds: float) -> str:
    """The share above a bucket's bound over a window. Each replica counts by the name that it has:
    a model may run in two versions.
    """
    within = either(
        candidates,
        terms,
        lambda name: rate(f"{name}_bucket", terms, seconds, le=bucket_label(bound)),
    )
    counted = either(candidates, terms, lambda name: rate(f"{name}_count", terms, seconds))
    by = f"sum by ({','.join(MODEL)})"
    return f"1 - {by} ({within}) / {by} ({counted})"


def _counted(candidates: tuple[str, ...], terms: Terms) -> str:
    window = f"{terms.matchers()}[{terms.span(12 * WINDOW_S)}]"
    return (
        f"sum by ({','.join(MODEL)}) "
        f"({either(candidates, terms, lambda name: f'increase({name}_count{window})')})"
    )
