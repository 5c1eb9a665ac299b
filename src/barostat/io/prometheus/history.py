"""Weeks of a fleet, step by step: sums over its replicas, which Prometheus works out, so that
little is sent.
"""

from __future__ import annotations

import math

from barostat.catalog import metric_names as names
from barostat.core.errors import OutsideError
from barostat.core.signal import Point
from barostat.io.prometheus.client import Prometheus, together
from barostat.judge.history.replicas import (
    CLUSTER_LABELS,
    NAMESPACE_LABELS,
    OWN_LABELS,
    POD_LABELS,
    RAY_LABELS,
)
from barostat.judge.history.review import Kept
from barostat.judge.history.series import Series

PREFIXES = ("vllm:", "vllm_", "ray_vllm_")
"""Prefixes of metric names: vLLM's own, that of collectors without colons, Ray's. The first one
present is used.
"""
STEPS = 720
_ROUND_STEPS_S = (
    300.0,
    600.0,
    900.0,
    1800.0,
    3600.0,
    7200.0,
    14_400.0,
    21_600.0,
    43_200.0,
    86_400.0,
)
PARTS = 12
"""Instants within a step at which its peak is looked for."""
_TELLS_APART = (
    "pod",
    "namespace",
    "instance",
    *CLUSTER_LABELS,
    *RAY_LABELS,
    *sorted(OWN_LABELS - {"__name__"}),
    "finished_reason",
    "le",
)
"""Labels by which two series of one metric are two: those of the engine's place, and the engine's
own.
"""


def step_for(since_s: float) -> float:
    """The time between two points: a round one, so that there are at most a few hundred."""
    return next((step for step in _ROUND_STEPS_S if since_s / step <= STEPS), _ROUND_STEPS_S[-1])


async def kept(server: Prometheus, matchers: str, since_s: float, now: float) -> Kept:
    """Fetch the fleet's series since then.

    Errors: OutsideError if the server fails, or has no vLLM series in that time.
    """
    step_s = step_for(since_s)
    end = math.floor(now / step_s) * step_s
    start = math.ceil((now - since_s) / step_s) * step_s
    end = max(start, end)
    replicas: tuple[Point, ...] = ()
    for prefix in PREFIXES:
        wanted, buckets = lines(matchers, step_s, prefix), _buckets(matchers, step_s, prefix)
        # Alone, before the others: what is wrong with the server or the selector is wrong with all
        # of them.
        there = await server.over(wanted.pop("replicas"), start, end, step_s)
        if replicas := _finite(there[0]) if there else ():
            break
    if not replicas:
        chosen = f" {{{matchers}}}" if matchers else ""
        raise OutsideError(
            f"Prometheus at {server.access.base} keeps no series of vLLM{chosen} in that time",
            retryable=False,
        )
    answers = await together(
        *(server.over(query, start, end, step_s) for query in (*wanted.values(), *buckets.values()))
    )
    found = dict(zip([*wanted, *buckets], answers, strict=True))
    points = {"replicas": replicas} | {
        name: _finite(found[name][0]) for name in wanted if found[name]
    }
    problems = [*server.warnings, *_about_time(points["replicas"], start, end, step_s)]
    return Kept(
        start,
        end,
        step_s,
        points,
        {name: found[name] for name in buckets if found[name]},
        tuple(problems),
        prefix,
    )


def _finite(series: Series) -> tuple[Point, ...]:
    return tuple(point for point in series.points if math.isfinite(point.value))


def _about_time(there: tuple[Point, ...], start: float, end: float, step_s: float) -> list[str]:
    """Return which part of the requested time has no data."""
    found = []
    if there[0].at - start > 2 * step_s:
        found.append(
            f"nothing is kept of the first {(there[0].at - start) / 86_400:.1f} days that "
            "were asked for"
        )
    expected = round((there[-1].at - there[0].at) / step_s) + 1
    if len(there) < 0.98 * expected:
        found.append(
            f"{expected - len(there)} of {expected} steps have no sample: gaps in what was "
            "scraped, or nothing ran"
        )
    if end - there[-1].at > 2 * step_s:
        found.append(f"the newest sample is {(end - there[-1].at) / 3600:.1f} h older than the end")
    return found


def _any_name(family: tuple[str, ...], query: str, prefix: str) -> str:
    """The query for every name that the metric has had, the newest first: of one series only the
    first that is there.
    """
    return " or ".join(_called(query, name.replace(PREFIXES[0], prefix)) for name in family)


