"""What belongs together stays on one line, and nothing long is made unbreakable."""

from __future__ import annotations

import re

import pytest

from barostat.shells.reports.sheet.html.line_breaks import kept_whole


@pytest.mark.parametrize(
    ("text", "whole"),
    [
        ("TTFT p99 1,234.5 ms, at most 5 s", ["1,234.5 ms", "5 s"]),
        ("<code>--max-num-seqs 8 --tp 2</code>", ["--max", "--tp"]),
        ("again: barostat plan --compare -o json", ["--compare", "-o json"]),
        ("5 seconds, 3 states, vllm-5 s3, 2 d/w", []),
        (
            (
                "<p title='5 s'>none</p><svg viewBox='0 0 1 1'><title>5 s</title><text>5 "
                "s</text></svg>"
            ),
            [],
        ),
        (f"--{'z' * 300} -o {'z' * 300} {'9' * 300} s", [f"--{'z' * 16}", f"-o {'z' * 9}"]),
    ],
)
def test_numbers_with_units_flags_and_forms(text: str, whole: list[str]) -> None:
    assert re.findall("<span class='whole'>(.*?)</span>", kept_whole(text)) == whole


def test_the_words_stay_what_they_were() -> None:
    text = "needs 5 s: <b>--watermark 0.2</b> &lt;b&gt; 9 ms"
    assert re.sub("</?span.*?>", "", kept_whole(text)) == text
