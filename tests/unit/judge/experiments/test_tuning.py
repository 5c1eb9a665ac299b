"""The search finds what is there to be found, leaves alone what is not, and proves it on requests
that it has not seen.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from barostat.core.errors import InputError
from barostat.core.version import parse_version
from barostat.judge.experiments.outlook import Outlook
from barostat.judge.experiments.trials import Made, Trial, run_trial
from barostat.judge.experiments.tuning import (
    Results,
    broad,
    front,
    holds,
    objective,
    proof_version,
    search,
    search_version,
)
from barostat.judge.experiments.tuning_proof import binds, most_runs, prove
from barostat.judge.experiments.tuning_space import ALWAYS, Lever, Space, flags_of, space_of, usual
from barostat.twin.linear_pace import LinearPace
from barostat.twin.settings import Behaviour, Settings
from barostat.twin.summary import Slo
from barostat.twin.workload.made import parse_spec

PACE = LinearPace(0.01, 2e-5, 1e-4, 1e-8)
LOAD = Made(parse_spec("poisson:rate=6,minutes=0.4,input=200,output=80"))
SLO = Slo(1.0, 0.1)
FEW_SLOTS = Settings(
    kv_blocks=2000, max_num_seqs=3, max_model_len=4000, max_num_batched_tokens=2048
)


class Counted:
    """Runs trials one after the other, and counts them; stops after a number of them as somebody
    who presses Ctrl-C would.
    """

    def __init__(self, slo: Slo = SLO, stop_after: int = 10**9) -> None:
        self.slo, self.stop_after = slo, stop_after
        self.asked: list[Trial] = []

    def __call__(self, trials: Sequence[Trial]) -> list[Outlook | None]:
        found: list[Outlook | None] = []
        for trial in trials:
            self.asked.append(trial)
            found.append(
                run_trial(LOAD, self.slo, trial) if len(self.asked) <= self.stop_after else None
            )
        return found


def _outlook(**values: float) -> Outlook:
    names = (
        "good_per_s", "requests_per_s", "output_tokens_per_s", "ttft_p50_s", "ttft_p99_s", "itl_p50_s", "itl_p99_s", "e2e_p50_s",
        "kv_usage_ratio", "running", "waiting", "preempted_ratio", "preempted_per_s", "recomputed_per_s", "refused_ratio",
    )  # fmt: skip
    return Outlook(**{**dict.fromkeys(names, 0.0), **values})  # type: ignore[arg-type]


def test_too_few_slots_are_found_and_proved() -> None:
    run = Counted()
    space = space_of(FEW_SLOTS, ("max-num-seqs", "watermark"), [], [])
    results = Results(space, SLO, PACE, run, budget=60)
    best = search(results, 0)
    assert space.changed(best).keys() == {"max-num-seqs"}  # the watermark brings nothing and stays
    assert best[0] is not None
    assert best[0] > 6
    assert all(trial.version % 2 == 0 for trial in run.asked)
    searched = len(run.asked)
    proof = prove(space, best, SLO, (PACE, PACE.scaled(0.8), PACE.scaled(1.2)), run)
    assert proof is not None
    assert all(trial.version % 2 == 1 for trial in run.asked[searched:])
    assert proof.significant
    assert proof.agreed
    assert proof.holds
    assert not proof.holds_today
    assert "slots bind" in proof.binds_today
    assert "nothing holds requests back" in proof.binds
    assert front(results, best)[0] == best
    assert results.spent == searched <= 60
    assert proof.spent == len(run.asked) - searched <= most_runs(space, (PACE, PACE, PACE))


def test_where_nothing_is_to_be_gained_today_stays() -> None:
    space = space_of(replace(FEW_SLOTS, max_num_seqs=64), ALWAYS, [], [])
    run = Counted()
    assert search(Results(space, SLO, PACE, run, budget=30), 0) == space.today


def test_the_same_seed_searches_the_same() -> None:
    space = space_of(FEW_SLOTS, ALWAYS, [], [])
    runs = [Counted(), Counted()]
    found = [search(Results(space, SLO, PACE, run, budget=20), 5) for run in runs]
    assert found[0] == found[1]
    assert runs[0].asked == runs[1].asked
    assert broad(space, 30, 5) != broad(space, 30, 6)


def test_who_stops_it_gets_the_best_so_far() -> None:
    space = space_of(FEW_SLOTS, ("max-num-seqs",), [], [])
    run = Counted(stop_after=9)
    results = Results(space, SLO, PACE, run, budget=60)
    best = search(results, 0)
    assert results.stopped
    assert best in results.runs
    assert results.score(best) == max(
        results.score(point)
        for point, runs in results.runs.items()
        if len(runs) == len(results.runs[best])
    )
    at_once = Results(space, SLO, PACE, Counted(stop_after=0), budget=60)
    assert search(at_once, 0) == space.today
    assert prove(space, best, SLO, (PACE,), Counted(stop_after=2)) is None


def test_what_keeps_the_service_level_is_better_than_more_that_does_not() -> None:
    """Clients that wait get more done the more of them run, and each token later."""
    waiting = Made(parse_spec("closed:clients=40,requests=200,input=200,output=80"))
    slo, pace = Slo(itl_s=0.022), LinearPace(0.01, 2e-5, 1e-3, 0.0)
    space = space_of(replace(FEW_SLOTS, max_num_seqs=8), ("max-num-seqs",), [], [])
    results = Results(
        space,
        slo,
        pace,
        lambda trials: [run_trial(waiting, slo, trial) for trial in trials],
        budget=30,
    )
    best = search(results, 0)
    kept = {point: results.score(point).goodput for point in results.runs if results.keeps(point)}
    assert kept
    assert space.today not in kept
    assert results.score(space.today).goodput > max(kept.values())
    assert best == max(kept, key=lambda point: kept[point])


def test_what_every_setting_refuses_does_not_hide_which_is_better() -> None:
    """One request in five is longer than the engine takes, whatever is set."""
    slo = Slo(1.0, None, 0.01)
    space = space_of(FEW_SLOTS, ("max-num-seqs",), [], [])
    results = Results(space, slo, PACE, lambda _: [])
    few, many = space.today, (12,)
    results.runs = {
        point: [_outlook(good_per_s=good, ttft_p99_s=0.5, refused_ratio=0.2)]
        for point, good in ((few, 1), (many, 4))
    }
    assert results.ranked([few, many]) == [many, few]
    results.runs[many][0] = _outlook(good_per_s=4, ttft_p99_s=0.5, refused_ratio=0.3)
    assert results.ranked([few, many]) == [few, many]


def test_what_is_searched_is_not_what_it_is_proved_on() -> None:
    assert not {search_version(place) for place in range(50)} & {
        proof_version(place) for place in range(50)
    }


def test_the_objective_falls_with_each_quantile_that_does_not_hold() -> None:
    kept, late = (
        _outlook(good_per_s=4, ttft_p99_s=0.9, itl_p99_s=0.1),
        _outlook(good_per_s=4, ttft_p99_s=1.25, itl_p99_s=0.05),
    )
    assert objective(kept, SLO) == 4
    assert objective(late, SLO) == pytest.approx(3.2)
    assert objective(_outlook(good_per_s=4, ttft_p99_s=99), SLO) == 2
    assert holds(kept, SLO)
    assert not holds(late, SLO)
    assert holds(late, Slo(None, 0.1))


def test_answers_of_one_token_keep_any_time_between_tokens_and_none_at_all_keep_nothing() -> None:
    load = Made(parse_spec("poisson:rate=6,minutes=0.2,input=200,output=1,spread=0"))
    run = run_trial(load, Slo(None, 0.1), Trial(FEW_SLOTS, 0, PACE))
    assert run.itl_p99_s is None
    assert holds(run, Slo(None, 0.1))
    assert not holds(replace(run, requests_per_s=0.0), Slo(None, 0.1))


@pytest.mark.parametrize(
    ("values", "said"),
    [
        (
            {"kv_usage_ratio": 0.95, "waiting": 9, "running": 20, "preempted_ratio": 0.4},
            "KV pool binds",
        ),
        (
            {"kv_usage_ratio": 0.95, "waiting": 1012.3, "running": 20, "preempted_ratio": 0.4},
            "at 20 running, 1,012 waiting",
        ),
        ({"kv_usage_ratio": 0.2, "waiting": 9, "running": 2.9}, "slots bind"),
        (
            {"kv_usage_ratio": 0.2, "waiting": 9, "running": 1, "tokens_per_step": 1900},
            "token budget binds",
        ),
        ({"kv_usage_ratio": 0.2, "waiting": 2, "running": 1, "tokens_per_step": 100}, "bursts"),
        ({"kv_usage_ratio": 0.2, "running": 1}, "nothing holds"),
        (
            {"kv_usage_ratio": 0.2, "running": 1, "refused_ratio": 0.4},
            "40% of the requests are refused",
        ),
    ],
)
def test_which_limit_binds_is_said(values: dict[str, float], said: str) -> None:
    assert said in binds([_outlook(**values)], FEW_SLOTS)


def test_fewer_running_keep_the_graphs_where_the_version_can() -> None:
    wide = replace(FEW_SLOTS, max_num_seqs=64)
    assert flags_of(wide, {"max-num-seqs": 16, "edge-input-cap": 900}) == {
        "max-num-active-seqs": 16
    }
    assert flags_of(wide, {"max-num-seqs": 90}) == {"max-num-seqs": 90}
    version = parse_version("0.28.0")
    assert version is not None
    older = replace(wide, behaviour=Behaviour.of(version))
    assert flags_of(older, {"max-num-seqs": 16}) == {"max-num-seqs": 16}


@pytest.mark.parametrize("slots", [3, 5, 16, 20])
def test_the_arguments_make_the_engine_that_was_tried_where_the_active_are_limited_today(
    slots: int,
) -> None:
    today = replace(FEW_SLOTS, max_num_seqs=16, max_num_active_seqs=4)
    tried = Space(today, (Lever("max-num-seqs", (4, slots), 0),)).settings_at((slots,))
    flags = flags_of(today, {"max-num-seqs": slots})
    given: dict[str, Any] = {name.replace("-", "_"): value for name, value in flags.items()}
    assert tried == replace(today, **given)
    assert tried.running_limit == slots


def test_limits_are_tried_around_what_the_pool_holds() -> None:
    """1,024 slots over a pool of 20 requests: what is achieved is 20, and only less than that
    changes anything.
    """
    wide = replace(FEW_SLOTS, kv_blocks=601, max_num_seqs=1024)
    for name in ("max-num-seqs", "max-num-queued-reqs"):
        (lever,) = space_of(wide, (name,), [300] * 9, [180] * 9).levers
        values = [value for value in lever.values if value is not None]
        assert {10, 14, 20, 28, 40} <= set(values)
        assert lever.values[lever.today] == (1024 if name == "max-num-seqs" else None)


def test_both_names_of_the_running_limit_are_one_lever() -> None:
    assert [
        lever.name
        for lever in space_of(FEW_SLOTS, ("max-num-active-seqs", "max-num-seqs"), [], []).levers
    ] == ["max-num-seqs"]


def test_points_that_the_engine_would_refuse_are_not_tried() -> None:
    space = space_of(
        replace(FEW_SLOTS, max_num_seqs=512), ("max-num-seqs", "max-num-batched-tokens"), [], []
    )
    assert space.trial((512, 128), 0, PACE) is None
    allowed = space.trial((64, 512), 0, PACE)
    assert allowed is not None
    assert (
        allowed.settings.running_limit,
        allowed.settings.max_num_seqs,
        allowed.settings.max_num_batched_tokens,
    ) == (64, 512, 512)


def test_caps_are_quantiles_of_the_traffic_and_off_is_among_them() -> None:
    space = space_of(FEW_SLOTS, ("edge-input-cap",), list(range(1, 1001)), [])
    (lever,) = space.levers
    assert lever.values[-1] is None
    assert lever.values[0] == 501
    trial = space.trial((951,), 0, PACE)
    assert trial is not None
    assert trial.input_cap == 951


@pytest.mark.parametrize(
    ("budget", "levers"),
    [
        (10, ALWAYS),
        (12, ("watermark",)),
        *(
            pytest.param(*one, marks=pytest.mark.sweep)
            for one in ((30, ALWAYS), (30, ("max-num-seqs",)), (50, ALWAYS))
        ),
    ],
)
def test_the_budget_is_never_exceeded(budget: int, levers: tuple[str, ...]) -> None:
    run, batches = Counted(), list[int]()
    results = Results(
        space_of(FEW_SLOTS, levers, [], []),
        SLO,
        PACE,
        run,
        lambda now: batches.append(now.budget),
        budget,
    )
    search(results, 0)
    assert results.spent == len(run.asked) <= budget
    assert set(batches) == {budget}


def test_a_lever_that_is_not_known_is_named_with_those_that_are() -> None:
    with pytest.raises(
        InputError, match=r"--lever turbo: .*max-num-seqs.*edge-input-cap.*max-num-active-seqs"
    ):
        space_of(FEW_SLOTS, ("turbo",), [], [])


@pytest.mark.parametrize(
    ("lever", "before", "since"),
    [
        ("watermark", "0.23.0", r"0\.24\.0"),
        ("max-num-active-seqs", "0.30.0", r"0\.31\.0"),
        ("max-num-queued-reqs", "0.28.0", r"0\.29\.0"),
        ("max-queued-requests", "0.28.0", r"0\.29\.0"),
    ],
)
def test_a_lever_that_the_version_lacks_is_refused_and_not_among_the_usual(
    lever: str, before: str, since: str
) -> None:
    version = parse_version(before)
    assert version is not None
    older = replace(FEW_SLOTS, behaviour=Behaviour.of(version))
    with pytest.raises(InputError, match=f"--lever {lever}: .*{since}"):
        space_of(older, (lever,), [], [])
    assert lever not in usual(older)
    assert {"max-num-seqs", "max-num-batched-tokens"} <= {
        each.name for each in space_of(older, usual(older), [], []).levers
    }
