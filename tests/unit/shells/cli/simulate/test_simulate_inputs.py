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
