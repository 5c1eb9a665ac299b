"""Text from outside is shown and never obeyed."""

from __future__ import annotations

import pytest

from barostat.shells.reports.sheet.safe_text import code, in_markdown


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("# not a heading", "\\# not a heading"),
        ("1. not a list", "1\\. not a list"),
        ("a | b", "a \\| b"),
        ("![x](http://y/z)", "!\\[x\\](`http://y/z`)"),
        ("<img src=x>", "&lt;img src=x>"),
        ("at www.evil.example, @team", "at `www.evil.example,` `@team`"),
        (
            'vllm:num_requests_running{engine="0"} --max-num-seqs 4',
            'vllm:num_requests_running{engine="0"} --max-num-seqs 4',
        ),
        ("_bold_ **x** ~~y~~", "\\_bold\\_ \\*\\*x\\*\\* \\~~y\\~~"),
        ("two\n\n## lines", "two ## lines"),
    ],
)
def test_markdown_shows_what_is_written(text: str, told: str) -> None:
    assert in_markdown(text) == told


def test_code_stays_code() -> None:
    assert code("a ``` b | c\nd") == "`a ' b \u00a6 c d`"
    assert code(" ") == ""
