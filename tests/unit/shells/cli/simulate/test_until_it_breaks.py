"""`--until-it-breaks`: where an engine is lost, in words and as data; a load without a rate of its
own is refused.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from barostat.shells.cli.main import main

SLOT_BOUND = Path(__file__).parents[4] / "data" / "bundles" / "slot-bound"
LOAD = (
    "--workload",
    "poisson:rate=2,minutes=0.3,input=100,output=20",
    "--kv-blocks",
    "200",
    "--step-time",
    "0.05",
)


def test_one_engine_and_candidates_beside_it(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["simulate", *LOAD, "--until-it-breaks", "--slo-ttft", "1"]) == 0
    told = capsys.readouterr().out
    assert told.startswith("It holds up to ")
    assert "bisected to 3%" in " ".join(told.split())
    assert (
        main(
            [
                "what-if",
                *LOAD,
                "--until-it-breaks",
                "--slo-ttft",
                "1",
                "--set",
                "max-num-seqs=2",
                "-o",
                "json",
            ]
        )
        == 0
    )
    today, fewer = json.loads(capsys.readouterr().out)["candidates"]
    assert fewer["holdsAtLoad"] < today["holdsAtLoad"]
    assert f"{today['holdsAtLoad']:.3g}x" in told


def test_a_candidate_takes_its_own_steps(capsys: pytest.CaptureFixture[str]) -> None:
    load = (
        "--workload",
        "poisson:rate=4,minutes=0.2,input=3000,output=20",
        "--model-config",
        "Qwen/Qwen3-8B",
        "--gpu",
        "H100",
    )
    main(
        [
            "what-if",
            *load,
            "--until-it-breaks",
            "--slo-ttft",
            "0.5",
            "--set",
            "tensor-parallel-size=2",
            "-o",
            "json",
        ]
    )
    told = capsys.readouterr()
    today, two = json.loads(told.out)["candidates"]
    assert two["holdsAtLoad"] > 1.3 * today["holdsAtLoad"]
    assert "on 2 x H100" in told.err


def test_a_candidate_beside_an_engine_that_was_seen_has_the_pool_that_follows(
    capsys: pytest.CaptureFixture[str],
) -> None:
    seen = (
        "--from",
        str(SLOT_BOUND),
        "--model-config",
        "Qwen/Qwen3-8B",
        "--gpu",
        "H100",
        *LOAD[:2],
    )
    assert main(
        [
            "what-if",
            *seen,
            "--until-it-breaks",
            "--slo-ttft",
            "5",
            "--set",
            "tensor-parallel-size=2",
        ]
    ) in (0, 1)
    assert "--set tensor-parallel-size=2: the pool is reckoned as" in capsys.readouterr().err


def test_a_load_that_it_does_not_carry_is_a_finding(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["simulate", *LOAD, "--until-it-breaks", "--slo-ttft", "0.01"]) == 1
    assert "lost at any load" in capsys.readouterr().out


def test_what_is_too_long_for_any_load_hides_no_load_that_is_carried(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Three of 40 requests are longer than the engine takes. Without an SLO the others tell; with
    one, 99 % can never be good.
    """
    run = [
        "simulate",
        "--workload",
        "poisson:rate=2,minutes=0.3,input=100,output=20",
        *LOAD[2:],
        "--max-model-len",
        "170",
        "--until-it-breaks",
    ]
    assert main(run) == 0
    told = capsys.readouterr()
    assert told.out.startswith("It holds up to ")
    assert "are longer than max_model_len 170, and refused however little comes\n" in told.err
    assert main([*run, "--slo-ttft", "10"]) == 1
    told = capsys.readouterr()
    assert "lost at any load" in told.out
    assert "so no load has 99% good" in told.err


def test_what_comes_at_one_instant_has_no_rate(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    trace = tmp_path / "batch.jsonl"
    trace.write_text('{"arrival_s": 3, "input_tokens": 100, "output_tokens": 20}\n' * 30)
    assert main(["simulate", "--trace", str(trace), *LOAD[2:], "--until-it-breaks"]) == 2
    assert "all 30 requests come at one instant" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--workload", "closed:clients=4,requests=40"), "their number"),
        (("--workload", "poisson:rate=1,minutes=0.1"), "too few"),
        (("--html", "page.html", *LOAD[:2]), "goes without --until-it-breaks"),
    ],
)
def test_what_cannot_be_broken(
    words: tuple[str, ...], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["simulate", *words, *LOAD[2:], "--until-it-breaks"]) == 2
    assert said in capsys.readouterr().err


def test_a_scaled_candidate_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["what-if", *LOAD, "--until-it-breaks", "--set", "load=2"]) == 2
    assert "settings of the engine alone" in capsys.readouterr().err
