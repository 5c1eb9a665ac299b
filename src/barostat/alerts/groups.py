"""Turns terms into rule groups for Prometheus, and lists omitted rules with the reason."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from barostat.alerts.alert import Alert, LeftOut, next_command
from barostat.alerts.named import alerts
from barostat.alerts.recorded import recorded
from barostat.alerts.terms import Terms

WORKLOAD = "{{ $labels.namespace }}/{{ $labels.model_name }}"
"""What an alert is labelled with where no workload is named."""
EVERY_S = 15.0
"""How often rules are evaluated."""


@dataclass(frozen=True, slots=True)
class Rules:
    """`groups`: as a rule file has them. `left_out`: by alert, why it is not among them."""

    groups: tuple[Mapping[str, Any], ...]
    left_out: Mapping[str, str]


def rules_of(terms: Terms, *, among: Sequence[Alert] | None = None) -> Rules:
    """The recording rules and every alert that these terms allow."""
    recordings = [
        {
            "record": one.name,
            "expr": one.expression,
            **({"labels": dict(one.labels)} if one.labels else {}),
        }
        for one in recorded(terms)
    ]
    made: list[dict[str, Any]] = []
    left_out = {}
    for alert in alerts() if among is None else among:
        expression = alert.expression(terms)
        if isinstance(expression, LeftOut):
            left_out[alert.name] = expression.why
        else:
            made.append(_alerting(alert, expression, terms))
    name = f"barostat-{terms.workload}" if terms.workload else "barostat"
    groups: list[Mapping[str, Any]] = [
        {"name": f"{name}-recorded", "interval": terms.span(EVERY_S), "rules": recordings},
        {"name": f"{name}-alerts", "interval": terms.span(EVERY_S), "rules": made},
    ]
    return Rules(tuple(groups), left_out)


def _alerting(alert: Alert, expression: str, terms: Terms) -> dict[str, Any]:
    return {
        "alert": alert.name,
        "expr": expression,
        "for": terms.span(alert.holds_s) if alert.holds_s else "0s",
        "labels": {"severity": alert.severity, "workload": terms.workload or WORKLOAD},
        "annotations": {
            "summary": alert.found,
            "description": f"{alert.title[0].upper()}{alert.title[1:]}. Next: {next_command(alert, terms)}",
            **runbook(alert.name, terms.runbooks),
        },
    }


def runbook(name: str, base: str) -> dict[str, str]:
    """Return the annotation that leads to an alert's page: its address where the pages are
    published, else the command that prints it.
    """
    return (
        {"runbook_url": f"{base}#{name.lower()}"}
        if base
        else {"runbook": f"barostat explain {name}"}
    )
