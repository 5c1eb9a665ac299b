"""Which alert hides which: of one incident the cause pages, its consequences do not. As
Alertmanager's `inhibit_rules`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from barostat.alerts.alert import Alert


def inhibit_rules(among: Sequence[Alert]) -> list[dict[str, Any]]:
    """One rule per alert that hides others, within one workload of one cluster; a label that
    neither alert has is the same on both.
    """
    return [
        {
            "source_matchers": [f'alertname="{alert.name}"'],
            "target_matchers": [f'alertname=~"{"|".join(hidden_by(alert, among))}"'],
            "equal": ["cluster", "workload"],
        }
        for alert in among
        if alert.hides
    ]


def hidden_by(alert: Alert, among: Sequence[Alert]) -> list[str]:
    """The alerts that this one hides, itself or through those that it hides, sorted."""
    by_name = {one.name: one for one in among}
    found: set[str] = set()
    ahead = list(alert.hides)
    while ahead:
        name = ahead.pop()
        if name not in found and name in by_name:
            found.add(name)
            ahead += by_name[name].hides
    return sorted(found - {alert.name})
