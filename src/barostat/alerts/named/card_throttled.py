"""A card's clocks are cut because something is wrong: heat, the power supply, the hardware itself.

Meaning: for ten minutes the card has reported a reason of that kind at every scrape.
Impact: every step takes longer; one slow card of a tensor parallel group slows them all.
Evidence: bits 0x8, 0x20, 0x40 and 0x80 of DCGM_FI_DEV_CLOCKS_EVENT_REASONS
(DCGM_FI_DEV_CLOCK_THROTTLE_REASONS before; neither is among the exporter's default counters: add
one), or AMD's accumulated violations for heat growing.
Not evidence: 0x1, an idle card; 0x4, a busy card at its power cap. Both are normal, and a mask that
is not 0 says nothing by itself.
Mitigation: to the hardware team; cordon the node and move the replica (`barostat diagnose` proposes
it).
Source: NVML nvmlClocksEventReason; dcgm-exporter's counters; AMD device-metrics-exporter's list of
metrics (MI3xx).
"""

from __future__ import annotations

from barostat.alerts.alert import Alert
from barostat.alerts.cards import THROTTLED, amd, card_matchers
from barostat.alerts.terms import Terms
from barostat.catalog.gpu_faults import THROTTLE_BITS, throttle_class

MASKS = ("DCGM_FI_DEV_CLOCKS_EVENT_REASONS", "DCGM_FI_DEV_CLOCK_THROTTLE_REASONS")
BITS = tuple(bit for bit, reason in THROTTLE_BITS if throttle_class(reason) == "fault")


def expression(terms: Terms) -> str:
    """A bit of a fault in the mask (PromQL has no bit operators: divided and modulo 2), or AMD's
    violations.
    """
    masks = [
        " + ".join(f"floor({mask}{matchers} / {bit}) % 2" for bit in BITS)
        for mask in MASKS
        for matchers in card_matchers(terms)
    ]
    window = f"[{terms.span(300.0)}]"
    violations = [
        f"increase({amd(name, matchers)}{window})"
        for name in THROTTLED
        for matchers in card_matchers(terms)
    ]
    return " or ".join(f"({one}) > 0" for one in [*masks, *violations])


ALERT = Alert(
    "BarostatCardThrottled", "a card's clocks are cut by a fault", "warning", "card", expression,
    "{{ or $labels.Hostname $labels.hostname $labels.instance }}: card {{ or $labels.gpu $labels.gpu_id }}: clocks cut by a fault",
    holds_s=600.0, within_s=720.0, then="barostat diagnose {fleet} --exec-gpu-tools",
)  # fmt: skip
