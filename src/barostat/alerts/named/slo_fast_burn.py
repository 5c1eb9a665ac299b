"""The month's budget of slow answers is being spent in two days.

Meaning: over an hour and over the last five minutes more than 14.4 % of first tokens (slo="ttft")
or of gaps between tokens (slo="itl") were slower than promised: 14.4 times the one in a hundred
that the limits' 99th percentile leaves.
Impact: users notice now.
Evidence: vLLM's histograms, counted by the bucket next above what was promised (2 s are counted
from 2.5 s on).
Not evidence: a percentile of a percentile; fewer than twenty answers in the hour.
Mitigation: `barostat diagnose` names the cause; this alert is its consequence, and hidden where a
cause fires too.
Source: Google, The Site Reliability Workbook, chapter 5 (several windows, several rates).
"""

from __future__ import annotations

from barostat.alerts.alert import Alert, LeftOut
from barostat.alerts.named._burn import burning
from barostat.alerts.terms import Terms


def expression(terms: Terms) -> str | LeftOut:
    """An hour and five minutes, 14.4 times."""
    return burning(terms, "1h", "5m", 14.4)


ALERT = Alert(
    "BarostatSloFastBurn", "the budget of slow answers burns fast", "critical", "slo", expression,
    "{{ $labels.model_name }}: {{ $value | humanizePercentage }} slower than promised ({{ $labels.slo }}) over the last hour",
    holds_s=60.0, within_s=900.0,
    hides=("BarostatSloSlowBurn", "BarostatCapacityWaiting"),
)  # fmt: skip
