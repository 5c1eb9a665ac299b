"""A condition that can never hold.

Meaning: `vllm:kv_cache_usage_perc` runs from 0 to 1 in spite of its name; a threshold of 80 is
never reached. The same holds for more running requests than `--max-num-seqs` allows.
Impact: the alert that everybody relies on never fires; the autoscaler never adds a replica.

Bad:

    groups: [{name: a, rules: [{alert: A, expr: "vllm:kv_cache_usage_perc > 90"}]}]

Good:

    groups: [{name: a, rules: [{alert: A, expr: "vllm:kv_cache_usage_perc > 0.9 and
    vllm:num_requests_waiting > 0"}]}]

Fix: 0.9, not 90.
Source: vLLM 0.32.0 v1/metrics/loggers.py (scale 0 to 1).
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from barostat.catalog import metric_names as names
from barostat.catalog.metric_names import RATIOS
from barostat.lint.facts import Query, Scene
from barostat.lint.promql import bare, compared, metrics_in
from barostat.lint.rule import Found, Rule
from barostat.lint.rules._watched import all_queries, engines_of


def judge(scene: Scene) -> Iterator[Found]:
    """Every share that is held against a percentage, and every number of running requests beyond
    what may run.
    """
    for query in all_queries(scene):
        yield from _percentage(query)
    for scaler in scene.scalers:
        slots = [
            seqs for engine in engines_of(scene, scaler) if (seqs := engine.number("max_num_seqs"))
        ]
        asked = [
            (query.expression, query.threshold, query.threshold_place or query.place)
            for query in scaler.queries
        ]
        asked += [
            (name.replace("vllm_", "vllm:", 1), target, place)
            for name, place, target in scaler.metrics
        ]
        for expression, threshold, place in asked:
            average = re.match(
                rf"^\s*(?:avg|max)?\s*(?:by\s*\([^)]*\))?\s*\(?\s*(?:{'|'.join(names.RUNNING)})",
                expression,
            )
            if slots and threshold is not None and average and threshold > max(slots):
                yield Found(
                    place,
                    f"the threshold of {threshold:g} running requests is above "
                    f"--max-num-seqs {max(slots):.0f}: it is never reached",
                    f"below {max(slots):.0f}, or {names.WAITING[0]}",
                )


def _percentage(query: Query) -> Iterator[Found]:
    names = metrics_in(query.expression)
    if (
        len(names) != 1
        or names[0] not in RATIOS
        or "*" in bare(query.expression)
        or "count" in query.expression
    ):
        return
    end = compared(query.expression)
    number = (
        end.number
        if end is not None and end.operator in (">", ">=")
        else query.threshold
        if query.what == "scaler" and end is None
        else None
    )
    if number is not None and number > 1 and "sum" not in query.expression:
        place = (
            query.threshold_place
            if end is None and query.threshold_place is not None
            else query.place
        )
        yield Found(
            place,
            f"{names[0]} runs from 0 to 1: {number:g} is never reached",
            f"{number / 100:g}" if number <= 100 else "a share from 0 to 1",
        )


RULE = Rule("condition-never-true", "a condition that can never hold", judge, "error")
