"""What a change came to: better, worse, inconclusive, always with the load held against the load
before.
"""

from __future__ import annotations

import pytest

from barostat.catalog.signals import signal
from barostat.core.change import Expect, Expectation, pressure_relieved
from barostat.core.window import Window
from barostat.judge.diagnosis.case import Case
from barostat.judge.diagnosis.causes._rare_preemptions import rare_preemptions
from barostat.remedy.acts import Judged
from barostat.remedy.verify import baseline, is_over, unmeasured, verify

SINCE = 1000.0
EXPECTATION = Expectation(
    (
        Expect("preemptions_per_s", "zero", 0.01),
        Expect("itl_mean_s", "falls", 0.1),
        Expect("pod_restarts", "no-more", essential=False),
        Expect(
            "kv_usage_ratio",
            "below",
            0.97,
            essential=False,
            unless=(Expect("preemptions_per_s", "zero", 0.01),),
        ),
    ),
    load_signals=("arrivals_per_s",),
)


def window(start: float, seconds: float = 150.0, **values: float | None) -> Window:
    """Every signal at its value, each ten seconds; None: not measured."""
    defaults: dict[str, float | None] = {
        "arrivals_per_s": 4.0,
        "preemptions_per_s": 0.0,
        "itl_mean_s": 0.05,
    }
    defaults |= {"pod_restarts": 0.0, "kv_usage_ratio": 0.8}
    made = {}
    for name, value in (defaults | values).items():
        if value is not None:
            found = signal(
                name,
                [(start + 10.0 * step, value) for step in range(int(seconds // 10) + 1)],
                "test",
            )
            assert found is not None
            made[name] = found
    return Window("vllm-0", start + seconds, made)


def judged(expectation: Expectation, before: Window, after: Window, since: float) -> Judged:
    """The judgement against the baseline that a plan would have taken from that window."""
    return verify(expectation, dict(baseline(expectation, before)), after, since)


BEFORE = window(800.0, preemptions_per_s=3.0, itl_mean_s=0.4, kv_usage_ratio=1.0)


def test_the_promise_is_kept_under_the_same_load() -> None:
    found = judged(EXPECTATION, BEFORE, window(SINCE), SINCE)
    assert found.outcome == "better"
    assert any("arrivals_per_s 4, 1.00 of before" in reason for reason in found.reasons)


def test_the_promise_is_not_kept() -> None:
    found = judged(EXPECTATION, BEFORE, window(SINCE, preemptions_per_s=3.0), SINCE)
    assert found.outcome == "worse"
    assert "preemptions_per_s 3" in found.reasons[0]


def test_no_time_is_foretold_where_the_look_before_the_change_was_too_short_for_any() -> None:
    former = {
        "arrivals_per_s": 4.0,
        "preemptions_per_s": 4.0,
        "itl_mean_s": 0.092,
        "itl_mean_s:error": 0.0233,
        "seen_s": 150.0,
    }
    found = verify(EXPECTATION, former, window(SINCE), SINCE)
    assert found.outcome == "inconclusive"
    (why,) = (reason for reason in found.reasons if reason.startswith("itl_mean_s"))
    assert why.endswith(
        "no difference can be told, as it was seen too briefly before the change for how "
        "much it varied"
    )


def test_what_has_nearly_ended_is_neither_better_nor_worse() -> None:
    found = judged(EXPECTATION, BEFORE, window(SINCE, preemptions_per_s=0.06), SINCE)
    assert found.outcome == "inconclusive"
    assert found.reasons[0] == "preemptions_per_s 0.06, at most 0.01"
    assert (
        judged(EXPECTATION, BEFORE, window(SINCE, preemptions_per_s=0.4), SINCE).outcome == "worse"
    )
    assert (
        judged(
            EXPECTATION, BEFORE, window(SINCE, preemptions_per_s=0.06, itl_mean_s=0.5), SINCE
        ).outcome
        == "worse"
    )


def test_harm_is_worse_whatever_else_got_better() -> None:
    assert judged(EXPECTATION, BEFORE, window(SINCE, pod_restarts=1.0), SINCE).outcome == "worse"


def test_harm_counts_before_the_window_is_full() -> None:
    assert (
        judged(EXPECTATION, BEFORE, window(SINCE, seconds=20.0, pod_restarts=1.0), SINCE).outcome
        == "worse"
    )


def test_too_short_is_inconclusive_for_good_and_for_bad() -> None:
    assert judged(EXPECTATION, BEFORE, window(SINCE, seconds=60.0), SINCE).outcome == "inconclusive"
    assert (
        judged(
            EXPECTATION, BEFORE, window(SINCE, seconds=60.0, preemptions_per_s=3.0), SINCE
        ).outcome
        == "inconclusive"
    )


def test_less_load_proves_nothing() -> None:
    found = judged(EXPECTATION, BEFORE, window(SINCE, arrivals_per_s=2.0), SINCE)
    assert found.outcome == "inconclusive"
    assert "too little to tell" in found.reasons[0]


def test_more_load_excuses_what_is_wrong_but_does_not_hide_what_is_right() -> None:
    assert (
        judged(
            EXPECTATION, BEFORE, window(SINCE, arrivals_per_s=8.0, preemptions_per_s=3.0), SINCE
        ).outcome
        == "inconclusive"
    )
    assert judged(EXPECTATION, BEFORE, window(SINCE, arrivals_per_s=8.0), SINCE).outcome == "better"


def test_few_requests_may_be_fewer_by_chance() -> None:
    def outcome(rate: float, now: float) -> str:
        before = window(800.0, arrivals_per_s=rate, preemptions_per_s=3.0, itl_mean_s=0.4)
        return judged(EXPECTATION, before, window(SINCE, arrivals_per_s=now), SINCE).outcome

    # 30 requests before and 22 after are the same load for all that can be told; 600 and 440 are
    # not.
    assert outcome(0.2, 0.146) == "better"
    assert outcome(4.0, 2.92) == "inconclusive"
    assert outcome(0.2, 0.1) == "inconclusive"


def test_what_goes_by_the_load_is_taken_for_the_load_of_now_and_from_all_replicas() -> None:
    fewer = Expect("generation_tokens_per_s", "rises", -0.1, essential=False, by_load=True)
    tokens = Expectation((EXPECTATION.expects[0], fewer), ("arrivals_per_s",))
    worst, other = (
        window(800.0, arrivals_per_s=6.0, generation_tokens_per_s=600.0),
        window(800.0, generation_tokens_per_s=400.0, arrivals_per_s=4.0),
    )
    former = dict(
        baseline(
            tokens,
            worst,
            [worst, other, window(800.0, generation_tokens_per_s=0.0, arrivals_per_s=0.0)],
        )
    )
    assert (former["arrivals_per_s"], former["generation_tokens_per_s"]) == (5.0, 500.0)
    assert (
        verify(
            tokens, former, window(SINCE, arrivals_per_s=4.2, generation_tokens_per_s=420.0), SINCE
        ).outcome
        == "better"
    )
    assert (
        verify(
            tokens, former, window(SINCE, arrivals_per_s=5.0, generation_tokens_per_s=420.0), SINCE
        ).outcome
        == "worse"
    )


def test_load_that_nobody_measured_proves_nothing() -> None:
    assert (
        judged(EXPECTATION, BEFORE, window(SINCE, arrivals_per_s=None), SINCE).outcome
        == "inconclusive"
    )
    assert (
        judged(
            EXPECTATION, window(800.0, arrivals_per_s=0.0, itl_mean_s=0.4), window(SINCE), SINCE
        ).outcome
        == "inconclusive"
    )


def test_an_essential_signal_that_is_missing_or_stale_is_inconclusive() -> None:
    assert (
        judged(EXPECTATION, BEFORE, window(SINCE, preemptions_per_s=None), SINCE).outcome
        == "inconclusive"
    )
    after = window(SINCE)
    assert (
        judged(
            EXPECTATION, BEFORE, Window(after.replica, after.at + 3600.0, after.signals), SINCE
        ).outcome
        == "inconclusive"
    )


@pytest.mark.parametrize("promised", [EXPECTATION.expects[1], Expect("itl_p99_s", "below", 0.1)])
def test_a_latency_that_nobody_measures_is_named_and_the_rest_is_judged(promised: Expect) -> None:
    expectation = Expectation((EXPECTATION.expects[0], promised), ("arrivals_per_s",))
    before = window(800.0, preemptions_per_s=3.0, itl_mean_s=None)
    found = judged(expectation, before, window(SINCE, itl_mean_s=None), SINCE)
    assert (found.outcome, unmeasured(expectation, dict(baseline(expectation, before)))) == (
        "better",
        (promised.signal,),
    )
    assert f"not judged: {promised.signal} was not measured after the change" in found.reasons
    assert (
        judged(
            expectation, before, window(SINCE, itl_mean_s=None, preemptions_per_s=3.0), SINCE
        ).outcome
        == "worse"
    )
    assert (
        judged(
            expectation, before, window(SINCE, itl_mean_s=None, preemptions_per_s=None), SINCE
        ).outcome
        == "inconclusive"
    )
    # one that is measured only now is held to its level, and cannot be compared
    assert judged(expectation, before, window(SINCE, **{promised.signal: 9.0}), SINCE).outcome == (
        "worse" if promised.want == "below" else "better"
    )


def test_a_latency_that_was_measured_before_has_to_be_measured_after() -> None:
    assert (
        judged(EXPECTATION, BEFORE, window(SINCE, itl_mean_s=None), SINCE).outcome == "inconclusive"
    )


def test_the_only_proof_is_never_left_out() -> None:
    alone = Expectation((EXPECTATION.expects[1],), ("arrivals_per_s",))
    found = judged(alone, window(800.0, itl_mean_s=None), window(SINCE, itl_mean_s=None), SINCE)
    assert (found.outcome, unmeasured(alone, {})) == ("inconclusive", ())


def test_what_was_measured_before_the_change_does_not_count_for_it() -> None:
    assert judged(EXPECTATION, BEFORE, window(800.0), SINCE).outcome == "inconclusive"


def test_a_full_pool_is_no_harm_where_nothing_is_preempted() -> None:
    assert (
        judged(EXPECTATION, BEFORE, window(SINCE, kv_usage_ratio=0.99), SINCE).outcome == "better"
    )
    full = Expectation(
        (EXPECTATION.expects[0], Expect("kv_usage_ratio", "below", 0.97, essential=False)),
        ("arrivals_per_s",),
    )
    assert judged(full, BEFORE, window(SINCE, kv_usage_ratio=0.99), SINCE).outcome == "worse"


def test_restarts_that_were_there_before_are_no_new_ones() -> None:
    before = window(800.0, preemptions_per_s=3.0, itl_mean_s=0.4, pod_restarts=4.0)
    assert judged(EXPECTATION, before, window(SINCE, pod_restarts=4.0), SINCE).outcome == "better"
    # a fresh pod counts from nought
    assert judged(EXPECTATION, before, window(SINCE, pod_restarts=0.0), SINCE).outcome == "better"


def test_every_want_has_its_sense() -> None:
    def outcome(expect: Expect, former: float, now: float) -> str:
        expectation = Expectation((expect,), ("arrivals_per_s",))
        return judged(
            expectation, window(800.0, itl_mean_s=former), window(SINCE, itl_mean_s=now), SINCE
        ).outcome

    assert outcome(Expect("itl_mean_s", "above", 2.0), 1.0, 3.0) == "better"
    assert outcome(Expect("itl_mean_s", "above", 2.0), 1.0, 1.0) == "worse"
    assert outcome(Expect("itl_mean_s", "rises", 0.1), 1.0, 1.2) == "better"
    assert (
        outcome(Expect("itl_mean_s", "rises", 0.1), 1.0, 1.05) == "inconclusive"
    )  # not what was promised, and no harm
    assert outcome(Expect("itl_mean_s", "rises", 0.1), 1.0, 0.95) == "worse"
    assert outcome(Expect("itl_mean_s", "holds", 0.1), 1.0, 1.05) == "better"
    assert outcome(Expect("itl_mean_s", "holds", 0.1), 1.0, 1.2) == "worse"
    assert outcome(Expect("itl_mean_s", "below", 0.5), 1.0, 0.5) == "better"


def test_the_usual_promise_against_pressure_names_its_levels() -> None:
    found = pressure_relieved(ttft_p99_s=2.0, itl_p99_s=0.1)
    essential = {expect.signal: expect.bound for expect in found.expects if expect.essential}
    assert essential == {"preemptions_per_s": 0.01}
    levels = {expect.signal: expect.bound for expect in found.expects if expect.want == "below"}
    assert levels | {"itl_p99_s": 0.1, "ttft_p99_s": 2.0} == levels


@pytest.mark.parametrize(
    ("left_per_s", "outcome"), [(0.05, "better"), (0.11, "better"), (0.2, "inconclusive")]
)
def test_preemptions_that_a_diagnosis_calls_rare_are_no_reason_to_take_a_remedy_back(
    left_per_s: float, outcome: str
) -> None:
    """3.7 preemptions/s fell to 0.05 while 4 requests/s came: a fiftieth of the harm."""
    promised = pressure_relieved(requests_per_s=4.0)
    before = window(800.0, preemptions_per_s=3.7, kv_usage_ratio=1.0, generation_tokens_per_s=220.0)
    after = window(SINCE, preemptions_per_s=left_per_s, generation_tokens_per_s=380.0)
    assert judged(promised, before, after, SINCE).outcome == outcome
    finished = {"finished_in_window": 600.0, "preemptions_in_window": 150 * left_per_s}
    seen = Window(after.replica, after.at, {**after.signals, **window(SINCE, **finished).signals})
    assert bool(rare_preemptions(Case(seen, {}))) is (outcome == "better")


def test_the_baseline_is_the_mean_and_of_a_counter_where_it_stands() -> None:
    climbing = signal("pod_restarts", [(800.0, 1.0), (940.0, 4.0)], "test")
    assert climbing is not None
    found = dict(
        baseline(EXPECTATION, Window("vllm-0", 950.0, {**BEFORE.signals, "pod_restarts": climbing}))
    )
    assert found["pod_restarts"] == 4.0
    assert found["arrivals_per_s"] == 4.0
    stale = Window("vllm-0", 950.0 + 3600.0, BEFORE.signals)
    assert "arrivals_per_s" not in dict(baseline(EXPECTATION, stale))


def test_harm_that_the_unchanged_replicas_have_too_is_not_the_changes() -> None:
    slower = window(SINCE, itl_mean_s=0.6)
    quick = window(SINCE)
    alone = Expectation(
        (EXPECTATION.expects[0], Expect("itl_mean_s", "holds", 0.1, essential=False)),
        ("arrivals_per_s",),
    )
    former = dict(baseline(alone, BEFORE))
    assert verify(alone, former, slower, SINCE).outcome == "worse"
    assert verify(alone, former, slower, SINCE, [quick]).outcome == "worse"
    both = window(SINCE, itl_mean_s=0.6, preemptions_per_s=3.0)
    assert verify(alone, former, slower, SINCE, [both]).outcome == "better"


def test_the_end_of_a_harm_that_ended_everywhere_proves_nothing() -> None:
    former = dict(baseline(EXPECTATION, BEFORE, [BEFORE, BEFORE]))
    sick, calm = window(SINCE, preemptions_per_s=3.0, itl_mean_s=0.4), window(SINCE, itl_mean_s=0.4)
    assert verify(EXPECTATION, former, window(SINCE), SINCE, [sick]).outcome == "better"
    found = verify(EXPECTATION, former, window(SINCE), SINCE, [calm])
    assert (found.outcome, "at the unchanged replicas too" in found.reasons[0]) == (
        "inconclusive",
        True,
    )
    # only one of them had it before: that the others have none says nothing
    healthy = window(800.0, itl_mean_s=0.4)
    former = dict(baseline(EXPECTATION, BEFORE, [BEFORE, healthy]))
    assert verify(EXPECTATION, former, window(SINCE), SINCE, [calm]).outcome == "better"


def test_a_remnant_beside_replicas_that_still_have_the_harm_is_better() -> None:
    remnant = window(SINCE, preemptions_per_s=0.06)
    sick = window(SINCE, preemptions_per_s=3.0, itl_mean_s=0.4)
    former = dict(baseline(EXPECTATION, BEFORE))
    assert verify(EXPECTATION, former, remnant, SINCE).outcome == "inconclusive"
    assert verify(EXPECTATION, former, remnant, SINCE, [sick]).outcome == "better"


def test_less_load_counts_where_the_unchanged_replicas_have_no_more_and_the_harm() -> None:
    former = dict(baseline(EXPECTATION, BEFORE))
    less = window(SINCE, arrivals_per_s=2.0)
    sick = {"preemptions_per_s": 2.0, "itl_mean_s": 0.4}
    assert verify(EXPECTATION, former, less, SINCE).outcome == "inconclusive"
    same = window(SINCE, arrivals_per_s=2.0, **sick)
    assert verify(EXPECTATION, former, less, SINCE, [same]).outcome == "better"
    most = window(SINCE, arrivals_per_s=4.0, **sick)
    assert verify(EXPECTATION, former, less, SINCE, [most]).outcome == "inconclusive"


def test_it_is_over_where_waiting_cannot_change_the_verdict() -> None:
    idle = window(SINCE, arrivals_per_s=0.0)
    former = dict(baseline(EXPECTATION, BEFORE))
    sick = window(SINCE, preemptions_per_s=3.0, itl_mean_s=0.4)
    starved = verify(EXPECTATION, former, idle, SINCE, [sick])
    assert (starved.outcome, is_over(starved, 470.0, fresh=True)) == ("inconclusive", True)
    short = Judged("inconclusive", ("",), more_s=100.0)
    assert [is_over(short, left, fresh=True) for left in (50.0, 200.0)] == [True, False]
    assert not is_over(short, 50.0, fresh=False)
    assert [is_over(Judged("worse"), 50.0, fresh=fresh) for fresh in (True, False)] == [True, False]
    assert is_over(Judged("better"), 50.0, fresh=False)


def varied(name: str, *values: float) -> Window:
    """The window after the change, with that signal at these values in turn."""
    found = window(SINCE)
    points = [(SINCE + 10.0 * step, values[step % len(values)]) for step in range(16)]
    made = signal(name, points, "test")
    assert made is not None
    return Window(found.replica, found.at, {**found.signals, name: made})


FEWER = Expectation((Expect("preemptions_per_s", "falls", 0.4),), load_signals=("arrivals_per_s",))
UNEVEN = (0.0, 9.0, 1.0, 2.0)


def test_a_harm_that_nearly_ended_is_better_however_unevenly_the_others_have_it() -> None:
    """A spare without preemptions beside replicas with 3 per second, for 150 s: it was taken back,
    because their figures vary too much for the mean of a few scrapes.
    """
    former = dict(baseline(FEWER, varied("preemptions_per_s", *UNEVEN)))
    beside = [varied("preemptions_per_s", *UNEVEN)]
    assert verify(FEWER, former, window(SINCE), SINCE, beside).outcome == "better"
    few = [varied("preemptions_per_s", 0.0, 0.3, 0.0, 0.0)]
    assert verify(FEWER, former, window(SINCE), SINCE, few).outcome != "better"
    as_before = varied("preemptions_per_s", *reversed(UNEVEN))
    assert verify(FEWER, former, as_before, SINCE, beside).outcome == "inconclusive"


def test_what_is_compared_with_replicas_that_serve_on_may_be_told_by_waiting() -> None:
    former = dict(baseline(FEWER, varied("preemptions_per_s", *UNEVEN)))
    fewer = varied("preemptions_per_s", 0.0, 5.0, 0.5, 1.0)
    now = varied("preemptions_per_s", *UNEVEN)
    alone = verify(FEWER, former, fewer, SINCE)
    beside = verify(FEWER, former, fewer, SINCE, [now])
    assert (alone.outcome, beside.outcome) == ("inconclusive", "inconclusive")
    assert "too briefly before" in alone.reasons[0]
    assert is_over(alone, 400.0, fresh=True)
    assert "too briefly before" not in beside.reasons[0]
