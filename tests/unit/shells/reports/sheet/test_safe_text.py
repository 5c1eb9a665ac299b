"""Text from outside is shown and never obeyed."""

from __future__ import annotations

import re
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from barostat.shells.reports.sheet.safe_text import code, escape, in_markdown, in_mermaid


def test_markup_is_shown_and_control_and_direction_characters_are_written_out() -> None:
    assert escape('<b a="\'">&') == "&lt;b a=&quot;&#x27;&quot;&gt;&amp;"
    assert escape("\x1b[31m\x00\u202e\u2066") == "\\x1b[31m\\x00\\u202e\\u2066"
    assert escape("a\tb\nc\r") == "a\tb\nc "


@given(st.text(st.characters(codec=None, categories=None)))
def test_whatever_it_is_it_stands_in_a_page_as_text(text: str) -> None:
    root = ElementTree.fromstring(f'<p title="{escape(text)}">{escape(text)}</p>')
    assert list(root) == []


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


@given(st.text())
def test_a_label_of_mermaid_is_one_quoted_text(text: str) -> None:
    told = in_mermaid(text)
    assert re.fullmatch(r'"[\w .,/#;-]*"', told)
