"""The same requests, denser."""

from __future__ import annotations

import json

import pytest

from barostat.core.errors import InputError
from barostat.shells.cli.main import main
from barostat.shells.cli.simulate.simulate_inputs import denser
from barostat.twin.request import Row

RUN = [
    "--workload",
    "poisson:rate=1,minutes=2,input=10,output=2",
    "--kv-blocks",
    "100",
    "--step-time",
    "0.1",
]


def test_arrivals_move_together_and_requests_stay() -> None:
    rows = [Row("a", 2.0, 10, 3), Row("b", 6.0, 10, 3)]
    assert [row.arrival_s for row in denser(rows, 2.0)] == [1.0, 3.0]
    assert denser(rows, 1.0) is rows


def test_clients_that_wait_have_no_rate() -> None:
    with pytest.raises(InputError, match="give more of them"):
        denser([Row("a", 0.0, 1, 1), Row("b", 1.0, 1, 1, after_id="a")], 2.0)


@pytest.mark.parametrize("times", ["0", "-1", "nan", "1e9"])
def test_what_is_no_factor_is_refused(times: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["simulate", *RUN, f"--scale-rate={times}"]) == 2
    assert "--scale-rate" in capsys.readouterr().err


def test_a_candidate_may_be_a_load(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["what-if", *RUN, "--set", "load=2", "-o", "json"]) == 0
    today, doubled = json.loads(capsys.readouterr().out)["candidates"]
    assert doubled["goodput"]["requestsPerSecond"] > 1.6 * today["goodput"]["requestsPerSecond"]


SPECULATION = ["--speculative-config", '{"method": "ngram", "num_speculative_tokens": 3}']


def test_accepted_drafts_save_steps(capsys: pytest.CaptureFixture[str]) -> None:
    steps = []
    for given in ([], [*SPECULATION, "--draft-acceptance", "0.9"]):
        run = ["poisson:rate=1,minutes=2,input=10,output=20", "--kv-blocks", "100"]
        assert (
            main(["simulate", "--workload", *run, "--step-time", "0.1", "-o", "json", *given]) == 0
        )
        document = json.loads(capsys.readouterr().out)
        steps.append(document["steps"])
    assert document["settings"]["drafting"]["acceptanceRatio"] == 0.9
    assert steps[1] < steps[0]


def test_without_an_acceptance_drafts_are_left_out_and_said(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["simulate", *RUN, *SPECULATION]) == 0
    told = capsys.readouterr()
    assert "speculative decoding is not simulated" in told.out + told.err


@pytest.mark.parametrize(
    ("given", "says"),
    [
        (["--draft-acceptance", "0.5"], "nothing drafts without it"),
        ([*SPECULATION, "--draft-acceptance", "1.5"], "must be 0 to 1"),
    ],
)
def test_an_acceptance_that_cannot_act_is_refused(
    given: list[str], says: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["simulate", *RUN, *given]) == 2
    assert says in capsys.readouterr().err


def test_more_adapter_slots_shorten_the_wait(capsys: pytest.CaptureFixture[str]) -> None:
    waits = []
    for slots in ("1", "6"):
        work = "closed:clients=8,requests=60,adapters=6,input=100,output=50"
        run = ["simulate", "--workload", work, "--kv-blocks", "500", "--step-time", "0.02"]
        assert main([*run, "--max-model-len", "4096", "--max-loras", slots, "-o", "json"]) == 0
        waits.append(json.loads(capsys.readouterr().out)["ttftSeconds"]["mean"])
    assert waits[1] < waits[0] / 5
