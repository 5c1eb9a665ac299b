"""Trials on several cores: the same outlooks in the same order as on one; Ctrl-C keeps what there
is.
"""

from __future__ import annotations

import multiprocessing

import pytest

from barostat.core.errors import OutsideError
from barostat.io import parallel_trials as module
from barostat.io.parallel_trials import Cores
from barostat.judge.experiments.outlook import Outlook
from barostat.judge.experiments.trials import Load, Made, Trial, run_trial
from barostat.twin.linear_pace import LinearPace
from barostat.twin.settings import Settings
from barostat.twin.summary import Slo
from barostat.twin.workload.made import parse_spec

LOAD = Made(parse_spec("poisson:rate=4,minutes=0.2,input=100,output=20"))
SLO = Slo(1.0)
TRIALS = [
    Trial(Settings(kv_blocks=200, max_num_seqs=slots), version, LinearPace(0.01))
    for slots in (1, 4, 16)
    for version in (0, 1)
]


def test_two_cores_answer_as_one_does() -> None:
    told: list[tuple[int, int]] = []
    one, two = Cores(LOAD, SLO, 1), Cores(LOAD, SLO, 2, lambda done, of: told.append((done, of)))
    try:
        assert (
            one.run(TRIALS) == two.run(TRIALS) == [run_trial(LOAD, SLO, trial) for trial in TRIALS]
        )
        assert told == [(place + 1, len(TRIALS)) for place in range(len(TRIALS))]
        assert one.run([]) == two.run([]) == []
    finally:
        two.close()
        two.close()


def test_ctrl_c_keeps_what_there_is_and_nothing_runs_after_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def third_is_interrupted(load: Load, slo: Slo, trial: Trial) -> Outlook:
        if trial is TRIALS[2]:
            raise KeyboardInterrupt
        return run_trial(load, slo, trial)

    monkeypatch.setattr(module, "run_trial", third_is_interrupted)
    cores = Cores(LOAD, SLO, 1)
    found = cores.run(TRIALS)
    assert [outlook is not None for outlook in found] == [True, True, False, False, False, False]
    assert cores.stopped
    assert cores.run(TRIALS[:1]) == [None]


def test_ctrl_c_ends_the_other_processes() -> None:
    def interrupted(done: int, of: int) -> None:
        del done, of
        raise KeyboardInterrupt

    cores = Cores(LOAD, SLO, 2, interrupted)
    found = cores.run(TRIALS)
    assert cores.stopped
    assert found.count(None) == len(TRIALS) - 1
    assert not multiprocessing.active_children()


def test_a_process_that_is_killed_is_told() -> None:
    cores = Cores(LOAD, SLO, 2)
    cores.run(TRIALS[:2])
    for child in multiprocessing.active_children():
        child.kill()
        child.join()
    with pytest.raises(OutsideError, match="ended from outside"):
        cores.run(TRIALS)
    cores.close()


def test_what_goes_wrong_in_a_trial_is_raised_where_it_was_asked_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def wrong(*_: object) -> Outlook:
        raise ValueError("no such trial")

    monkeypatch.setattr(module, "run_trial", wrong)
    cores = Cores(LOAD, SLO, 2)
    with pytest.raises(ValueError, match="no such trial"):
        cores.run(TRIALS)
    cores.close()
