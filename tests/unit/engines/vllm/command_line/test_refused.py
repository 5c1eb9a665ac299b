"""What vLLM's own parser would refuse, with what was meant."""

from __future__ import annotations

import pytest

from barostat.catalog.settings.table import SETTINGS
from barostat.core.version import parse_version
from barostat.engines.vllm.command_line.arguments import parse
from barostat.engines.vllm.command_line.refused import refused_arguments


def told(words: str, version: str) -> list[tuple[str, bool]]:
    known = parse_version(version)
    assert known is not None
    return [
        (found.because, found.sure)
        for found in refused_arguments(parse(["vllm", "serve", "m", *words.split()], {}), known)
    ]


def test_an_argument_that_is_gone_is_refused_from_then_on() -> None:
    ((because, sure),) = told("--swap-space 4", "0.32.0")
    assert "--swap-space does not exist since vLLM 0.18.0" in because
    assert sure
    assert told("--swap-space 4", "0.17.0") == []


def test_an_argument_that_was_not_there_yet_is_refused() -> None:
    ((because, sure),) = told("--watermark 0.05", "0.20.0")
    assert "came with vLLM 0.24.0" in because
    assert sure


def test_a_slip_of_the_hand_is_met_with_the_name_meant() -> None:
    ((because, sure),) = told("--max-modle-len 4096", "0.32.0")
    assert (
        because == "--max-modle-len is no argument of vLLM 0.32.0 (did you mean --max-model-len?)"
    )
    assert sure


@pytest.mark.parametrize(
    "words",
    [
        "--max-model-len 4096 -tp 2 --port 9",
        "--enable-auto-tool-choice",
        "--no-enable-prefix-caching",
        "--api-key k",
    ],
)
def test_what_is_known_is_not_refused(words: str) -> None:
    assert told(words, "0.32.0") == []


def test_an_argument_that_the_catalogue_lacks_is_not_surely_wrong() -> None:
    assert [sure for _, sure in told("--something-of-tomorrow x", "0.32.0")] == [False]


@pytest.mark.parametrize(
    ("words", "value"),
    [
        ("--block-size foo", "'foo'"),
        ("--max-num-seqs 1e3", "'1e3'"),
        ("--gpu-memory-utilization nan", "'nan'"),
        ("--gpu-memory-utilization=90%", "'90%'"),
        ("--max-num-seqs 99999999999999999999", "'99999999999999999999'"),
    ],
)
def test_a_value_that_cannot_be_read_is_refused(words: str, value: str) -> None:
    version = parse_version("0.32.0")
    assert version is not None
    (found,) = refused_arguments(parse(["vllm", "serve", "m", *words.split()], {}), version)
    assert (found.value, found.sure) == (value, True)
    assert found.because == f"{SETTINGS[found.name].option}: {value} is not a valid value"


@pytest.mark.parametrize(
    "words",
    ["--max-num-seqs $(N)", "--max-model-len auto", "--max-model-len 8k", "--max-num-seqs None"],
)
def test_a_value_that_others_fill_in_or_that_says_nothing_is_not_refused(words: str) -> None:
    assert told(words, "0.32.0") == []
