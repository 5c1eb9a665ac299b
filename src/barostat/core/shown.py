"""A report that has been made safe for output, as a type of its own.

A renderer asks for `ShownReport`, and the type checker refuses it a report that has not been
through.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import NewType

from barostat.core.diagnosis import ReplicaReport, Report
from barostat.core.redaction.credentials import clean
from barostat.core.redaction.values import every_text
from barostat.core.visible import one_line

ShownReport = NewType("ShownReport", Report)
"""A report in which every text is one line, without credentials, and holds no character that acts
instead of being seen.
"""


def safe_texts() -> Callable[[str], str]:
    """Return a function that makes a text safe for output. A thousand replicas share most of their
    sentences: each is gone through once.
    """
    return cache(lambda text: one_line(clean(text)))


def shown_report(report: Report, *, replicas_are_safe: bool = False) -> ShownReport:
    """The report as it may be shown, in every form. `replicas_are_safe`: the texts of its replicas
    have been through `safe_texts` before.
    """
    already = frozenset({ReplicaReport}) if replicas_are_safe else frozenset()
    return ShownReport(every_text(report, safe_texts(), already))
