"""Every form in which a vLLM command line is written reads to the same settings; nothing raises."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from barostat.engines.vllm.command_line.arguments import parse

SAME = [
    ["vllm", "serve", "org/m", "--max-num-seqs", "32", "--enforce-eager"],
    ["--model", "org/m", "--max-num-seqs=32", "--enforce-eager"],
    ["org/m", "--max_num_seqs", "32", "--enforce_eager"],
    ["serve", "org/m", "--max-num-seqs", "32", "--enforce-eager"],
    [
        "python3",
        "-m",
        "vllm.entrypoints.openai.api_server",
        "--model=org/m",
        "--max_num_seqs=32",
        "--enforce-eager",
    ],
    [
        "sh",
        "-c",
        "sleep 1; exec vllm serve org/m --max-num-seqs 32 --enforce-eager 2>&1 | tee /log --append",
    ],
    [
        "/bin/bash",
        "-lc",
        "source x && vllm serve 'org/m' \\\n  --max-num-seqs \"32\" \\\n  --enforce-eager",
    ],
    [
        "/bin/sh",
        "-c",
        'exec vllm serve "$@"',
        "--",
        "org/m",
        "--max-num-seqs",
        "32",
        "--enforce-eager",
    ],
    [
        "/bin/bash",
        "-euo",
        "pipefail",
        "-c",
        "M=org/m; N=32\nvllm serve $M --max-num-seqs ${N} --enforce-eager",
    ],
    "vllm serve org/m --max-num-seqs 16 --enforce-eager --max-num-seqs 32",
    (
        "/usr/bin/python -m vllm.entrypoints.openai.api_server --model org/m --max-num-seqs=32 "
        "--enforce-eager # --max-num-seqs 99"
    ),
    "--model org/m --max-num-seqs 32 --enforce-eager",
    ["vllm serve", "org/m", "--max-num-seqs 32", "--enforce-eager"],
]


@pytest.mark.parametrize("args", SAME, ids=str)
def test_every_form_says_the_same(args: list[str] | str) -> None:
    line = parse(args)
    assert (line.model, line.text("max_num_seqs"), line.text("enforce_eager")) == (
        "org/m",
        "32",
        "true",
    )
    assert set(line.settings) - {"model"} == {"max_num_seqs", "enforce_eager"}


def test_assignments_before_the_program_are_its_environment() -> None:
    line = parse("export A=1 && B='two words' vllm serve m")
    assert line.env == {"A": "1", "B": "two words"}


def test_references_are_resolved_from_the_environment() -> None:
    line = parse(
        ["--max-model-len", "$(LEN)", "--port=${PORT}", "--max-num-seqs", "$(GONE)"],
        {"LEN": "4096", "PORT": "8001"},
    )
    assert (line.text("max_model_len"), line.text("port"), line.text("max_num_seqs")) == (
        "4096",
        "8001",
        None,
    )
    assert any("GONE" in problem for problem in line.problems)


def test_a_reference_can_carry_its_default() -> None:
    assert parse("vllm serve m --max-num-seqs ${N:-8}").text("max_num_seqs") == "8"


def test_a_command_substitution_is_not_guessed() -> None:
    line = parse("vllm serve m --tensor-parallel-size $(nvidia-smi -L | wc -l) --max-num-seqs 4")
    assert line.text("tensor_parallel_size") is None
    assert line.text("max_num_seqs") == "4"
    assert line.problems


def test_switches_negated_short_and_nested() -> None:
    line = parse(
        [
            "m/x",
            "--no-enable-prefix-caching",
            "-tp",
            "2",
            "--speculative-config.num_tokens",
            "3",
            "-O3",
            "--enable-chunked-prefill",
            "False",
        ]
    )
    assert line.text("enable_prefix_caching") == "false"
    assert line.text("enable_chunked_prefill") == "false"
    assert line.text("tensor_parallel_size") == "2"
    assert line.text("speculative_config.num_tokens") == "3"
    assert line.text("optimization_level") == "3"


def test_a_switch_does_not_eat_the_next_word() -> None:
    line = parse(["--enforce-eager", "org/m"])
    assert (line.text("enforce_eager"), line.model) == ("true", "org/m")


def test_json_values_stay_whole() -> None:
    wanted = '{"image": 1, "video": 0}'
    for args in (
        ["--limit-mm-per-prompt", wanted],
        [f"--limit-mm-per-prompt={wanted}"],
        [f"--limit-mm-per-prompt {wanted}"],
    ):
        assert parse(args).text("limit_mm_per_prompt") == wanted
    assert (
        parse(f"vllm serve m --limit-mm-per-prompt '{wanted}'").text("limit_mm_per_prompt")
        == wanted
    )


def test_several_names_of_the_model() -> None:
    assert (
        parse(["--served-model-name", "a", "b", "--port", "1234"]).text("served_model_name")
        == "a b"
    )


def test_negative_numbers_are_values() -> None:
    assert parse(["--max-model-len", "-1"]).text("max_model_len") == "-1"


@pytest.mark.parametrize(
    ("note", "name", "text"),
    [
        ("--max-model-len 4096", "max_model_len", "4096"),
        ("max_num_seqs=1", "max_num_seqs", "1"),
        ("gpu_memory_utilization 0.50", "gpu_memory_utilization", "0.50"),
        ("GPU_MEM_UTIL=0.87", "gpu_memory_utilization", "0.87"),
        ("MAX_MODEL_LEN=262144", "max_model_len", "262144"),
        ("-tp 8", "tensor_parallel_size", "8"),
        ("tensor_parallel_size=2 (ray)", "tensor_parallel_size", "2"),
        ("max_num_batched_tokens=2048 (default)", "max_num_batched_tokens", "2048"),
    ],
)
def test_notes_are_read_as_far_as_they_are_sure(note: str, name: str, text: str) -> None:
    line = parse([note])
    assert line.text(name) == text


@pytest.mark.parametrize(
    "note",
    [
        "gpu_memory_utilization tried 0.5/0.9",
        "MAX_NUM_SEQS=3|4",
        "32k context",
        "4 GPUs",
        "input ~1000 output ~5000",
        "dspark n=7",
    ],
)
def test_notes_that_are_not_sure_say_nothing(note: str) -> None:
    line = parse([note])
    assert not line.settings
    assert line.model is None


def test_an_argument_and_its_value_in_one_element_is_noted() -> None:
    assert any(
        "one element" in problem for problem in parse(["--max-num-seqs 4", "--port", "80"]).problems
    )


@pytest.mark.parametrize(
    "args",
    [
        'vllm serve m --chat "never closed --max-num-seqs 4',
        ["sh", "-c", "vllm serve m --x 'a --max-num-seqs 4"],
    ],
)
def test_a_quote_that_is_never_closed_loses_nothing(args: list[str] | str) -> None:
    line = parse(args)
    assert line.text("max_num_seqs") == "4"
    assert any("never closed" in problem for problem in line.problems)


def test_an_argument_without_its_value_is_noted() -> None:
    line = parse(["--max-num-seqs", "--port", "80"])
    assert line.text("max_num_seqs") is None
    assert line.text("port") == "80"
    assert any("--max-num-seqs has no value" in problem for problem in line.problems)


def test_nothing_at_all() -> None:
    assert not parse([]).settings
    assert not parse("").settings


@given(st.one_of(st.text(), st.lists(st.text())))
def test_no_text_raises(args: str | list[str]) -> None:
    line = parse(args)
    assert set(line.settings) == {setting.name for setting in line.occurrences}
