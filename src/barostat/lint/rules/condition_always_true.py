"""A condition that always holds, or a ratio that is always the same.

Meaning: a gauge that is never negative held against `>= 0`, or a ratio whose two sides are the same
expression.
Impact: the alert fires from the first day, is silenced, and is missing when it is needed.

Bad:

    groups: [{name: a, rules: [{alert: A, expr: "rate(vllm:request_success_total[5m]) /
    rate(vllm:request_success_total[5m]) > 0.05"}]}]

Good:

    groups: [{name: a, rules: [{alert: A, expr:
    "rate(vllm:request_success_total{finished_reason=\\"error\\"}[5m])
      / ignoring(finished_reason) sum without (finished_reason)
      (rate(vllm:request_success_total[5m])) > 0.05"}]}]

Fix: select by a label on one side (`finished_reason="error"`, since 0.13), or count errors at the
gateway.
Source: vLLM 0.32.0 v1/metrics/loggers.py; Prometheus, vector matching.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from barostat.lint.facts import Scene
from barostat.lint.promql import compared, metrics_in
from barostat.lint.rule import Found, Rule


def judge(scene: Scene) -> Iterator[Found]:
    """Every alert on vLLM that holds whatever happens."""
    for query in scene.queries:
        names = metrics_in(query.expression)
        if not names:
            continue
        end = compared(query.expression)
        left = end.left if end is not None else query.expression
        if (sides := _ratio(left)) is not None and sides[0] == sides[1]:
            yield Found(
                query.place,
                "both sides of the ratio are the same expression: it is always 1",
                "a label that differs on one side",
            )
        elif (
            query.what == "alert"
            and end is not None
            and len(names) == 1
            and names[0].startswith("vllm:")
            and not re.search(r"[-+*/]", left)
            and _holds(end.operator, end.number)
        ):
            yield Found(
                query.place,
                f"{names[0]} is never negative: `{end.operator} {end.number:g}` always holds",
                "> 0, for some minutes",
            )


def _ratio(text: str) -> tuple[str, str] | None:
    """The two sides of the only division in the text, without blanks and outer brackets."""
    depth, places = 0, []
    for index, char in enumerate(text):
        depth += {"(": 1, "{": 1, "[": 1, ")": -1, "}": -1, "]": -1}.get(char, 0)
        if char == "/" and depth == 0:
            places.append(index)
    if len(places) != 1:
        stripped = text.strip()
        whole = (
            stripped.startswith("(")
            and stripped.endswith(")")
            and stripped.count("(") == stripped.count(")")
            and not places
        )
        return _ratio(stripped[1:-1]) if whole and len(stripped) > 2 else None
    left, right = (
        text[: places[0]],
        re.sub(
            r"^\s*(?:on|ignoring)\s*\([^)]*\)\s*(?:group_(?:left|right)\s*(?:\([^)]*\))?)?",
            "",
            text[places[0] + 1 :],
        ),
    )
    return tuple(re.sub(r"\s+", "", side).strip() for side in (left, right))  # type: ignore[return-value]


def _holds(operator: str, number: float) -> bool:
    return (operator == ">=" and number <= 0) or (operator == ">" and number < 0)


RULE = Rule("condition-always-true", "a condition that always holds", judge, "error")
