"""`barostat tune`: what it answers in each form, and what it refuses."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from barostat.io import parallel_trials
from barostat.io.parallel_trials import Cores
from barostat.judge.experiments.outlook import Outlook
from barostat.judge.experiments.trials import Made, Trial, run_trial
from barostat.judge.experiments.tuning import Results
from barostat.judge.experiments.tuning_proof import Proof
from barostat.judge.experiments.tuning_space import Lever, Space
from barostat.shells.cli.main import main
from barostat.shells.reports.tuning.tuned import (
    Tuned,
    beside_args,
    front_rows,
    headline,
    tune_args,
    why,
)
from barostat.twin.linear_pace import LinearPace
from barostat.twin.settings import Settings
from barostat.twin.summary import Slo
from barostat.twin.workload.made import parse_spec

BUNDLES = Path(__file__).parents[4] / "data/bundles"
COMMAND = [
    "tune", "--workload", "poisson:rate=6,minutes=0.35,input=200,output=80", "--kv-blocks", "2000", "--max-model-len", "4000",
    "--max-num-seqs", "3", "--latency", "base=0.01,prefill=2e-5,decode=1e-4", "--slo-ttft-p99", "1", "--budget", "20",
    "--lever", "max-num-seqs", "--lever", "edge-output-cap",
]  # fmt: skip


def test_answers_of_one_token_have_no_time_between_tokens(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Nothing was measured, which is not 0."""
    command = [word.replace("output=80", "output=1,spread=0") for word in COMMAND]
    assert main([*command, "-o", "json"]) == 0
    best = json.loads(capsys.readouterr().out)["front"][0]
    assert best["itlP99Seconds"] is None
    assert best["ttftP99Seconds"] > 0
    assert main(command) == 0
    assert "ITL p99 -" in capsys.readouterr().out
    assert main([*command, "-o", "html"]) == 0
    drawn = capsys.readouterr().out.partition("Settings side by side")[2].partition("<table")[0]
    assert "TTFT p99" in drawn
    assert "ITL p99" not in drawn


@pytest.mark.sweep
def test_the_answer_is_the_same_on_any_number_of_cores(capsys: pytest.CaptureFixture[str]) -> None:
    answers = []
    for cores in ("1", "2"):
        assert main([*COMMAND, "--cores", cores, "-o", "json"]) == 0
        answers.append(capsys.readouterr().out)
    assert answers[0] == answers[1]
    found = json.loads(answers[0])
    assert found["kind"] == "Tuning"
    assert found["best"]["args"]["max-num-seqs"] > 6
    assert found["best"]["restarts"]
    assert found["proof"]["moreThanNoise"]
    assert found["proof"]["holds"]
    assert found["front"]
    assert not found["stopped"]


