"""A rule or an autoscaler on a metric that this version of vLLM does not have.

Meaning: metrics were renamed and removed: `vllm:gpu_cache_usage_perc` became
`vllm:kv_cache_usage_perc` (both 0.9.2 to 0.10), the V0 names are gone; others came later. A counter
is exposed with `_total`. A name with a second colon is a recording, as is one that a rule here
records.
Impact: the expression is empty: the alert never fires, the autoscaler never scales, and both look
healthy.

Bad:

    groups: [{name: a, rules: [{alert: A, expr: "vllm:gpu_cache_usage_perc > 0.95"}]}]

Good:

    groups: [{name: a, rules: [{alert: A, expr: "vllm:kv_cache_usage_perc > 0.95 or
    vllm:gpu_cache_usage_perc > 0.95"}]}]

Fix: the name of the version that runs; both, joined by `or`, while versions are mixed.
Source: vLLM 0.6.6 to 0.33.0 v1/metrics/loggers.py (catalog/metric_names.py).
"""

from __future__ import annotations

import difflib
from collections.abc import Iterator

from barostat.catalog.metric_names import (
    PREFIX_HIT_RATE_V0,
    PREFIX_HITS,
    PREFIX_QUERIES,
    RENAMED,
)
from barostat.catalog.vllm_versions import NEWEST_READ
from barostat.core.version import parse_version
from barostat.lint.facts import Query, Scene
from barostat.lint.promql import absent_in, base_name, known_names, metrics_in
from barostat.lint.rule import Found, Rule
from barostat.lint.rules._watched import all_queries, version_beside

_NEWER = RENAMED | dict.fromkeys(
    PREFIX_HIT_RATE_V0, f"{PREFIX_HITS[0]}_total / {PREFIX_QUERIES[0]}_total"
)
_NEWEST = parse_version(NEWEST_READ)


def judge(scene: Scene) -> Iterator[Found]:
    """Yield every metric name that the version (the newest, if unknown) does not expose."""
    known = known_names()
    recorded = {query.name for query in scene.queries if query.what == "record"}
    for query in all_queries(scene):
        names = metrics_in(query.expression)
        for name in names:
            if name.startswith("vllm:") and name.count(":") == 1 and name not in recorded:
                yield from _judged(scene, query, name, names, known)
    version = _NEWEST
    for scaler in scene.scalers:
        for adapted, place, _ in scaler.metrics:
            name = adapted.replace("vllm_", "vllm:", 1) if adapted.startswith("vllm_") else adapted
            told = version_beside(scene, place) or version
            if (
                name.startswith("vllm:")
                and not recorded & {name, adapted}
                and told is not None
                and (why := absent_in(name, told))
            ):
                yield Found(
                    place,
                    f"{name} {why}: the autoscaler sees nothing",
                    _NEWER.get(base_name(name), ""),
                    severity="warning",
                    confidence="medium",
                )


def _judged(
    scene: Scene, query: Query, name: str, names: list[str], known: dict[str, str]
) -> Iterator[Found]:
    told = version_beside(scene, query.place)
    version = told or _NEWEST
    newer = _NEWER.get(base_name(name), "")
    if version is None or (newer and newer in {base_name(other) for other in names}):
        return
    effect = {
        "alert": "the alert never fires",
        "record": "the record is empty",
        "scaler": "the autoscaler sees nothing",
    }[query.what]
    if why := absent_in(name, version):
        if " or " in query.expression and any(
            other in known or base_name(other) in known
            for other in names
            if not absent_in(other, version)
        ):
            return  # one of several names, for versions side by side
        gone = told is not None or "gone" in why
        if gone:
            yield Found(
                query.place,
                f"{name} {why}: {effect}",
                newer,
                severity=None if told else "warning",
                confidence=None if told else "medium",
            )
    elif known.get(name) == "counter" and name == base_name(name):
        yield Found(
            query.place,
            f"{name} is a counter and is exposed as {name}_total: {effect}",
            f"{name}_total",
        )
    elif base_name(name) not in known:
        close = difflib.get_close_matches(base_name(name), known, n=1, cutoff=0.9)
        if close:
            yield Found(
                query.place,
                f"no vLLM shows {name}; {close[0]} is what is meant? "
                f"{effect[:1].upper()}{effect[1:]}",
                close[0],
                confidence="medium",
            )


RULE = Rule("metric-not-there", "a metric that this version does not have", judge, "error")
