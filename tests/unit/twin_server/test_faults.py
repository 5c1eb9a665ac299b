"""Faults and lengths as they are written; the clock of a throttle."""

from __future__ import annotations

import re

import pytest

from barostat.core.errors import InputError
from barostat.twin_server.faults import Fault, parse_fault
from barostat.twin_server.lengths import OutputLengths, parse_lengths


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("oom@30s", Fault("oom", 30.0)),
        ("kill@1m", Fault("kill", 60.0)),
        ("hang@20", Fault("hang", 20.0)),
        ("hang@20s+1.5s", Fault("hang", 20.0, 1.5)),
        ("slow-network=200ms", Fault("slow-network", 0.0, None, 0.2)),
        ("slow-steps=3@20s+10s", Fault("slow-steps", 20.0, 10.0, 3.0)),
        ("throttle-cpu=0.2", Fault("throttle-cpu", 0.0, None, 0.2)),
    ],
)
def test_every_form_is_read(text: str, fault: Fault) -> None:
    assert parse_fault(text) == fault


@pytest.mark.parametrize(
    "text",
    [
        "",
        "oom",
        "oom@",
        "oom@x",
        "oom=3@2s",
        "hang@2s+",
        "slow-network",
        "slow-steps=0",
        "throttle-cpu=99",
        "fire@3s",
    ],
)
def test_what_is_no_fault_is_refused_with_the_forms_there_are(text: str) -> None:
    with pytest.raises(InputError, match="hang@20s"):
        parse_fault(text)


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        ("", "no fault is named"),
        ("fire@3s", "'fire' is no fault"),
        ("oom", "when is missing: oom@30s"),
        ("hang@soon", "the moment after @ must be a time such as 20s, 200ms or 1m, not 'soon'"),
        ("hang@2s+", "the time after + must be a time"),
        ("oom=3@2s", "oom has a moment and no amount"),
        ("slow-steps", "how much is missing: slow-steps=3"),
        ("slow-network=x", "the delay after = must be a time"),
        ("throttle-cpu=99", "throttle-cpu takes a number from 0.01 to 8, not '99'"),
        ("slow-steps=nan", "slow-steps takes a number from 0.001 to 1,000,000, not 'nan'"),
    ],
)
def test_what_is_wrong_with_it_comes_first(text: str, wrong: str) -> None:
    with pytest.raises(InputError, match=re.escape(f"--fault {text}: {wrong}")):
        parse_fault(text)


def test_a_fault_holds_from_its_moment_for_its_time() -> None:
    fault = parse_fault("hang@2s+3s")
    assert [fault.active(second) for second in (1.9, 2.0, 4.9, 5.0)] == [False, True, True, False]
    assert parse_fault("hang@2s").active(1e6)


def test_lengths_are_drawn_around_their_mean_and_again_alike() -> None:
    lengths = parse_lengths("200,0.5")
    drawn = [lengths.drawn(1, f"prompt {number}", 0) or 0 for number in range(2000)]
    assert drawn[0] == lengths.drawn(1, "prompt 0", 0)
    assert 190 < sum(drawn) / len(drawn) < 210
    assert len(set(drawn)) > 100
    assert OutputLengths().drawn(1, "prompt", 0) is None
    assert parse_lengths(None) == OutputLengths()


@pytest.mark.parametrize("text", ["", "x", "0", "-3", "10,-1", "10,x", "nan"])
def test_lengths_that_are_none_are_refused(text: str) -> None:
    with pytest.raises(InputError, match="MEAN"):
        parse_lengths(text)
