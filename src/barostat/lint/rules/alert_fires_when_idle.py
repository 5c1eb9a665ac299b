"""An alert that fires when the engine is idle.

Meaning: tokens and finished requests per second are 0 where no request comes. An alert that fires
below a number, without asking whether requests are there, fires every quiet night.
Impact: pages that mean nothing, and an alert that is ignored when the engine hangs.

Bad:

    groups:
    - name: vllm
      rules:
      - alert: LowThroughput
        expr: sum(rate(vllm:generation_tokens_total[5m])) < 10

Good:

    groups:
    - name: vllm
      rules:
      - alert: LowThroughput
        expr: >
          sum(rate(vllm:generation_tokens_total[5m])) < 10
          and sum(vllm:num_requests_running) > 0

Fix: `and` with requests that run or wait (vllm:num_requests_running, vllm:num_requests_waiting).
Source: Prometheus, alerting practices; vLLM 0.32.0 v1/metrics/loggers.py (counters stand still while
nothing runs).
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from barostat.catalog.metric_names import RUNNING
from barostat.lint.facts import Scene
from barostat.lint.promql import bare, compared, metrics_in
from barostat.lint.rule import Found, Rule

_WORK = re.compile(
    r"(?:generation|prompt|iteration|output|total)_tokens|tokens_per_s|throughput|request_success"
)
_GUARD = re.compile(r"\b(?:and|unless|or|absent)\b", re.IGNORECASE)


def judge(scene: Scene) -> Iterator[Found]:
    """Every alert on work done that asks for no work to be there."""
    for query in scene.queries:
        end = compared(query.expression)
        names = metrics_in(query.expression)
        if (
            query.what != "alert"
            or end is None
            or end.operator not in ("<", "<=", "==")
            or not names
            or not all(_WORK.search(name) for name in names)
            or _GUARD.search(bare(query.expression))
            or "/" in bare(query.expression)
        ):
            continue
        if end.operator == "==" and end.number != 0:
            continue
        yield Found(
            query.place,
            f"{names[0]} is 0 while no request comes: the alert {query.name} fires when the engine "
            "is idle",
            f"and {RUNNING[0]} > 0",
        )


RULE = Rule("alert-fires-when-idle", "an alert that fires when idle", judge, "warning", "medium")
