"""The answer of a diagnosis: how bad, which cause, how sure."""

from __future__ import annotations

from barostat.core.diagnosis import Diagnosis
from barostat.shells.reports.sheet.blocks import Verdict

WORDS = {"none": "OK", "info": "INFO", "warning": "WARNING", "critical": "CRITICAL"}


def cause_words(diagnosis: Diagnosis) -> str:
    """The cause with its variant in brackets."""
    return f"{diagnosis.cause} ({diagnosis.variant})" if diagnosis.variant else diagnosis.cause


def sure(diagnosis: Diagnosis) -> str:
    """How sure it is, in per cent; `-` where no cause was named."""
    return f"{diagnosis.confidence:.0%}" if diagnosis.cause != "unknown" else "-"


def verdict(diagnosis: Diagnosis) -> Verdict:
    """The cause, how bad, how sure, and the sentence."""
    return Verdict(
        diagnosis.severity,
        WORDS[diagnosis.severity],
        cause_words(diagnosis),
        diagnosis.summary,
        f"{sure(diagnosis)} sure" if diagnosis.cause != "unknown" else "",
    )
