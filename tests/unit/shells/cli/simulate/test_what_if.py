"""`barostat what-if`: candidates beside today's settings, on the same rows."""

from __future__ import annotations

import argparse
import json
import re
from pathlib import Path
from typing import Any

import pytest

from barostat.core.errors import InputError
from barostat.shells.cli.main import main
from barostat.shells.cli.simulate import what_if

BASE = [
    "what-if", "--workload", "bursty:rate=6,minutes=2,input=400,output=300", "--kv-blocks", "800", "--max-num-seqs", "64",
    "--latency", "base=0.02,prefill=2e-5,kv=2e-8",
]  # fmt: skip


def _run(*more: str) -> int:
    parser = argparse.ArgumentParser()
    what_if.add_parser(parser.add_subparsers())
    arguments = parser.parse_args([*BASE, *more])
    code: int = arguments.run(arguments)
    return code


def _read(capsys: pytest.CaptureFixture[str]) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(capsys.readouterr().out)["candidates"]
    return found


def test_fewer_slots_preempt_less(capsys: pytest.CaptureFixture[str]) -> None:
    assert (
        _run(
            "--set",
            "max-num-seqs=12",
            "--set",
            "watermark=0.1,enable-prefix-caching=false",
            "-o",
            "json",
        )
        == 0
    )
    today, fewer, kept_free = _read(capsys)
    assert [one["name"] for one in (today, fewer, kept_free)] == [
        "today",
        "max-num-seqs=12",
        "watermark=0.1,enable-prefix-caching=false",
    ]
    assert today["preemptions"] > 0
    assert fewer["preemptions"] < today["preemptions"]
    assert fewer["settings"]["maxNumSeqs"] == 12
    assert kept_free["settings"]["maxNumSeqs"] == 64
    assert (kept_free["settings"]["watermarkRatio"], kept_free["settings"]["prefixCaching"]) == (
        0.1,
        False,
    )
    assert len({one["requests"]["total"] for one in (today, fewer, kept_free)}) == 1


