"""An engine that produces nothing: its token counters stand still over the whole window."""

from __future__ import annotations

from barostat.alerts.expressions import over_engines
from barostat.alerts.terms import Terms
from barostat.catalog import metric_names as vllm


def without_tokens(terms: Terms, seconds: float) -> str:
    """Return an expression that is true while no token is generated and no prompt finishes. The
    counter must be older than the window, so that an engine that has just started does not match.
    """
    window = f"{terms.matchers()}[{terms.span(seconds)}]"
    counters = [f"{names[0]}_total" for names in (vllm.GENERATION_TOKENS, vllm.PROMPT_TOKENS)]
    still = [f"{over_engines('sum', f'increase({name}{window})')} == 0" for name in counters]
    there = f"{counters[0]}{terms.matchers()} offset {terms.span(seconds)}"
    return " and ".join([*still, over_engines("sum", there) + " >= 0"])
