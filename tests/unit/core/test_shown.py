"""A report that may be shown holds neither secrets nor what acts, in any of its texts."""

from __future__ import annotations

from barostat.core.diagnosis import Diagnosis, Report
from barostat.core.shown import shown_report


def test_every_text_of_a_report_is_seen_and_clean() -> None:
    told = "\x9b2J\x07 hf_a1B2c3D4e5F6g7H8\nhealthy\u202e"
    found = shown_report(Report(1.0, told, (), Diagnosis("unknown", "info", 0.0, told), (told,)))
    for text in (found.target, found.fleet.summary, *found.problems):
        assert text == "\\u009b2J\\x07 [redacted] healthy\\u202e"
