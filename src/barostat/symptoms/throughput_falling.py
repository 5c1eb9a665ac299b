"""Throughput is flat or falls while demand rises.

Meaning: prompt and generated tokens per second in the later half of the window are no more than in
the earlier half, while more requests wait or arrive. The engine has reached a limit; which one,
other symptoms say.

Impact: every further request only makes the queue longer. If throughput *falls* the engine wastes
work (preemptions, a host that cannot follow).

Evidence: generation_tokens_per_s plus prompt_tokens_per_s, later against earlier; waiting_requests
or arrivals_per_s, later against earlier.

Not evidence: falling throughput with falling demand. One reading. The first seconds after a start,
when prompts come before tokens.

Mitigation: shed or spread load; then treat the limit that is named.

Source: `vllm:generation_tokens_total`, `vllm:prompt_tokens_total`; the log's statistics line (its
prompt throughput leaves cached tokens out from 0.16 on).
"""

from __future__ import annotations

from barostat.core.symptom import Harm, Symptom
from barostat.core.units import figure
from barostat.core.verdict import Absent, Present, Unknown, Verdict
from barostat.core.window import Window
from barostat.symptoms._halves import TOO_FEW, change

FLAT_RATIO = 1.05
"""Growth within scrape noise is none."""
DEMAND_RATIO = 1.2
"""Demand has risen if it grew by a fifth or more."""
DEMAND = ("waiting_requests", "arrivals_per_s")


def judge(window: Window) -> Verdict:
    """Present if throughput does not grow although demand does."""
    generated, prompt = window["generation_tokens_per_s"], window.fresh("prompt_tokens_per_s")
    moved = change(generated)
    if moved is None:
        return Unknown(TOO_FEW)
    prompted = change(prompt) if prompt is not None else None
    earlier = moved.earlier + (prompted.earlier if prompted is not None else 0.0)
    later = moved.later + (prompted.later if prompted is not None else 0.0)
    evidence = [generated.evidence(window.at, moved.later, f"earlier {moved.earlier:.0f}")]
    rising = ""
    for name in DEMAND:
        signal = window.fresh(name)
        demand = change(signal) if signal is not None else None
        if signal is None or demand is None:
            continue
        evidence.append(
            signal.evidence(window.at, demand.later, f"earlier {figure(demand.earlier, 2)}")
        )
        if not rising and demand.later >= 1 and demand.ratio >= DEMAND_RATIO:
            what = "requests waiting" if name == "waiting_requests" else "arrivals per second"
            rising = f"{what} rose from {figure(demand.earlier)} to {figure(demand.later)}"
    if not rising:
        return Absent("demand does not rise", tuple(evidence))
    if earlier <= 0:
        return Unknown(
            "nothing was produced in the earlier half: it cannot be said whether "
            "throughput follows demand"
        )
    if later > FLAT_RATIO * earlier:
        return Absent(
            f"throughput follows demand: {earlier:.0f} to {later:.0f} tokens/s", tuple(evidence)
        )
    word = "flat" if later > 0.9 * earlier else "falling"
    return Present(
        f"throughput is {word} ({earlier:.0f} to {later:.0f} tokens/s) while {rising}",
        tuple(evidence),
        moved.confidence,
    )


SYMPTOM = Symptom(
    name="throughput-falling",
    title="throughput flat or falling while demand rises",
    judge=judge,
    needs=("generation_tokens_per_s",),
    needs_any=DEMAND,
    harm=Harm.PLAIN | Harm.UNHEALTHY,
)
