"""`plan --for`: every form names the same choice; what cannot be asked is said before anything is
tried.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.support.page_text import unbroken

from barostat.shells.cli.main import main

ASKED = (
    "plan",
    "Qwen/Qwen3-8B",
    "--for",
    "2 users input=500 output=5 think=1",
    "--slo",
    "ttft=2s",
    "--tp",
    "1",
)


def test_every_form_names_the_same_choice(capsys: pytest.CaptureFixture[str]) -> None:
    words = (*ASKED, "--gpu", "H100,L4", "--price", "H100=2,L4=0.5")
    told = {}
    for form in ("json", "table", "md", "html"):
        assert main([*words, "-o", form]) == 0
        told[form] = unbroken(capsys.readouterr().out)
    document = json.loads(told["json"])
    assert document["chosen"] == "L4 --max-model-len 3072"
    assert [one["costPerHour"] for one in document["offers"]] == [0.5, 2.0]
    assert told["table"].splitlines()[0] == "Qwen/Qwen3-8B"
    for form in ("table", "md", "html"):
        assert "1 replica on L4 --max-model-len 3072" in told[form]


def test_none_that_meets_it_is_an_exit_code_of_its_own(capsys: pytest.CaptureFixture[str]) -> None:
    words = [*ASKED, "--gpu", "L4"]
    words[words.index("ttft=2s")] = "ttft=1ms"
    assert main(words) == 1
    assert "None of these meets it" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--price", "H100=free"), "is no price"),
        (("--price", "Z9=2"), "no card goes by 'Z9'"),
        (("--price", "8xH100=20"), "divide 20 by 8"),
        (("-o", "limits"), "not as limits"),
        (("--gpu", "banana"), "no card of the catalogue"),
    ],
)
def test_what_cannot_be_asked(
    words: tuple[str, ...], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*ASKED, *words]) == 2
    assert said in capsys.readouterr().err


def test_no_card_is_offered_for_a_length_that_the_engine_refuses(
    capsys: pytest.CaptureFixture[str],
) -> None:
    main(
        [
            "plan",
            "Qwen/Qwen3-8B",
            "--for",
            "1/s input=2000 output=300",
            "--gpu",
            "H100",
            "--max-model-len",
            "50000",
            "-o",
            "json",
        ]
    )
    told = capsys.readouterr().out
    assert "above the model's own 40,960" in told


def test_a_service_level_without_a_load_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["plan", "Qwen/Qwen3-8B", "--gpu", "H100", "--slo", "ttft=2s"]) == 2
    assert "belongs to --for" in capsys.readouterr().err


def test_a_comparison_says_what_is_short_and_what_an_hour_costs(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert (
        main(
            [
                "plan",
                "meta-llama/Llama-3.1-70B-Instruct",
                "--compare",
                "H100,L40S --tp 4",
                "--price",
                "H100=2.5",
            ]
        )
        == 1
    )
    told = capsys.readouterr().out
    assert "62.2 short" in told
    assert "2.50" in told
    assert "-62.2" not in told


def test_fp8_kv_on_a_card_that_converts_it_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["plan", "Qwen/Qwen3-8B", "--gpu", "A100", "--kv-cache-dtype", "fp8"]) == 0
    assert "has no fp8 arithmetic" in " ".join(capsys.readouterr().out.split())
    assert main(["plan", "Qwen/Qwen3-8B", "--gpu", "H100", "--kv-cache-dtype", "fp8"]) == 0
    assert "has no fp8 arithmetic" not in " ".join(capsys.readouterr().out.split())


def test_what_the_engines_own_command_line_says_is_kept(capsys: pytest.CaptureFixture[str]) -> None:
    asked = ["plan", "--gpu", "H100", "--for", "0.5/s input=500 output=100", "-o", "json"]
    main([*asked, "--", "vllm", "serve", "Qwen/Qwen3-32B", "-tp", "4", "--max-model-len", "40000"])
    offers = json.loads(capsys.readouterr().out)["offers"]
    assert [(one["alternative"], one["gpus"]) for one in offers] == [("H100", 4)]


def test_costs_are_of_the_load_and_no_row_comes_twice(capsys: pytest.CaptureFixture[str]) -> None:
    command = ["plan", "Qwen/Qwen3-8B", "--for", "10/s input=2000 output=300", "--slo", "ttft=2s"]
    command += ["--gpu", "8xH100,4xH100", "--tp", "4", "--price", "H100=2.5"]
    assert main([*command, "-o", "json"]) == 0
    offers = json.loads(capsys.readouterr().out)["offers"]
    assert len({one["alternative"] for one in offers}) == len(offers)
    assert {one["alternative"].split()[0] for one in offers} == {"4xH100", "8xH100"}
    for one in offers:
        tokens_per_s = one["forecast"]["outputTokensPerSecond"]
        assert tokens_per_s >= 10 * 300
        each = one["costPerMillionOutputTokens"]
        assert each == pytest.approx(one["costPerHour"] / (tokens_per_s * 3600) * 1e6)
        assert one["costPerMillionTokens"] == pytest.approx(each * 300 / 2300)
    assert main(command) == 0
    said = capsys.readouterr().out
    assert "per M output" in said
    assert "2,000 of input to 300 of output" in " ".join(said.split())


def test_machines_that_come_to_the_same_are_one_row(capsys: pytest.CaptureFixture[str]) -> None:
    command = ["plan", "Qwen/Qwen3-32B", "--for", "10/s input=2000 output=300", "--slo", "ttft=2s"]
    assert main([*command, "--gpu", "2xH100,4xH100", "--tp", "2", "-o", "json"]) == 0
    names = [one["alternative"] for one in json.loads(capsys.readouterr().out)["offers"]]
    assert len(names) == len(set(names))


def _trace(tmp_path: Path, longest: int = 500) -> str:
    path = tmp_path / "requests.jsonl"
    path.write_text(
        "".join(
            f'{{"arrival_s": {place / 4}, "input_tokens": {longest if place % 10 else 100}, '
            '"output_tokens": 5}\n'
            for place in range(120)
        )
    )
    return str(path)


def test_the_load_of_a_trace_in_every_form(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    words = ["plan", "Qwen/Qwen3-8B", "--for", "2x", "--trace", _trace(tmp_path), "--tp", "1"]
    words += ["--slo", "ttft=2s", "--gpu", "H100"]
    told = {}
    for form in ("json", "table", "md", "html"):
        assert main([*words, "-o", form]) == 0
        told[form] = unbroken(capsys.readouterr().out)
    need = json.loads(told["json"])["need"]
    assert need["trace"] == "requests.jsonl"
    assert need["requestsPerSecond"] == pytest.approx(8)
    assert (need["inputTokens"], need["outputTokens"], need["spread"]) == (460, 5, None)
    for form in ("table", "md", "html"):
        assert "8 requests/s of 460 + 5 tokens on average (requests.jsonl)" in told[form]
        assert "given to the replicas in turn" in told[form]


def test_a_card_whose_engine_refuses_the_long_ones_is_ruled_out(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    words = ["plan", "Qwen/Qwen3-8B", "--for", "trace", "--gpu", "H100", "--tp", "1"]
    assert main([*words, "--trace", _trace(tmp_path, 50_000)]) == 1
    assert "108 of 120 requests are longer than the engine takes (40,960 tokens)" in unbroken(
        capsys.readouterr().out
    )


def test_lengths_beside_a_load_are_not_lost(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    assert main([*ASKED, "--gpu", "H100", "--input-p50", "100"]) == 2
    assert "write the lengths into it" in capsys.readouterr().err
    assert main([*ASKED, "--gpu", "H100", "--trace", _trace(tmp_path)]) == 2
    assert "lengths and arrivals are those of requests.jsonl" in capsys.readouterr().err
