"""The verbs that change a cluster, as far as no cluster is needed."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace

import pytest
from tests.support.remedy_dialogue import a_plan

from barostat.remedy.acts import (
    DeletePod,
    DeleteSpare,
    PatchTemplate,
    PodRef,
    ReleaseHome,
    ScaleHome,
)
from barostat.remedy.plan import ROLLBACK, taking_back
from barostat.remedy.program import program
from barostat.remedy.state import State
from barostat.shells.cli.main import main
from barostat.shells.cli.mitigate.common_arguments import how_it_ended, next_commands


@pytest.mark.parametrize("other", [["--dry-run"], ["--autonomy", "observe"]])
def test_a_yes_to_what_is_not_carried_out_is_a_usage_error(
    other: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["mitigate", "deploy/vllm", "--yes", *other]) == 2
    assert capsys.readouterr().err == (
        "barostat: --yes: it answers for a plan that is carried out, which --dry-run and "
        "--autonomy observe do not\n"
    )


def test_a_remedy_goes_on_where_nobody_reads_what_it_says() -> None:
    code = (
        "from barostat.shells.cli.mitigate.common_arguments import print_progress, print_result\n"
    )
    code += (
        "for _ in range(20_000): print_progress('on'); print_result('the result')\nraise "
        "SystemExit(7)"
    )
    done = subprocess.run(
        [
            "bash",
            "-c",
            '"$0" -c "$1" 2>&1 | head -1; exit "${PIPESTATUS[0]}"',
            sys.executable,
            code,
        ],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 7
    assert done.stdout in ("on\n", "the result\n")


def test_who_is_handed_a_remedy_is_told_which_pods_and_numbers_are_left_and_how_it_is_tried_again() -> (
    None
):
    left = (ReleaseHome(), DeleteSpare(0), ScaleHome(1, 2), DeletePod("home-0"))
    state = State(
        a_plan(), "HandedOff", why="no answer", undo=left, pods=(("home-0", PodRef("vllm-a", "u")),)
    )
    assert how_it_ended(state, "x", stopped=False) == (
        "i1: handed over to a person: no answer; left to undo: DeletePod home-0 (vllm-a), "
        "ScaleHome 1 -> 2 replicas, DeleteSpare spare-0, "
        "ReleaseHome; tried again by: barostat incident resume i1 -n x"
    )


@pytest.mark.parametrize(
    ("state", "verbs"),
    [
        (State(a_plan(), "Done"), ["incident show", "verify", "rollback"]),
        (State(a_plan(), "RolledBack"), ["incident show"]),
        (
            State(replace(a_plan(), lever=ROLLBACK, because=taking_back("i0")), "Done"),
            ["incident show"],
        ),
        (State(a_plan(), "Done", superseded=True), []),
        (State(a_plan(), "HandedOff"), []),
    ],
)
def test_the_end_names_the_next_commands(state: State, verbs: list[str]) -> None:
    named = [line.split(" i1 -n x ")[0].strip() for line in next_commands(state, "x")]
    assert named == [f"barostat {verb}" for verb in verbs]


def test_of_what_every_replica_has_proved_the_rest_of_the_way_is_told() -> None:
    plan, undo = a_plan(), (ReleaseHome(), PatchTemplate(back=True))
    cursor = next(
        place for place, step in enumerate(program(plan)) if isinstance(step.act, DeleteSpare)
    )
    state = State(plan, "HandedOff", why="no answer", undo=undo, committed=True, cursor=cursor)
    assert how_it_ended(state, "x", stopped=False) == (
        "i1: handed over to a person: no answer; every replica has proved the change already; "
        "left to do: DeleteSpare spare-0, WriteLimits, ReleaseHome; tried again by: "
        "barostat incident resume i1 -n x"
    )
