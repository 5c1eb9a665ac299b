"""How often each alert would have fired where nothing was wrong: measured by
tests/integration/test_alert_rules.py, which plays these.

A recording is played for an hour (dev/promtool_series.py): what was recorded is repeated, its
counters going on.
"""

from __future__ import annotations

from collections.abc import Mapping

HOUR_S = 3600.0
RECORDINGS: Mapping[str, str] = {
    "healthy-busy": "41 clients in a pool that is 97 % full for ever, and nobody waits",
    "healthy-idle": "no request at all",
    "healthy-changing": (
        "a quarter of an hour of changing traffic: few, many, fewer and longer, none, clients "
        "that think, growing"
    ),
    "few-large-healthy": "two of the longest prompts at a time in a pool of 63 blocks",
}
"""Healthy engines, recorded (real vLLM 0.32.0, in tests/data/bundles and tests/data/alerts); a
fifth hour is the first with usage at 96 % and the card's memory at 92 % throughout.
"""
HOURS = len(RECORDINGS) + 1
FIRED: Mapping[str, int] = {}
"""Number of times each alert fired in those hours; alerts not listed never fired."""


def said_of(name: str) -> str:
    """The sentence on the alert's page."""
    times = FIRED.get(name, 0)
    return (
        f"In the {HOURS} recorded healthy hours it would have fired {times} "
        f"time{'' if times == 1 else 's'}."
    )
