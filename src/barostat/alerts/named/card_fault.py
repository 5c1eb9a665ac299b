"""A card is broken or waits for a reset.

Meaning: an uncorrectable memory error within the last hour, memory that could not be remapped, or
an Xid that means the card, its memory or its link.
Impact: the engine on it dies or computes wrongly; it does not get better.
Evidence: DCGM_FI_DEV_ECC_DBE_VOL_TOTAL, DCGM_FI_DEV_ROW_REMAP_FAILURE, DCGM_FI_DEV_XID_ERRORS;
gpu_ecc_uncorrect_total of AMD's exporter.
Not evidence: Xid 13, 31, 43 and 45 and the like: a software error on a card that keeps working.
Corrected errors.
Mitigation: cordon the node, move the replica, reset or replace the card.
Source: NVIDIA, Xid Errors (the catalogue of this house: `catalog/xid.py`); dcgm-exporter's
counters; AMD device-metrics-exporter.
"""

from __future__ import annotations

from barostat.alerts.alert import Alert
from barostat.alerts.cards import BROKEN_AMD, amd, card_matchers
from barostat.alerts.terms import Terms
from barostat.catalog.xid import XIDS

FATAL = tuple(code for code, row in sorted(XIDS.items()) if row.kind == "fatal")


def expression(terms: Terms) -> str:
    """Any of the signs."""
    hour = f"[{terms.span(3600.0)}]"
    found = []
    for matchers in card_matchers(terms):
        found += [
            f"increase(DCGM_FI_DEV_ECC_DBE_VOL_TOTAL{matchers}{hour}) > 0",
            f"DCGM_FI_DEV_ROW_REMAP_FAILURE{matchers} > 0",
            f"increase({amd(BROKEN_AMD, matchers)}{hour}) > 0",
            _xids(matchers),
        ]
    return " or ".join(f"({one})" for one in found)


def _xids(matchers: str) -> str:
    """The last Xid where it is a fatal one: runs of codes as bounds."""
    runs: list[list[int]] = []
    for code in FATAL:
        if runs and code == runs[-1][-1] + 1:
            runs[-1].append(code)
        else:
            runs.append([code])
    name = f"DCGM_FI_DEV_XID_ERRORS{matchers}"
    return " or ".join(
        f"{name} == {run[0]}" if len(run) == 1 else f"{name} >= {run[0]} <= {run[-1]}"
        for run in runs
    )


ALERT = Alert(
    "BarostatCardFault", "a card is broken or waits for a reset", "critical", "card", expression,
    "{{ or $labels.Hostname $labels.hostname $labels.instance }}: card {{ or $labels.gpu $labels.gpu_id }} is broken or waits for a reset "
    "({{ $value | humanize }})",
    holds_s=0.0, within_s=120.0, then="barostat diagnose {fleet} --exec-gpu-tools",
    hides=("BarostatCardThrottled", "BarostatStalledTokens", "BarostatEngineDown", "BarostatEngineRestarted", "BarostatSloFastBurn",
           "BarostatSloSlowBurn"),
)  # fmt: skip
