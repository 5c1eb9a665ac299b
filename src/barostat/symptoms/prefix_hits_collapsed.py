"""Prompts that used to be found in the prefix cache are not found any more.

Meaning: the share of prompt tokens served from cached blocks has fallen to half of what it was, or
less. Cached blocks are what a full pool gives up first: they count as free, and every new request
may take them.

Impact: prompts are computed in full again: more prefill work, slower first tokens, on a pool that
is short already.

Evidence: prefix_hit_step_ratio, later against earlier in the window, from a level that mattered.

Not evidence: a low rate that was always low. A new release of the application with another system
prompt (the rate falls with the pool half empty). A restart: the cache begins empty.

Mitigation: relieve the pool (kv-usage-pinned); route requests with the same prefix to the same
replica; do not turn prefix caching off.

Source: `vllm:prefix_cache_hits_total` over `vllm:prefix_cache_queries_total` (tokens; preempted
look-ups left out since 0.11.1); BlockPool.
"""

from __future__ import annotations

from barostat.core.symptom import Symptom
from barostat.core.verdict import Absent, Present, Unknown, Verdict
from barostat.core.window import Window
from barostat.symptoms._halves import TOO_FEW, change

NEEDS_ANY = ("prefix_hit_step_ratio", "prefix_hit_ratio")
MATTERED_RATIO = 0.2
"""A hit rate below this had little to lose."""
COLLAPSE_RATIO = 0.5


def judge(window: Window) -> Verdict:
    """Present if the hit rate fell to half or less."""
    hits = window.fresh("prefix_hit_step_ratio") or window.fresh("prefix_hit_ratio")
    if hits is None:
        return Unknown("prefix-cache hits were not measured", NEEDS_ANY)
    moved = change(hits)
    if moved is None:
        return Unknown(TOO_FEW)
    evidence = (hits.evidence(window.at, moved.later, f"earlier {moved.earlier:.2f}"),)
    if moved.earlier >= MATTERED_RATIO and moved.ratio <= COLLAPSE_RATIO:
        return Present(
            f"prefix-cache hits fell from {moved.earlier:.0%} to {moved.later:.0%} of "
            "prompt tokens",
            evidence,
            moved.confidence,
        )
    return Absent(
        f"prefix-cache hits at {moved.later:.0%} of prompt tokens, before {moved.earlier:.0%}",
        evidence,
    )


SYMPTOM = Symptom(
    name="prefix-hits-collapsed",
    title="prefix-cache hits collapsed",
    judge=judge,
    needs_any=NEEDS_ANY,
)