def test_what_a_gateway_would_hold_is_told_like_the_rest(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert _run("--set", "edge-kv-budget=11000", "-o", "json") == 0
    today, held = _read(capsys)
    assert held["preemptions"] < today["preemptions"]
    assert held["requests"]["finished"] == held["requests"]["total"] == today["requests"]["total"]
    assert held["durationSeconds"] > 60


@pytest.mark.parametrize(
    "workload",
    [
        "poisson:rate=20,minutes=1,input=200,output=100",
        "closed:clients=60,requests=600,input=200,output=100",
    ],
)
def test_replicas_are_told_by_what_they_yield_together(
    workload: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert (
        _run("--workload", workload, "--set", "replicas=3", "--set", "load=0.333333", "-o", "json")
        == 0
    )
    printed = capsys.readouterr()
    today, several, one = json.loads(printed.out)["candidates"]
    assert "rates are of all together" in printed.out
    for name in ("goodRequestsPerSecond", "requestsPerSecond", "outputTokensPerSecond"):
        assert several["goodput"][name] == pytest.approx(3 * one["goodput"][name], rel=0.01)
        assert several["goodput"][name] > 0.95 * today["goodput"][name]
    assert several["ttftSeconds"]["p99"] < today["ttftSeconds"]["p99"]


def test_other_blocks_take_the_same_memory(capsys: pytest.CaptureFixture[str]) -> None:
    assert _run("--set", "block-size=32", "--set", "kv-blocks=1599", "-o", "json") == 0
    today, larger, more = _read(capsys)
    assert 0.9 * today["preemptions"] < larger["preemptions"] < 1.1 * today["preemptions"]
    assert more["preemptions"] < 0.8 * larger["preemptions"]


def test_the_table_has_a_line_for_each_and_a_column_in_a_narrow_window(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "120")
    assert _run("--set", "max_num_seqs=12") == 0
    rows = [line.split() for line in capsys.readouterr().out.splitlines() if "%" in line]
    assert [row[0] for row in rows] == ["today", "max_num_seqs=12"]
    monkeypatch.setenv("COLUMNS", "80")
    assert _run("--set", "max_num_seqs=12") == 0
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) <= 80
    table = [line for line in lines if line.split()[:1] in (["preempted"], ["today"])]
    assert [line.split()[-2:] for line in table] == [
        ["today", "max_num_seqs=12"],
        [row[-3] for row in rows],
    ]


@pytest.mark.parametrize(
    "wrong", ["max-num-seqs", "slots=3", "max-num-seqs=many", "policy=sjf", "=3"]
)
def test_a_wrong_candidate_is_named(wrong: str) -> None:
    with pytest.raises(InputError, match="--set"):
        _run("--set", wrong)


def test_a_name_that_is_nearly_one_is_told_or_taken_for_it(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with pytest.raises(
        InputError, match=r"no setting is called 'wattermark'; did you mean watermark\?"
    ):
        _run("--set", "wattermark=0.1")
    with pytest.raises(InputError, match="no setting is called 'xyz'; barostat what-if --help"):
        _run("--set", "xyz=1")
    with pytest.raises(InputError, match="acts on what the twin does not model"):
        _run("--set", "cpu-offload-gb=4")
    assert _run("--set", "max-num-seqs=12", "--set", "max-num-seq=12", "-o", "json") == 0
    whole, beginning = _read(capsys)[1:]  # vLLM too takes a beginning that only one has
    assert beginning | {"name": whole["name"]} == whole


def test_without_a_candidate_it_says_how_to_give_one(capsys: pytest.CaptureFixture[str]) -> None:
    assert _run() == 0
    assert "--set NAME=VALUE" in capsys.readouterr().err
    assert _run("--set", "max-num-seqs=12") == 0
    assert "--set" not in capsys.readouterr().err


def test_without_traffic_only_that_is_asked_for(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["what-if"]) == 2
    said = capsys.readouterr().err
    assert "which traffic" in said
    assert said.count("\n") == 1


def test_a_wrong_candidate_is_told_before_the_engine_is_looked_at(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["what-if", "--from", "http://127.0.0.1:9", "--set", "slots=3"]) == 2
    assert "--set slots=3" in capsys.readouterr().err


BUNDLES = Path(__file__).parents[4] / "data/bundles"


def test_a_bundle_gives_configuration_traffic_and_pace(capsys: pytest.CaptureFixture[str]) -> None:
    command = [
        "what-if",
        "--from",
        str(BUNDLES / "kv-preemption-thrash"),
        "--set",
        "max-num-seqs=8",
        "--runs",
        "2",
        "--duration",
        "2m",
    ]
    assert main([*command, "-o", "json"]) == 0
    found = json.loads(capsys.readouterr().out)
    today, fewer = found["candidates"]
    assert today["settings"]["kvBlocks"] == 64
    assert found["traffic"]["clients"] == 40
    assert found["pace"]["baseSeconds"] > 0
    # The engine that was recorded made 652 tokens/s and preempted 1.47 times a second.
    assert today["outputTokensPerSecond"]["mean"] == pytest.approx(652, rel=0.15)
    assert today["preemptionsPerSecond"]["mean"] == pytest.approx(1.47, rel=0.35)
    assert today["running"]["mean"] == pytest.approx(12, rel=0.1)
    assert fewer["preemptionsPerSecond"]["mean"] < today["preemptionsPerSecond"]["mean"] / 2
    assert main([*command[:-1], "1m"]) == 0
    printed = capsys.readouterr()
    assert "measured" in printed.out
    assert "max-num-seqs=8: better:" in printed.out
    assert "40 clients" in printed.out
    assert main([*command[:-3], "1", "--duration", "1m"]) == 0
    assert (
        "max-num-seqs=8: no significant difference from today" in capsys.readouterr().out
    )  # one run decides nothing


LENGTHY = (
    pytest.param(name, marks=pytest.mark.sweep) for name in ("slot-bound", "kv-admission-queueing")
)


@pytest.mark.parametrize("name", ["healthy-busy", "prefill-bound", *LENGTHY])
def test_the_twin_of_today_is_near_what_the_engine_measured(
    name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["what-if", "--from", str(BUNDLES / name), "--runs", "2", "-o", "json"]) == 0
    found = json.loads(capsys.readouterr().out)
    (today,) = found["candidates"]
    assert today["outputTokensPerSecond"]["mean"] == pytest.approx(
        found["measured"]["outputTokensPerSecond"], rel=0.12
    )
    assert today["running"]["mean"] == pytest.approx(found["measured"]["running"], rel=0.1, abs=0.7)
    assert today["kvUsageRatio"]["mean"] == pytest.approx(
        found["measured"]["kvUsageRatio"], abs=0.09
    )


def test_what_was_not_seen_is_said_with_the_flag_that_supplies_it(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert (
        main(["what-if", "--from", str(BUNDLES / "healthy-idle"), "--set", "max-num-seqs=8"]) == 2
    )
    said = capsys.readouterr().err
    assert "--latency" in said
    assert "--workload" in said
    given = ["--latency", "base=0.02", "--workload", "poisson:rate=1,minutes=2"]
    assert (
        main(
            [
                "what-if",
                "--from",
                str(BUNDLES / "healthy-idle"),
                "--set",
                "max-num-seqs=8",
                *given,
                "--runs",
                "2",
            ]
        )
        == 0
    )
    assert main(["what-if", "--set", "max-num-seqs=8", "--kv-blocks", "100"]) == 2


def test_a_live_workload_is_simulated(capsys: pytest.CaptureFixture[str]) -> None:
    live = f"live:{BUNDLES / 'slot-bound'}"
    assert main(["simulate", "--workload", live, "-o", "json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["settings"]["maxNumSeqs"] == 4
    assert found["outputTokens"] / found["durationSeconds"] == pytest.approx(422, rel=0.15)


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (["--runs", "0"], "--runs: belongs to --from"),
        (["--runs", "5"], "--runs: belongs to --from"),
        (["--duration", "1m"], "--duration: belongs to --from"),
        (["--clients", "3"], "--clients: belongs to a running engine; say which with --from"),
        (["--gpu", "H100"], "--gpu H100: has no effect without --model-config"),
        (
            ["--set", "tensor-parallel-size=2"],
            "cannot be computed without the model's shape (--model-config) and the card (--gpu)",
        ),
        (["--set", "gpu=Voodoo2"], "no card of the catalogue"),
        (["--slo-ttft", "-1"], "--slo-ttft: must be above 0 seconds, not -1"),
        (
            ["--workload", "live:http://localhost:1"],
            "is simulate's; here say --from http://localhost:1",
        ),
        (["--slo-itl", "0"], "--slo-itl: must be above 0 seconds, not 0"),
    ],
)
def test_an_option_that_cannot_act_is_refused(
    more: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*BASE, *more]) == 2
    assert said in capsys.readouterr().err


def test_runs_and_their_length_belong_to_traffic_that_was_seen(
    capsys: pytest.CaptureFixture[str],
) -> None:
    seen = ["what-if", "--from", str(BUNDLES / "slot-bound")]
    assert main([*seen, "--runs", "0"]) == 2
    assert "--runs 0: must be 1 to 100" in capsys.readouterr().err
    assert main([*seen, "--workload", "poisson:rate=1", "--duration", "1m"]) == 2
    assert "--duration: belongs to --from without" in capsys.readouterr().err


RECKONED = [
    "what-if", "--workload", "poisson:rate=4,input=1500,output=400,minutes=0.5", "--model-config", "Qwen/Qwen3-8B", "--gpu", "H100",
    "--kv-blocks", "800", "--max-model-len", "8192",
]  # fmt: skip


def test_what_steps_may_be_off_by_stands_beside_every_forecast(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Steps that are reckoned come with an interval, in the table as in the data; steps that are
    given do not.
    """
    command = [*RECKONED, "--set", "max-num-seqs=4"]
    assert main([*command, "-o", "json"]) == 0
    for one in json.loads(capsys.readouterr().out)["candidates"]:
        faster, slower = one["interval"]
        assert faster["itlSeconds"]["p99"] < one["itlSeconds"]["p99"] < slower["itlSeconds"]["p99"]
    assert main(command) == 0
    told = capsys.readouterr().out
    assert len(re.findall(r"^ *(?:today|max-num-seqs=4) .* ms to .* ms ", told, re.MULTILINE)) == 2
    assert main([*command, "-o", "html"]) == 0
    assert "How far off it may be" in capsys.readouterr().out
    assert main([*command, "--step-time", "0.03", "-o", "html"]) == 0
    assert "How far off it may be" not in capsys.readouterr().out
    assert main([*command, "--step-time", "0.03"]) == 0
    assert "if steps are off" not in capsys.readouterr().out


def test_a_tier_spares_reckoned_steps_what_preemptions_threw_out(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main([*RECKONED, "--set", "kv-offloading-size=10", "-o", "json"]) == 0
    today, spared = json.loads(capsys.readouterr().out)["candidates"]
    assert today["recomputedTokens"] > 0
    assert spared["recomputedTokens"] == 0
    assert spared["ttftSeconds"]["mean"] < today["ttftSeconds"]["mean"]


def test_a_candidate_that_would_not_start_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    command = [
        "what-if",
        "--workload",
        "poisson:rate=1,minutes=0.5",
        "--kv-blocks",
        "900",
        "--step-time",
        "0.03",
        "--max-model-len",
        "8192",
    ]
    assert main([*command, "--set", "watermark=0.02"]) == 0
    assert "WOULD NOT START" not in capsys.readouterr().out
    assert main([*command, "--set", "watermark=0.02", "--set", "kv-blocks=500"]) == 1
    assert (
        "kv-blocks=500 WOULD NOT START: one request of max_model_len 8,192"
        in capsys.readouterr().out
    )


def test_without_graphs_only_the_pool_is_reckoned_and_it_is_said(
    capsys: pytest.CaptureFixture[str],
) -> None:
    planned = [word for word in RECKONED if word not in ("--kv-blocks", "800")]
    assert main([*planned, "--set", "enforce-eager=true"]) == 0
    assert "only the pool is recalculated" in capsys.readouterr().out


SMALL = ["--workload", "poisson:rate=2,minutes=2,input=300,output=100", "--kv-blocks", "400", "--step-time", "0.03"]  # fmt: skip


@pytest.mark.parametrize(
    ("more", "code", "outlook"),
    [
        (["--set", "max-num-seqs=32", "--slo-ttft", "10"], 0, "meets"),
        (["--set", "load=20", "--slo-ttft", "1"], 1, "misses"),
        (["--set", "load=20", "--set", "watermark=0.01", "--slo-ttft", "10"], 0, "meets"),
        (["--set", "load=20"], 0, None),
        (["--slo-ttft", "0.001"], 1, "misses"),
    ],
)
def test_against_an_slo_there_is_a_verdict_and_a_code(
    more: list[str], code: int, outlook: str | None, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["what-if", *SMALL, *more, "-o", "json"]) == code
    verdict = json.loads(capsys.readouterr().out)["verdict"]
    assert (verdict["outlook"] if verdict else None) == outlook
    assert main(["what-if", *SMALL, *more]) == code
    said = capsys.readouterr().out
    assert ("Service level:" in said) is (outlook is not None)
    assert ("MISSES" in said) is (outlook == "misses" or ("load=20" in more and bool(outlook)))


def test_a_running_engine_is_held_to_an_slo_in_every_format(
    capsys: pytest.CaptureFixture[str],
) -> None:
    asked = [
        "what-if",
        "--from",
        str(BUNDLES / "kv-preemption-thrash"),
        "--runs",
        "1",
        "--duration",
        "40s",
    ]
    asked += ["--set", "load=2,input=3x,output=1.5x", "--slo-ttft", "2"]
    assert main([*asked, "-o", "json"]) == 1
    found = json.loads(capsys.readouterr().out)
    today, tomorrow = found["candidates"]
    assert found["verdict"] == {"outlook": "misses", "holding": []}
    assert tomorrow["sloOutlook"] == "misses"
    assert tomorrow["ttftMeanSeconds"]["mean"] > today["ttftMeanSeconds"]["high"]
    assert main([*asked, "-o", "html"]) == 1
    page = capsys.readouterr().out
    assert "verdict critical" in page
    assert "SLO MISSED" in page
    assert main(asked) == 1
    said = capsys.readouterr()
    assert "Notes:" in said.out
    assert "traffic seen" in said.out
    assert "traffic seen" not in said.err
