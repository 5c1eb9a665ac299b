"""Each verb that describes an engine takes the same settings, and reads them as vLLM does."""

from __future__ import annotations

import argparse

import pytest

from barostat.core.errors import InputError
from barostat.shells.cli.engine_options import OFFERED, add_engine_settings, given_words
from barostat.shells.cli.main import main

VERBS = ("plan", "simulate", "what-if", "tune", "twin")


def parsed(*words: str) -> argparse.Namespace:
    own = argparse.ArgumentParser()
    add_engine_settings(own)
    return own.parse_args(words)


@pytest.mark.parametrize("verb", VERBS)
def test_each_verb_has_each_setting(verb: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main([verb, "--help"])
    text = capsys.readouterr().out
    for setting in OFFERED:
        assert f"{setting.option} " in text or f"{setting.option}," in text, setting.name


def test_plan_takes_the_flag_of_simulate(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["plan", "--model", "Qwen/Qwen3-8B", "--gpu", "H100", "-o", "args"]
    assert main([*words, "--max-cudagraph-capture-size", "64"]) == 0
    assert "--max-cudagraph-capture-size 64" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "name", "value"),
    [
        (["--max-model-len", "4k"], "max_model_len", 4000),
        (["--max-model-len", "auto"], "max_model_len", -1),
        (["--kv-cache-memory-bytes", "2G"], "kv_cache_memory_bytes", 2 * 1024**3),
        (["-tp", "2"], "tensor_parallel_size", 2),
        (["--tp", "2"], "tensor_parallel_size", 2),
        (["--policy", "priority"], "scheduling_policy", "priority"),
        (["--max-queued-requests", "9"], "max_num_queued_reqs", 9),
        (["--no-reserve-full-isl"], "scheduler_reserve_full_isl", False),
        (["--watermark", "0.05"], "watermark", 0.05),
    ],
)
def test_values_are_read_as_vllm_reads_them(words: list[str], name: str, value: object) -> None:
    assert getattr(parsed(*words), name) == value


def test_what_is_given_becomes_vllm_s_own_arguments() -> None:
    found = parsed("--policy", "priority", "--tp", "2", "--no-enable-prefix-caching", "--watermark", "0.05")  # fmt: skip
    assert given_words(found, besides=("tensor_parallel_size",)) == [
        "--no-enable-prefix-caching",
        "--scheduling-policy",
        "priority",
        "--watermark",
        "0.05",
    ]


@pytest.mark.parametrize(
    "words", [["--watermark", "1"], ["--tp", "0"], ["--max-model-len", "-2"], ["--dp", "x"]]
)
def test_a_value_out_of_bounds_names_its_option(words: list[str]) -> None:
    with pytest.raises(InputError, match="no value that an engine can have"):
        parsed(*words)
