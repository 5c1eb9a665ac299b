"""What a person sees of a plan: within the width of the terminal, in one table for several, and
never a card that was not asked for.
"""

from __future__ import annotations

import argparse

import pytest

from barostat.catalog.cards import find_card
from barostat.core.errors import InputError
from barostat.judge.sizing.answer import CapacityAnswer
from barostat.shells.cli.capacity import plan as plan_verb
from barostat.shells.cli.capacity import plan_compare, plan_inputs
from barostat.shells.reports.capacity.plan_document import plan_document
from barostat.shells.reports.sheet.forms import as_html, as_text
from barostat.shells.reports.wrapped import paragraph


def arguments(*words: str) -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    plan_verb.add_parser(parser.add_subparsers())
    return parser.parse_args(["plan", *words])


def answered(*words: str) -> CapacityAnswer:
    return plan_inputs.answer(plan_inputs.asked(arguments(*words)))


def test_a_paragraph_hangs_under_its_lead() -> None:
    assert paragraph("one two three", "  - ", 12) == ["  - one two", "    three"]
    assert paragraph("", "  - ", 12) == ["  -"]


def _page(answer: CapacityAnswer) -> str:
    return as_html(plan_document(answer))


@pytest.mark.parametrize("model", ["Qwen/Qwen3-8B", "meta-llama/Llama-3.1-70B-Instruct"])
def test_a_whole_plan_stays_within_80_columns(model: str) -> None:
    text = as_text(plan_document(answered("--model", model, "--gpu", "L4")), 80)
    assert max(map(len, text.splitlines())) <= 80


def test_what_is_short_is_said_and_no_negative_amount_shown() -> None:
    answer = answered("--model", "meta-llama/Llama-3.1-70B-Instruct", "--gpu", "L4")
    text = as_text(plan_document(answer), 100)
    assert "short on each GPU" in text
    assert "-11" not in text


def test_the_page_says_where_it_was_planned_for() -> None:
    assert "on 2 x H100-SXM5-80GB, vLLM 0.32.0" in _page(
        answered(
            "--model", "Qwen/Qwen3-8B", "--gpu", "H100", "--tp", "2", "--engine-version", "0.32.0"
        )
    )


@pytest.mark.parametrize("name", ["H1000", "L400", "MI3000", "A1000", "50900"])
def test_a_longer_number_is_another_card(name: str) -> None:
    assert find_card(name) is None


@pytest.mark.parametrize(
    ("name", "card"),
    [("h100x8", "H100-SXM5-80GB"), ("MI300X VF", "MI300X"), ("A100-SXM4-40GB", "A100-SXM4-40GB")],
)
def test_what_follows_a_name_does_not_matter_otherwise(name: str, card: str) -> None:
    found = find_card(name)
    assert found is not None
    assert found.name == card


def test_json_in_an_alternative_is_not_split_at_its_commas(
    capsys: pytest.CaptureFixture[str],
) -> None:
    speculation = 'H100 --speculative-config \'{"method": "ngram", "num_speculative_tokens": 4}\''
    assert (
        plan_compare.run(
            arguments(
                "--model", "Qwen/Qwen3-8B", "--compare", "H100,A100", "--compare", speculation
            )
        )
        == 0
    )
    lines = capsys.readouterr().out.splitlines()
    assert sum(line.startswith(("H100", "A100")) for line in lines) == 3


def test_a_comparison_has_no_limits_file() -> None:
    with pytest.raises(InputError, match="table, json, md or html"):
        plan_verb.run(arguments("--model", "Qwen/Qwen3-8B", "--compare", "H100", "-o", "limits"))


def test_a_page_without_limits_has_no_heading_for_them() -> None:
    page = _page(answered("--model", "meta-llama/Llama-3.1-70B-Instruct", "--gpu", "L4"))
    assert "follow</h2>" not in page
    assert page.endswith("</html>\n")
