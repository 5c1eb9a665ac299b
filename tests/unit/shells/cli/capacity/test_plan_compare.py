"""A comparison of nothing is refused."""

from __future__ import annotations

import json

import pytest
from tests.support.page_text import unbroken

from barostat.shells.cli.main import main


@pytest.mark.parametrize("given", ["", " ", ","])
def test_a_comparison_of_nothing_says_so(given: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["plan", "--model", "Qwen/Qwen3-8B", "--compare", given]) == 2
    assert "names no card" in capsys.readouterr().err


@pytest.mark.parametrize("more", [[], ["--price", "H100=2.5"]])
def test_numbers_stand_right_with_prices_and_without(
    more: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    command = ["plan", "--model", "Qwen/Qwen3-8B", "--compare", "H100,L40S", *more]
    assert main([*command, "-o", "html"]) == 0
    page = capsys.readouterr().out
    assert "<th>concurrency</th>" in page
    assert "<th>starts</th>" in page
    assert main(command) == 0
    lines = capsys.readouterr().out.splitlines()
    first = next(place for place, line in enumerate(lines) if line.startswith("alternative"))
    head, *rows = lines[first : first + 3]
    end = head.index("concurrency") + len("concurrency")
    assert all(row[end - 1 : end + 1] in ("x", "x ") for row in rows)


@pytest.mark.sweep
def test_a_page_of_cards_draws_what_was_promised(capsys: pytest.CaptureFixture[str]) -> None:
    command = [
        "plan",
        "Qwen/Qwen3-8B",
        "--for",
        "1/s input=500 output=100",
        "--slo",
        "ttft=2s,itl=15ms",
        "--gpu",
        "H100",
        "-o",
        "html",
    ]
    assert main(command) == 0
    page = unbroken(capsys.readouterr().out)
    assert "<span> limit 15 ms</span>" in page


def test_a_quote_that_is_not_closed_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["plan", "--model", "Qwen/Qwen3-8B", "--compare", "H100 --tp '2"]) == 2
    assert "is no command line (no closing quotation)" in capsys.readouterr().out


def test_a_price_gives_the_cost_of_an_hour_and_of_tokens(
    capsys: pytest.CaptureFixture[str],
) -> None:
    command = ["plan", "Qwen/Qwen3-8B", "--compare", "H100,L40S", "--price", "H100=2.5,L40S=0.9"]
    assert main([*command, "-o", "json"]) == 0
    first, second = json.loads(capsys.readouterr().out)["plans"]
    assert (first["costPerHour"], second["costPerHour"]) == (2.5, 0.9)
    assert 0.02 < first["costPerMillionOutputTokens"] < 2
    assert first["costPerMillionTokens"] == pytest.approx(
        first["costPerMillionOutputTokens"] * 300 / 1300
    )
    assert main(command) == 0
    assert "1,000 tokens of input and 300 of output" in " ".join(capsys.readouterr().out.split())
