"""The two burns of a service level: of a long window and a short one, so that it is much and still
going on.
"""

from __future__ import annotations

from barostat.alerts.alert import LeftOut
from barostat.alerts.recorded import COUNTED, MODEL, SLOW, of_workload, promised_bounds
from barostat.alerts.terms import Terms

BUDGET = 0.01
"""Error budget: the limits promise the 99th percentile."""
LEAST = 20
"""Of so few first tokens in an hour one slow one says nothing."""


def burning(terms: Terms, long: str, short: str, times: float) -> str | LeftOut:
    """Slower than promised in more than `times` the budget, over both windows."""
    if not promised_bounds(terms):
        return LeftOut(
            "no latency is promised: spec.slo of the limits file, or --ttft-p99 and --itl-p99"
        )
    over = f" > {times * BUDGET:g}"
    named = terms.matchers(*MODEL, **of_workload(terms))
    return (
        f"{SLOW}{long}{named}{over} and {SLOW}{short}{named}{over} and {COUNTED}{named} >= {LEAST}"
    )
