"""The month's budget of slow answers is being spent in five days.

Meaning: over six hours and over the last half hour more than 6 % of first tokens (slo="ttft") or of
gaps between tokens (slo="itl") were slower than promised.
Impact: some users notice; it does not end by itself.
Evidence: as for the fast burn.
Not evidence: a bad five minutes this morning: it is over, and the short window says so.
Mitigation: `barostat diagnose` and `barostat plan --from` in working hours: traffic has outgrown
the limits, or the limits the engine.
Source: Google, The Site Reliability Workbook, chapter 5.
"""

from __future__ import annotations

from barostat.alerts.alert import Alert, LeftOut
from barostat.alerts.named._burn import burning
from barostat.alerts.terms import Terms


def expression(terms: Terms) -> str | LeftOut:
    """Six hours and half an hour, 6 times."""
    return burning(terms, "6h", "30m", 6.0)


ALERT = Alert(
    "BarostatSloSlowBurn", "the budget of slow answers burns slowly", "warning", "slo", expression,
    "{{ $labels.model_name }}: {{ $value | humanizePercentage }} slower than promised ({{ $labels.slo }}) over the last six hours",
    holds_s=300.0, within_s=3600.0,
)  # fmt: skip