def _called(query: str, name: str) -> str:
    """The query of that metric; a counter that Ray passed on may have no `_total`."""
    if not name.startswith(PREFIXES[0]):
        query = query.replace("NAME_total{", f'{{__name__=~"{name}(_total)?",')
    return query.replace("NAME", name)


def _once(query: str, matchers: str) -> str:
    """Deduplicate engines that are scraped several times, for each `CHOSEN` in the query. Engines
    without an address cannot be deduplicated.

    Engines are identified as in `judge.history.replicas`: pod, namespace (under any label name),
    address, cluster.
    """
    with_address, without = (
        query.replace("CHOSEN", f'{{instance{sign}""{"," if matchers else ""}{matchers}}}')
        for sign in ("!=", "=")
    )
    alike = with_address
    for kept, labels in (("pod", POD_LABELS), ("namespace", NAMESPACE_LABELS)):
        named = ",".join(f'"{label}"' for label in labels)
        alike = f'label_replace(label_join({alike},"{kept}",";",{named}),"{kept}","$1","{kept}",";*([^;]+).*")'
    return f"avg by ({','.join(_TELLS_APART)}) ({alike}) or {without}"


def lines(matchers: str, step_s: float, prefix: str = PREFIXES[0]) -> dict[str, str]:
    """Return the queries that sum over the fleet at every step, by line name. `prefix`: of the
    metric names.
    """
    within = f"[{step_s:.0f}s]"
    parts = f"[{step_s:.0f}s:{max(60.0, step_s / PARTS):.0f}s]"

    def each(family: tuple[str, ...], query: str) -> str:
        return _any_name(family, _once(query, matchers), prefix)

    running, waiting, usage = (
        each(family, "NAMECHOSEN")
        for family in (names.RUNNING[:1], names.WAITING[:1], names.KV_USAGE)
    )
    demand = f"(sum({usage}) * (1 + sum({waiting}) / clamp_min(sum({running}), 1)))"
    mean, most = (f"{over}_over_time(NAMECHOSEN{within})" for over in ("avg", "max"))
    rate, increase = (f"{gained}(NAME_totalCHOSEN{within})" for gained in ("rate", "increase"))
    return {
        # at one instant: of a rollout's pods never all are
        "replicas": f"max_over_time(count({running}){parts})",
        "running": f"sum({each(names.RUNNING[:1], mean)})",
        "waiting": f"sum({each(names.WAITING[:1], mean)})",
        "kv_mean_ratio": f"avg({each(names.KV_USAGE, mean)})",
        "kv_high_ratio": f"max({each(names.KV_USAGE, most)})",
        "demand_pools": f"max_over_time({demand}{parts})",
        "requests_per_s": f"sum({each(names.FINISHED[:1], rate)})",
        "prompt_tokens_per_s": f"sum({each(names.PROMPT_TOKENS[:1], rate)})",
        "output_tokens_per_s": f"sum({each(names.GENERATION_TOKENS[:1], rate)})",
        "preemptions": f"sum({each(names.PREEMPTIONS[:1], increase)})",
    }


def _buckets(matchers: str, step_s: float, prefix: str) -> dict[str, str]:
    """Histograms: what each bucket gained at every step."""
    increase = _once(f"increase(NAME_bucketCHOSEN[{step_s:.0f}s])", matchers)
    families = {
        "prompt_tokens": names.PROMPT_LENGTH,
        "output_tokens": names.OUTPUT_LENGTH,
        "ttft_s": names.TTFT,
        "itl_s": names.ITL,
    }
    return {
        name: f"sum by (le) ({_any_name(family, increase, prefix)})"
        for name, family in families.items()
    }


async def worst_instant(
    server: Prometheus, matchers: str, at: float, step_s: float, prefix: str = PREFIXES[0]
) -> float:
    """Within the step that ended at `at`: when most was preempted, else when most waited.

    Errors: OutsideError.
    """
    chosen = f"{{{matchers}}}"
    part_s = max(30.0, step_s / 60)
    preempted = f"sum(rate(NAME_total{chosen}[{max(120.0, 4 * part_s):.0f}s]))"
    for family, query in ((names.PREEMPTIONS, preempted), (names.WAITING, f"sum(NAME{chosen})")):
        found = await server.over(_any_name(family[:1], query, prefix), at - step_s, at, part_s)
        points = _finite(found[0]) if found else ()
        if points and max(point.value for point in points) > 0:
            return max(points, key=lambda point: point.value).at
    return at