def test_every_form_has_the_settings(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    known: dict[
        Trial, Outlook
    ] = {}  # the search is the same each time: each of its runs is made once
    monkeypatch.setattr(
        parallel_trials,
        "run_trial",
        lambda load, slo, one: known.get(one) or known.setdefault(one, run_trial(load, slo, one)),
    )
    command = [*COMMAND, "--cores", "1"]
    assert main([*command, "-o", "args"]) == 0
    printed = capsys.readouterr()
    flag, slots = printed.out.split()
    assert flag == "--max-num-seqs"
    assert "runs; best so far" in printed.err
    for form in ("table", "md"):
        assert main([*command, "-o", form]) == 0
        shown = capsys.readouterr().out
        assert f"max-num-seqs {slots}" in shown
        assert "held-out runs" in shown
        assert "slots bind" in shown
        assert "needs a restart" in shown
        assert "barostat plan" in shown  # more slots take memory


@pytest.mark.parametrize(
    ("more", "printed", "said"),
    [
        (
            ["--lever", "max-num-seqs"],
            "--max-num-seqs 64\n",
            "barostat: nothing better than today's settings was found",
        ),
        (
            ["--lever", "max-num-seqs", "--max-num-active-seqs", "60"],
            "--max-num-active-seqs 60\n",
            "these arguments are today's",
        ),
        (["--lever", "edge-output-cap"], "\n", "these arguments are today's"),
    ],
)
def test_where_nothing_is_better_the_arguments_are_todays_and_it_is_said(
    more: list[str], printed: str, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    idle = [
        "tune", "--workload", "poisson:rate=1,minutes=0.35,input=200,output=80", "--kv-blocks", "2000", "--max-model-len", "4000",
        "--max-num-seqs", "64", "--latency", "base=0.01,prefill=2e-5,decode=1e-4", "--slo-ttft-p99", "1", "--budget", "12",
    ]  # fmt: skip
    assert main([*idle, *more, "-o", "args"]) == 0
    found = capsys.readouterr()
    assert found.out == printed
    assert found.err.count(said) == 1


def test_what_is_no_argument_is_said_beside_them() -> None:
    levers = (
        Lever("watermark", (0.01, 0.05), 0),
        Lever("max-num-queued-reqs", (8, None), 0),
        Lever("edge-output-cap", (300, None), 1),
    )
    space = Space(
        Settings(kv_blocks=2000, max_num_seqs=3, max_model_len=4000, max_num_batched_tokens=2048),
        levers,
    )
    slo = Slo(1.0, None)
    tuned = Tuned(
        Results(space, slo, LinearPace(0.01, 2e-5, 1e-4, 1e-8), lambda _: []),
        (0.05, None, 300),
        None,
        slo,
    )
    assert tune_args(tuned) == "--watermark 0.05\n"
    assert "needs a restart: --watermark 0.05; leave out --max-num-queued-reqs" in headline(tuned)
    assert beside_args(tuned) == (
        "leave out --max-num-queued-reqs; beside these arguments, at the edge: edge-output-cap 300"
    )


def test_a_bundle_is_tuned_on_its_own_traffic(capsys: pytest.CaptureFixture[str]) -> None:
    command = [
        "tune",
        "--from",
        str(BUNDLES / "slot-bound"),
        "--slo-ttft-p99",
        "1",
        "--budget",
        "20",
        "--duration",
        "40s",
    ]
    assert main([*command, "--lever", "max-num-seqs", "-o", "json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["best"]["args"]["max-num-seqs"] >= 20
    assert "slots bind" in found["proof"]["bindsToday"]


class Stopped(Cores):
    """Runs so many trials and is then stopped, as by Ctrl-C."""

    left = 9

    def run(self, trials: Sequence[Trial]) -> list[Outlook | None]:
        now = trials[: self.left]
        self.left -= len(now)
        self.stopped = self.stopped or len(now) < len(trials)
        return [run_trial(self._load, self._slo, trial) for trial in now] + [None] * (
            len(trials) - len(now)
        )


@pytest.mark.parametrize(("level_s", "code", "holds"), [("0.005", 3, False), ("50", 0, True)])
def test_who_stops_it_is_told_whether_the_service_level_holds(
    level_s: str,
    code: int,
    holds: bool,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr("barostat.io.parallel_trials.Cores", Stopped)
    command = [*COMMAND, "--slo-ttft-p99", level_s]
    assert main(command) == code
    assert ("no setting tried meets" in capsys.readouterr().out) is not holds
    assert main([*command, "-o", "json"]) == code
    found = json.loads(capsys.readouterr().out)
    assert (found["best"]["holds"], found["stopped"], found["proof"]) == (holds, True, None)


def test_what_is_stopped_before_its_first_run_is_interrupted(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(
        "barostat.io.parallel_trials.Cores", type("AtOnce", (Stopped,), {"left": 0})
    )
    assert main(COMMAND) == 130
    assert capsys.readouterr().out == ""


def test_one_limit_is_shown_from_the_start_and_kept(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*COMMAND, "-o", "json"]) == 0
    printed = capsys.readouterr()
    shown = re.findall(r"(\d+) of at most (\d+) runs", printed.err)
    found = json.loads(printed.out)
    # 20 for the search; 12, 6 for each of two levers and 6 for each of ten rows, for the proof
    assert {limit for _, limit in shown} == {"104"}
    assert found["runs"] == int(shown[-1][0]) <= 20
    assert found["runs"] + found["proof"]["runs"] <= 104


def test_a_service_level_that_costs_goodput_is_kept_and_said(
    capsys: pytest.CaptureFixture[str],
) -> None:
    command = [
        "tune", "--workload", "closed:clients=40,requests=200,input=200,output=80", "--kv-blocks", "2000", "--max-model-len", "4000",
        "--max-num-seqs", "8", "--latency", "base=0.01,prefill=2e-5,decode=1e-3", "--slo-itl-p99", "0.022", "--budget", "20",
        "--lever", "max-num-seqs", "--cores", "1",
    ]  # fmt: skip
    assert main(command) == 0
    said = capsys.readouterr().out
    said = " ".join(said.split())
    assert "BETTER best for ITL p99 <= 22 ms and at most 1% refused: max-num-seqs 6" in said
    assert "it meets the SLO, and today's settings do not" in said
    assert main([*command, "-o", "args"]) == 0
    printed = capsys.readouterr()
    assert printed.out == "--max-num-active-seqs 6\n"
    assert "not worth a restart" not in printed.err
    shown = [float(good) for good in re.findall(r"best so far ([\d.]+) good/s", printed.err)]
    assert shown == sorted(shown)
    assert main([*command, "--max-model-len", "40000", "--lever", "watermark", "-o", "args"]) == 2
    refused = capsys.readouterr()
    assert refused.out == ""
    assert "would not start, no arguments are given" in refused.err
    assert "runs" not in refused.err  # before the search, not after it


def test_requests_that_no_setting_lets_in_are_told_before_the_search(
    capsys: pytest.CaptureFixture[str],
) -> None:
    command = [*COMMAND, "--lever", "max-num-seqs", "--max-model-len", "400", "--cores", "1"]
    assert main(command) == 3
    told = capsys.readouterr()
    assert (
        "are longer than max_model_len 400, and refused however little comes: more than "
        "--max-refused 0.01"
    ) in told.err
    first = next(line for line in told.out.splitlines() if "SLO MISSED" in line)
    assert "max-num-seqs" in first  # the others are served better all the same
    assert main([*command, "--max-refused", "0.5"]) == 0


def test_rows_beside_each_other_are_of_the_same_requests() -> None:
    """Parts of a trace differ by more than settings do: the winner's six runs are not held against
    three of another's.
    """
    space = Space(Settings(kv_blocks=2000, max_num_seqs=3), (Lever("watermark", (0.01, 0.05), 0),))
    results = Results(space, Slo(1.0), LinearPace(0.01, 2e-5, 1e-4, 1e-8), lambda _: [])
    run = run_trial(
        Made(parse_spec("poisson:rate=6,minutes=0.1,input=200,output=80")),
        Slo(1.0),
        Trial(space.settings, 0, results.pace),
    )
    dense, quiet = replace(run, good_per_s=12.0), replace(run, good_per_s=8.0)
    results.runs = {
        (0.01,): [dense] * 3 + [quiet] * 3,
        (0.05,): [replace(dense, ttft_p99_s=0.0)] * 3,
    }
    assert {row[0] for row in front_rows(Tuned(results, (0.01,), None, Slo(1.0)))} == {"12"}


def test_what_held_in_the_search_alone_is_not_called_untried() -> None:
    space = Space(Settings(kv_blocks=2000, max_num_seqs=3), (Lever("watermark", (0.01, 0.05), 0),))
    slo = Slo(1.0, None, 0.01)
    results = Results(space, slo, LinearPace(0.01, 2e-5, 1e-4, 1e-8), lambda _: [])
    held = run_trial(
        Made(parse_spec("poisson:rate=6,minutes=0.1,input=200,output=80")),
        slo,
        Trial(replace(space.settings, max_num_seqs=64), 0, results.pace),
    )
    late = replace(held, ttft_p99_s=1.2)
    results.runs = {(0.05,): [held]}
    proof = Proof((late,), (late,), 0.1, 0.01, True, True, False, False, "", "", {}, 2)
    tuned = Tuned(results, (0.05,), proof, slo)
    assert headline(tuned)[0].startswith("the best of the search misses")
    assert not any("no setting tried" in line for line in why(tuned))
    assert "they do not meet the SLO" in beside_args(tuned)


def test_a_service_level_that_nothing_holds_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*COMMAND, "--slo-ttft-p99", "0.005"]) == 3
    said = capsys.readouterr().out
    assert "SLO MISSED  no setting tried meets TTFT p99 <= 5 ms" in said
    assert "best for" not in said
    assert "-0 good" not in said
    assert "+0" not in said  # what brings nothing is not counted
    assert "no setting tried meets" in said


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (["--slo-ttft-p99", "-1"], "above 0"),
        (["--lever", "turbo"], "--lever"),
        (["--lever", "watermark", "--engine-version", "0.12.0"], "it came with 0.24.0"),
        (["--budget", "1"], "--budget"),
        (["--cores", "0"], "--cores"),
        (
            ["--workload", "live:http://localhost:1"],
            "is simulate's; here say --from http://localhost:1",
        ),
        (["--clients", "3"], "--clients: belongs to a running engine; say which with --from"),
    ],
)
def test_what_cannot_be_is_refused(
    more: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*COMMAND, *more]) == 2
    assert said in capsys.readouterr().err


