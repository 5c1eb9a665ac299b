"""Limits are read whole or not at all, and what is set in their place tightens them for as long as
it is renewed.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.support.gateway_wire import HEAD, World

from barostat.core.errors import InputError
from barostat.core.limits import ServingLimits
from barostat.gateway.live_limits.limits_in_force import LimitsInForce
from barostat.gateway.live_limits.overrides import Fences, HeldByAnother
from barostat.gateway.messages.tenants import KeyTable
from barostat.gateway.metrics import Metrics

LEVER = {
    "holder": "mitigate",
    "leaseSeconds": 10,
    "limits": {"maxOutputTokens": 50, "kvTokenBudget": 900},
}


def file(folder: Path, spec: str) -> Path:
    path = folder / "limits.yaml"
    path.write_text(HEAD + "  " + spec + "\n")
    os.utime(path, ns=(path.stat().st_atime_ns, path.stat().st_mtime_ns + 1))
    return path


def in_force(
    folder: Path, spec: str = "request: {maxOutputTokens: 100}"
) -> tuple[LimitsInForce, list[ServingLimits]]:
    told: list[ServingLimits] = []
    limits = LimitsInForce(file(folder, spec), Metrics())
    limits.adopt = lambda taken, _: told.append(taken)
    return limits, told


def test_an_override_is_in_force_until_its_lease_is_over(tmp_path: Path) -> None:
    limits, told = in_force(tmp_path)
    limits.put(LEVER, 100.0)
    assert told[-1].spec.request.max_output_tokens == 50
    assert told[-1].spec.edge.kv_token_budget == 900
    limits.tick(109.9)
    assert len(told) == 1
    limits.put(LEVER, 109.9)  # renewed
    limits.tick(119.8)
    assert limits.override is not None
    limits.tick(119.9)
    assert limits.override is None
    assert told[-1].spec.request.max_output_tokens == 100


def test_it_can_be_taken_back(tmp_path: Path) -> None:
    limits, told = in_force(tmp_path)
    limits.put(LEVER, 100.0)
    limits.take_back(101.0)
    assert told[-1].spec.edge.kv_token_budget is None
    limits.take_back(102.0)
    assert len(told) == 2


def test_it_only_tightens(tmp_path: Path) -> None:
    limits, told = in_force(tmp_path)
    limits.put({**LEVER, "limits": {"maxOutputTokens": 5000}}, 100.0)
    assert told[-1].spec.request.max_output_tokens == 100
    limits, told = in_force(tmp_path, "slo: {ttftP99Seconds: 2.0}")
    limits.put({**LEVER, "limits": {"queueDeadlineSeconds": 25}}, 100.0)
    assert (
        told[-1].spec.edge.queue_deadline_seconds == 1.6
    )  # none is stated: it follows from the service level


def test_who_sets_limits_and_takes_them_back_is_said(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    limits, _ = in_force(tmp_path)
    limits.put(LEVER, 100.0)
    limits.put(LEVER, 101.0)  # renewed: nothing is new
    assert capsys.readouterr().err == (
        "barostat gateway: mitigate sets limits for a while: maxOutputTokens 50, "
        "kvTokenBudget 900\n"
    )
    limits.put({**LEVER, "enforce": True, "limits": {"kvTokenBudget": 1_234_567}}, 101.0)
    assert "for a while (and enforces them): kvTokenBudget 1234567\n" in capsys.readouterr().err
    limits.take_back(102.0, "mitigate")
    assert (
        capsys.readouterr().err
        == "barostat gateway: the limits set by mitigate are taken back: the file's again\n"
    )


def test_another_holder_has_to_wait(tmp_path: Path) -> None:
    limits, _ = in_force(tmp_path)
    limits.put(LEVER, 100.0)
    with pytest.raises(InputError, match="held by mitigate"):
        limits.put({**LEVER, "holder": "somebody"}, 105.0)
    limits.put({**LEVER, "holder": "somebody"}, 111.0)


@pytest.mark.parametrize(
    "document",
    [
        None, [], {}, {**LEVER, "x": 1}, {**LEVER, "holder": ""}, {**LEVER, "holder": 5}, {**LEVER, "leaseSeconds": 0},
        {**LEVER, "holder": "me\nbarostat gateway: all is well"},
        {**LEVER, "leaseSeconds": True}, {**LEVER, "leaseSeconds": 1e9}, {**LEVER, "limits": {}}, {**LEVER, "limits": {"x": 1}},
        {**LEVER, "limits": {"maxOutputTokens": 1.5}}, {**LEVER, "limits": {"maxOutputTokens": -1}},
        {**LEVER, "limits": {"maxOutputTokens": "5"}}, {**LEVER, "limits": {"maxOutputTokens": True}},
    ],
)  # fmt: skip
def test_what_is_no_override_changes_nothing(tmp_path: Path, document: object) -> None:
    limits, told = in_force(tmp_path)
    with pytest.raises(InputError):
        limits.put(document, 100.0)
    assert told == []
    assert limits.override is None


def test_a_changed_file_is_read_and_a_wrong_or_missing_one_is_not(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    limits, told = in_force(tmp_path)
    limits.tick(100.0)
    assert told == []
    file(tmp_path, "request: {maxOutputTokens: 70}")
    limits.tick(103.0)
    assert told[-1].spec.request.max_output_tokens == 70
    file(tmp_path, "request: {maxOutputTokenz: 70}")
    limits.tick(106.0)
    assert len(told) == 1
    assert "did you mean maxOutputTokens" in capsys.readouterr().err
    limits.tick(109.0)  # said once
    assert capsys.readouterr().err == ""
    limits.path.unlink()
    limits.tick(112.0)
    assert limits.limits(112.0).spec.request.max_output_tokens == 70


def test_tenants_need_keys(tmp_path: Path) -> None:
    path = file(tmp_path, "tenants: [{name: red}]")
    LimitsInForce(path, Metrics())
    with pytest.raises(InputError, match="--keys"):
        LimitsInForce(path, Metrics(), with_keys=None)


def test_a_key_of_a_tenant_that_the_limits_do_not_list_is_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = file(tmp_path, "tenants: [{name: team-a}]")
    LimitsInForce(path, Metrics(), with_keys=KeyTable({"k": "team-a"}).tenants)
    assert capsys.readouterr().err == ""
    LimitsInForce(path, Metrics(), with_keys=KeyTable({"k": "team_a", "j": "team-a"}).tenants)
    assert (
        "limits.yaml lists no tenant team_a: requests with their keys are refused"
        in capsys.readouterr().err
    )
    LimitsInForce(
        file(tmp_path, "request: {maxOutputTokens: 100}"),
        Metrics(),
        with_keys=KeyTable({"k": "team_a"}).tenants,
    )
    assert capsys.readouterr().err == ""  # nobody is told apart


@pytest.mark.parametrize("name", ["maxInputToken", "tokensPerMinute", "request.maxInput"])
def test_a_failure_policy_of_no_limit_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(InputError, match="maxInputTokens, kvTokenBudget"):
        LimitsInForce(file(tmp_path, f'edge: {{failurePolicy: {{"{name}": closed}}}}'), Metrics())
    LimitsInForce(
        file(
            tmp_path, "edge: {failurePolicy: {request.maxInputTokens: closed, kvTokenBudget: open}}"
        ),
        Metrics(),
    )


def test_what_is_in_force_is_told(tmp_path: Path) -> None:
    limits, _ = in_force(tmp_path)
    limits.put(LEVER, 100.0)
    document = limits.document(104.0)
    assert document["limits"]["spec"]["request"]["maxOutputTokens"] == 50
    held = {
        "holder": "mitigate",
        "epoch": 0,
        "limits": LEVER["limits"],
        "enforce": False,
        "leaseSeconds": 6.0,
    }
    assert document["override"] == held


def test_what_an_earlier_run_has_on_its_way_is_refused(tmp_path: Path) -> None:
    limits, told = in_force(tmp_path)
    limits.put({**LEVER, "epoch": 1}, 100.0)
    limits.put({**LEVER, "epoch": 2}, 101.0)
    with pytest.raises(HeldByAnother, match="run 1 of mitigate is over: run 2 goes on"):
        limits.put({**LEVER, "epoch": 1}, 102.0)
    with pytest.raises(HeldByAnother, match="run 1 of mitigate is over"):
        limits.take_back(102.0, "mitigate", 1)
    limits.take_back(103.0, "mitigate", 2)
    assert told[-1].spec.request.max_output_tokens == 100
    with pytest.raises(HeldByAnother, match="run 2 of mitigate has taken its limits back"):
        limits.put({**LEVER, "epoch": 2}, 104.0)
    limits.put({**LEVER, "epoch": 3}, 105.0)  # resumed
    assert limits.override is not None


def test_what_is_taken_back_before_it_came_does_not_come(tmp_path: Path) -> None:
    limits, _ = in_force(tmp_path)
    limits.take_back(100.0, "mitigate", 1)
    with pytest.raises(HeldByAnother, match="taken its limits back"):
        limits.put({**LEVER, "epoch": 1}, 101.0)
    limits.put({**LEVER, "holder": "another", "epoch": 1}, 102.0)


def test_who_does_not_number_its_runs_may_come_again(tmp_path: Path) -> None:
    limits, _ = in_force(tmp_path)
    limits.put(LEVER, 100.0)
    limits.take_back(101.0, "mitigate")
    limits.put(LEVER, 102.0)
    assert limits.override is not None


def test_as_many_holders_are_remembered_as_there_is_a_bound_for() -> None:
    fences = Fences()
    for number in range(200):
        fences.heard(f"h{number}", 1, ended=True)
    assert fences.refused("h199", 1)
    assert not fences.refused("h0", 1)


def test_a_renewal_tells_nobody_anew(tmp_path: Path) -> None:
    limits, told = in_force(tmp_path)
    for now in (100.0, 105.0, 110.0):
        limits.put(LEVER, now)
    assert len(told) == 1


def test_a_gateway_that_only_watches_enforces_for_that_time(tmp_path: Path) -> None:
    world = World("request: {maxOutputTokens: 100}", shadow=True)
    limits = LimitsInForce(file(tmp_path, "request: {maxOutputTokens: 100}"), world.metrics)
    limits.adopt = world.gateway.adopt
    limits.put(LEVER, 100.0)
    assert world.desk.shadow
    limits.put({**LEVER, "enforce": True}, 101.0)
    assert not world.desk.shadow
    limits.tick(111.0)
    assert world.desk.shadow


@pytest.mark.parametrize("wrong", [{"epoch": -1}, {"epoch": "1"}, {"epoch": True}, {"enforce": 1}])
def test_a_wrong_run_or_wish_is_refused(tmp_path: Path, wrong: dict[str, object]) -> None:
    limits, _ = in_force(tmp_path)
    with pytest.raises(InputError, match="was expected"):
        limits.put({**LEVER, **wrong}, 100.0)


@pytest.mark.timeout(10)
@pytest.mark.parametrize("what", ["fifo", "folder", "device"])
def test_what_is_no_file_in_the_place_of_the_limits_holds_nothing_up(
    what: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    limits, told = in_force(tmp_path)
    limits.path.unlink()
    if what == "fifo":
        os.mkfifo(limits.path)
    elif what == "folder":
        limits.path.mkdir()
    else:
        limits.path.symlink_to("/dev/zero")
    limits.tick(200.0)
    assert told == []
    assert limits.file.spec.request.max_output_tokens == 100
    assert "stay in force" in capsys.readouterr().err


def test_a_slow_read_is_not_begun_twice_and_stops_nothing(tmp_path: Path) -> None:
    limits, told = in_force(tmp_path)
    begun: list[tuple[Callable[[], Any], Callable[[Any], None]]] = []
    limits.elsewhere = lambda work, done: begun.append((work, done))
    file(tmp_path, "request: {maxOutputTokens: 70}")
    for now in (200.0, 210.0, 220.0):
        limits.tick(now)
    assert told == []
    ((work, done),) = begun
    done(work())
    assert told[-1].spec.request.max_output_tokens == 70
    limits.tick(230.0)
    assert len(begun) == 2
