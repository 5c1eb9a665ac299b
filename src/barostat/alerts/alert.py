"""An alert: an expression made from the terms, how long it must hold, and the text for the person
on call.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from barostat.alerts.terms import Terms

Severity = Literal["critical", "warning"]
"""critical: requests suffer now, a person is woken. warning: somebody looks in working hours."""
Part = Literal["engine", "slo", "gateway", "pod", "card"]
"""Where the series come from: vLLM's own metrics, latencies promised, barostat's gateway,
kube-state-metrics, the cards' exporter.
"""


@dataclass(frozen=True, slots=True)
class LeftOut:
    """An alert that cannot be made; `why` says what is missing."""

    why: str


@dataclass(frozen=True, slots=True)
class Alert:
    """One alert.

    `found`: what the person reads first, as a template of Prometheus. `holds_s`: how long the
    expression has to be true (`for`). `within_s`: the latest after its incident has begun that it
    fires, windows included. `then`: the command to run next (`{target}`: the place, `{fleet}`: all
    of them, `{limits}`: the limits file); empty: `diagnose` at the place. `hides`: alerts that are
    this one's consequences.
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
"""Where an alert's labels point, as `barostat diagnose` takes it."""
WHERE = "{{ or $labels.pod $labels.instance $labels.model_name }}"
"""The same for a person."""


def next_command(alert: Alert, terms: Terms) -> str:
    """The command that a person runs next."""
    namespace = terms.labels.get("namespace", "~")
    fleet = terms.target or ("-A" if namespace.startswith("~") else f"-n {namespace}")
    return (alert.then or "barostat diagnose {target}").format(
        target=terms.target or PLACE, fleet=fleet, limits=terms.limits_file
    )