def test_good_has_to_be_defined(capsys: pytest.CaptureFixture[str]) -> None:
    assert (
        main(
            ["tune", "--workload", "poisson:rate=1", "--kv-blocks", "100", "--latency", "base=0.01"]
        )
        == 2
    )
    assert "--slo-ttft-p99" in capsys.readouterr().err
    assert main(["tune", "--slo-ttft-p99", "1", "--kv-blocks", "100"]) == 2
    assert "--from" in capsys.readouterr().err


def test_a_trace_is_searched_in_some_parts_and_proved_in_others(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = [
        {"arrival_s": place / 5, "input_tokens": 100 + place % 7, "output_tokens": 40 + place % 5}
        for place in range(600)
    ]
    trace = tmp_path / "t.jsonl"
    trace.write_text("".join(json.dumps(row) + "\n" for row in rows))
    command = [
        "tune",
        "--trace",
        str(trace),
        "--kv-blocks",
        "2000",
        "--max-num-seqs",
        "1",
        "--latency",
        "base=0.01",
    ]
    assert (
        main(
            [
                *command,
                "--slo-ttft-p99",
                "1",
                "--budget",
                "30",
                "--lever",
                "max-num-seqs",
                "-o",
                "json",
            ]
        )
        == 0
    )
    found = json.loads(capsys.readouterr().out)
    assert found["best"]["args"]["max-num-seqs"] > 1
    assert found["proof"]["moreThanNoise"]
    assert found["proof"]["heldOutRuns"] == 6


def test_a_trace_with_one_held_out_part_proves_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = [
        {"arrival_s": place / 5, "input_tokens": 100 + place % 7, "output_tokens": 40}
        for place in range(50)
    ]
    trace = tmp_path / "t.jsonl"
    trace.write_text("".join(json.dumps(row) + "\n" for row in rows))
    command = [
        "tune",
        "--trace",
        str(trace),
        "--kv-blocks",
        "2000",
        "--max-num-seqs",
        "1",
        "--latency",
        "base=0.01",
    ]
    command += ["--slo-ttft-p99", "1", "--budget", "12", "--lever", "max-num-seqs"]
    assert main([*command, "-o", "json"]) == 0
    proof = json.loads(capsys.readouterr().out)["proof"]
    assert (proof["heldOutRuns"], proof["standardError"], proof["moreThanNoise"]) == (
        1,
        None,
        False,
    )
    assert main(command) == 0
    assert "one held-out run, which decides nothing" in capsys.readouterr().out


def test_a_row_that_holds_shows_no_figure_above_the_limit() -> None:
    """Two of three runs hold and their mean does not: the row says no, as its figure does."""
    space = Space(Settings(kv_blocks=2000, max_num_seqs=3), (Lever("watermark", (0.01, 0.05), 0),))
    slo = Slo(1.0)
    results = Results(space, slo, LinearPace(0.01, 2e-5, 1e-4, 1e-8), lambda _: [])
    run = run_trial(
        Made(parse_spec("poisson:rate=6,minutes=0.1,input=200,output=80")),
        slo,
        Trial(replace(space.settings, max_num_seqs=64), 0, results.pace),
    )
    runs = [replace(run, ttft_p99_s=seconds) for seconds in (0.9, 0.95, 1.567)]
    results.runs = {(0.01,): list(runs)}
    (row,) = front_rows(Tuned(results, (0.01,), None, slo))
    assert row[1] == "1.139 s"
    assert row[4] == "no"


def test_the_table_and_today_are_of_the_same_runs(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*COMMAND, "-o", "json"]) == 0
    found = json.loads(capsys.readouterr().out)
    by_changes = {json.dumps(one["changes"]): one for one in found["front"]}
    today, best = by_changes["{}"], by_changes[json.dumps(found["best"]["changes"])]
    assert today["ttftP99Seconds"] == found["proof"]["today"]["ttftP99Seconds"]
    assert best["ttftP99Seconds"] == found["proof"]["best"]["ttftP99Seconds"]
    assert best["holds"] == found["best"]["holds"]
