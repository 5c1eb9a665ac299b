"""`barostat what-if --engine-version`: two versions of one deployment."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from barostat.core.errors import InputError
from barostat.shells.cli.main import parser

BUNDLE = Path(__file__).parents[4] / "data" / "bundles" / "kv-preemption-thrash"
LOAD = (
    "--workload", "closed:clients=64,requests=300,input=900,output=200", "--kv-blocks", "3000", "--max-num-seqs", "256",
    "--latency", "base=0.012,prefill=3e-5,kv=2e-8",
)  # fmt: skip


def run(*words: str) -> int:
    arguments = parser("what-if").parse_args(["what-if", *words])
    code: int = arguments.run(arguments)
    return code


def read(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, dict[str, Any]]:
    code = run(*words, "-o", "json")
    return code, json.loads(capsys.readouterr().out)


def test_the_same_traffic_with_both_versions_rules(capsys: pytest.CaptureFixture[str]) -> None:
    code, found = read(capsys, *LOAD, "--engine-version", "0.18.0..0.33.0")
    assert (code, found["verdict"]) == (3, "watch")
    assert found["traffic"]["before"]["preemptions"] > found["traffic"]["after"]["preemptions"] > 0
    assert any("preemptions" in reason["text"] for reason in found["reasons"])


def test_a_service_level_that_is_lost_is_a_do_not(capsys: pytest.CaptureFixture[str]) -> None:
    _, once = read(capsys, *LOAD, "--engine-version", "0.18.0..0.33.0")
    worse = once["traffic"]["before"]["TTFT p99 in s"]
    assert worse > once["traffic"]["after"]["TTFT p99 in s"]
    # The newer version is the faster one here, so that the way back loses the level between them.
    between = str((worse + once["traffic"]["after"]["TTFT p99 in s"]) / 2)
    code, back = read(
        capsys, *LOAD, "--engine-version", "0.33.0..0.18.0", "--slo-ttft", between
    )  # fmt: skip
    assert back["traffic"]["sloOutlook"] == ["meets", "misses"]
    assert (code, back["verdict"]) == (1, "do-not")


def test_an_engine_that_was_seen_says_which_version_it_is(
    capsys: pytest.CaptureFixture[str],
) -> None:
    _, found = read(capsys, "--from", str(BUNDLE), "--engine-version", "0.33.0")
    assert (found["before"], found["after"]) == ("0.32.0", "0.33.0")
    assert found["traffic"]["before"] == found["traffic"]["after"]


def test_a_limits_file_says_which_version_runs_today(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    limits = tmp_path / "limits.yaml"
    limits.write_text(
        'apiVersion: barostat.dev/v1alpha1\nkind: ServingLimits\nmetadata: {name: a}\nspec: {engineVersion: "0.19.0"}\n'
    )
    _, found = read(capsys, "--limits", str(limits), "--engine-version", "0.20.0")
    assert (found["before"], found["after"]) == ("0.19.0", "0.20.0")


def test_a_pool_is_planned_for_both_where_model_and_card_are_known(
    capsys: pytest.CaptureFixture[str],
) -> None:
    words = ("--model-config", "Qwen/Qwen3-8B", "--gpu", "H100")
    code, found = read(capsys, *words, "--engine-version", "0.32.0..0.32.1")
    pool = found["kvCacheBytesPerGpu"]
    assert pool["before"] == pool["after"] > 10 * 2**30
    assert (code, found["verdict"]) == (0, "safe")


@pytest.mark.parametrize("output", ["table", "md", "html"])
def test_every_form_names_the_verdict_and_the_thread(
    output: str, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ("--model-config", "openai/gpt-oss-120b", "--gpu", "H200", "--tp", "4")
    assert run(*words, "--engine-version", "0.16.0..0.17.0", "-o", output) == 3
    said = capsys.readouterr().out
    assert "WATCH" in said
    assert "vllm-project/vllm#40838" in said


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("--engine-version", "0.33.0"), "which runs today"),
        (("--engine-version", "0.19.0..new"), "is no version"),
        (("--engine-version", "old..0.19.0"), "is no version"),
        ((*LOAD, "--engine-version", "0.19.0..0.20.0", "--set", "watermark=0.1"), "--set"),
        ((*LOAD, "-o", "md"), "two versions"),
    ],
)
def test_what_cannot_be_compared_is_said(words: tuple[str, ...], says: str) -> None:
    with pytest.raises(InputError, match=says):
        run(*words)


def test_a_version_that_the_twin_does_not_know_is_compared_without_it(
    capsys: pytest.CaptureFixture[str],
) -> None:
    _, found = read(capsys, *LOAD, "--engine-version", "0.9.0..0.20.0")
    assert found["traffic"] is None
    assert any("not tried on the twin" in note for note in found["notes"])
