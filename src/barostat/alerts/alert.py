"""An alert: an expression made from the terms, how long it must hold, and the text for the person
on call.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from barostat.alerts.terms import Terms

Severity = Literal["critical", "warning"]
"""critical: requests fail or are too slow now, page someone. warning: look at it in working hours.
"""
Part = Literal["engine", "slo", "gateway", "pod", "card"]
"""Source of the series: vLLM's metrics, the latency SLO, Barostat's gateway, kube-state-metrics,
the GPU exporter.
"""


@dataclass(frozen=True, slots=True)
class LeftOut:
    """An alert that cannot be generated; `why` names what is missing."""

    why: str


@dataclass(frozen=True, slots=True)
class Alert:
    """An alert rule.

    `found`: the summary, as a Prometheus template. `holds_s`: how long the expression must be true
    (`for`). `within_s`: longest time from the start of an incident until the alert fires, range
    windows included. `then`: the command to run next (`{target}`: the affected engine, `{fleet}`:
    all engines, `{limits}`: the limits file); empty: `barostat diagnose` on the target. `hides`:
    alerts that are consequences of this one and are inhibited while it fires.
    """

    name: str
    title: str
    severity: Severity
    part: Part
    expression: Callable[[Terms], str | LeftOut]
    found: str
    holds_s: float
    within_s: float
    then: str = ""
    hides: tuple[str, ...] = ()


PLACE = (
    "{{ if $labels.pod }}pod/{{ $labels.pod }} -n {{ $labels.namespace }}{{ else if "
    "$labels.instance }}http://{{ $labels.instance }}"
    "{{ else }}-A{{ end }}"
)
"""The engine in an alert's labels, as a target of `barostat diagnose`."""
WHERE = "{{ or $labels.pod $labels.instance $labels.model_name }}"
"""The same engine, as shown to a person."""


def next_command(alert: Alert, terms: Terms) -> str:
    """Return the command that a person runs next, with its target filled in."""
    namespace = terms.labels.get("namespace", "~")
    fleet = terms.target or ("-A" if namespace.startswith("~") else f"-n {namespace}")
    return (alert.then or "barostat diagnose {target}").format(
        target=terms.target or PLACE, fleet=fleet, limits=terms.limits_file
    )
