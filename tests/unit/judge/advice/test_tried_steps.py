"""The next steps of recorded engines come in the order, and at the values, that their twin's trials
give them.
"""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.support.tried_bundles import TRIED, advised_once, recorded

from barostat.core.diagnosis import ReplicaReport, StepForecast, Trials
from barostat.core.proposed_change import SetFlag
from barostat.core.prose import Prose
from barostat.judge.advice.change_text import price_of
from barostat.judge.advice.ranking import EQUAL_RATIO, PROMPT_S, wait_s
from barostat.judge.advice.tried_steps import advised, bench_of, tried
from barostat.judge.diagnosis.diagnose import examine
from barostat.twin.summary import Slo


def _only(name: str) -> ReplicaReport:
    (found,) = advised_once(recorded(name)).report.replicas
    return found


def _sure(report: ReplicaReport) -> list[StepForecast]:
    forecasts = [step.forecast for step in report.next if step.forecast is not None]
    return [one for one in forecasts if one.effect in ("helps", "trade-off")]


@pytest.mark.parametrize("name", TRIED)
def test_no_step_ranks_above_one_that_leaves_a_clearly_shorter_wait(name: str) -> None:
    """`Add a replica`, 7 s of 21 s, ranked below steps that leave 20 s."""
    waits = [max(PROMPT_S, wait_s(one.expected)) for one in _sure(_only(name))]
    for place, wait in enumerate(waits):
        # Steps are ordered by what is more than chance, and these are the figures as they are.
        assert all(wait <= 1.1 * EQUAL_RATIO * later for later in waits[place:])


def test_a_cap_is_set_where_it_ends_the_preemptions_and_keeps_the_throughput() -> None:
    before = examine(recorded("kv-preemption-thrash")).report.replicas[0]
    assert SetFlag("max_num_active_seqs", 6) in [step.change for step in before.next]
    after = _only("kv-preemption-thrash")
    assert after.trials is not None
    today = after.trials.today
    assert today is not None
    assert today.output_tokens_per_s == pytest.approx(
        652, rel=0.1
    )  # as the recorded engine measured
    by_lever = {step.lever: step for step in after.next}
    cap, watermark = by_lever["max-num-active-seqs"], by_lever["watermark"]
    assert cap.forecast is not None
    assert cap.forecast.preemptions == "ends"
    assert watermark.forecast is not None
    assert watermark.forecast.preemptions == "reduces"
    for forecast in (cap.forecast, watermark.forecast):
        assert forecast.expected.output_tokens_per_s > 0.98 * today.output_tokens_per_s
        assert forecast.expected.preempted_per_s < today.preempted_per_s / 2
    assert isinstance(cap.change, SetFlag)
    assert int(cap.change.value) > 6  # at six it would cost a fifth of the throughput
    assert "values were tried" in str(cap.because)
    assert "the model's shape (--model-config) and the card (--gpu)" in str(
        by_lever["blocks-override-off"].untried
    )
    assert {step.lever for step in before.next} == {
        step.lever for step in (*after.next, *after.not_advised)
    } & {s.lever for s in before.next}
    effects = [step.forecast.effect if step.forecast else "" for step in after.next]
    assert effects.index("nothing") > max(
        place for place, effect in enumerate(effects) if effect in ("helps", "trade-off")
    )


def test_more_replicas_that_preempt_as_often_per_token_are_no_worse_and_take_more_gpus() -> None:
    (replica,) = [step for step in _only("kv-preemption-thrash").next if step.lever == "scale-out"]
    assert replica.forecast is not None
    assert (replica.forecast.effect, replica.forecast.capacity_ratio) == ("helps", 2.0)
    assert replica.forecast.preemptions == "leaves"
    assert str(price_of(replica, Trials())) == "2 times the GPUs"


def test_a_forecast_that_may_miss_the_slo_is_told_from_one_that_meets_it() -> None:
    recording = recorded("kv-preemption-thrash")
    outlooks = {
        ttft_s: {
            step.lever: step.forecast.slo
            for step in advised(recording, Slo(ttft_s=ttft_s)).report.replicas[0].next
            if step.forecast is not None
        }
        for ttft_s in (1.0, 7.0, 60.0)
    }
    assert set(outlooks[1.0].values()) == {"misses"}
    assert outlooks[7.0]["scale-out"] == "may-miss"
    assert outlooks[7.0]["watermark"] == "misses"
    assert set(outlooks[60.0].values()) == {"meets"}
    assert {step.forecast.slo for step in _only("slot-bound").next if step.forecast} == {None}


def test_what_wins_by_refusing_is_left_and_said() -> None:
    found = _only("slot-bound")
    # The waits are about equal: what takes no GPU comes first.
    assert [step.lever for step in found.next] == ["raise-max-num-seqs", "scale-out"]
    left = next(step for step in found.not_advised if step.lever == "queue-bounds")
    assert left.forecast is not None
    assert left.forecast.effect == "harms"
    assert left.forecast.expected.refused_ratio > 0.2
    assert "refused" in str(left.because)


def test_what_helps_or_harms_by_what_was_not_seen_comes_after_what_is_sure() -> None:
    """Every step was full of prompt, so that nothing tells what one four times as large takes. The
    real engine, with 1,024 tokens a step: as many tokens per second give or take 6 %, a wait a
    third shorter, gaps four times as long.
    """
    found = _only("prefill-bound")
    assert [(step.lever, step.forecast and step.forecast.effect) for step in found.next] == [
        ("scale-out", "helps"),
        ("max-num-batched-tokens", "unsure"),
    ]
    assert found.trials is not None
    assert "in a step's time" in str(found.trials.basis)
    today, unsure = found.trials.today, found.next[1].forecast
    assert today is not None
    assert unsure is not None
    assert unsure.between is not None
    least, most = unsure.between
    for name, ratio in (("output_tokens_per_s", 1.06), ("ttft_mean_s", 0.69), ("itl_mean_s", 3.9)):
        assert (
            0.9 * getattr(least, name) <= ratio * getattr(today, name) <= 1.1 * getattr(most, name)
        ), name


def test_the_same_recording_gives_the_same_order() -> None:
    assert (
        advised(recorded("prefill-bound")).report == advised_once(recorded("prefill-bound")).report
    )


def test_what_is_not_known_is_said_with_what_would_make_it_known() -> None:
    recording = recorded("slot-bound")
    (replica,) = recording.replicas
    found = examine(recording)
    window = found.shown[replica.name]
    none = bench_of(recording, replace(replica, scrapes=()), window, "")
    assert isinstance(none, Prose)
    assert "--workload" in str(none)
    one = bench_of(
        recording, replace(replica, scrapes=replica.scrapes[:1]), replace(window, signals={}), ""
    )
    assert isinstance(one, Prose)
    assert "what-if" in str(one) or "--for" in str(one)
    bench = bench_of(recording, replica, window, "")
    assert not isinstance(bench, Prose)
    short = tried(found.report.replicas[0], window, bench, work=10)
    assert short.trials is not None
    assert "what-if" in str(short.trials.why_not)
    assert short.next == found.report.replicas[0].next


@pytest.mark.parametrize("name", ["healthy-busy", "bad-config-argument", "hung-engine"])
def test_what_is_no_matter_of_load_is_left_as_it_is(name: str) -> None:
    assert advised(recorded(name)) == examine(recorded(name))
