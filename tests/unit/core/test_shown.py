"""A report that may be shown holds neither secrets nor what acts, in any of its texts."""

from __future__ import annotations

from barostat.core.diagnosis import Diagnosis, Report
from barostat.core.shown import shown_report


def test_every_text_of_a_report_is_seen_and_clean() -> None:
    for told, expected in (
        ("\x9b2J\x07 \nhealthy\u202e", "\\u009b2J\\x07 healthy\\u202e"),
        # Characters that nobody sees are dropped where they may have hidden a credential.
        ("\x9b2J\x07 hf_a1B2c3D4e5F6g7H8\nhealthy\u202e", "2J [redacted] healthy"),
    ):
        report = Report(1.0, told, (), Diagnosis("unknown", "info", 0.0, told), (told,))
        found = shown_report(report)
        for text in (found.target, found.fleet.summary, *found.problems):
            assert text == expected
