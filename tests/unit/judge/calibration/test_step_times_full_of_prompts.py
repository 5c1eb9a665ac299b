"""Steps that are all full of prompt tell how long such a step takes, and not what one of another
size would: that is said, and no line through the noise of counting is taken for it.
"""

from __future__ import annotations

from functools import cache
from statistics import pstdev

import pytest
from tests.support.watched_engine import Load, Truth, Watched

from barostat.engines.vllm.logs.digest import LogDigest
from barostat.engines.vllm.logs.lines import LoggedStep
from barostat.judge.calibration.mean_steps import mean_load, stretches_seen
from barostat.judge.calibration.preferred import measured_step_times
from barostat.judge.calibration.step_times import FittedStepTimes, pace_of_log
from barostat.judge.evidence.recording import Recording
from barostat.judge.observed.engine import observed_engine
from barostat.judge.observed.traffic import ObservedTraffic, observed_traffic
from barostat.twin.linear_pace import LinearPace
from barostat.twin.settings import KvGroup, Settings

BUDGET, LARGER = 256, 1024
SETTINGS = Settings(
    kv_blocks=4001,
    groups=(KvGroup(16),),
    max_model_len=4096,
    max_num_seqs=64,
    max_num_batched_tokens=BUDGET,
)
LONG_PROMPTS = Load((1500, 2500), (8, 16), clients=16)
TRUTHS = {
    "nothing but tokens": LinearPace(0.002, 5e-4, 5e-4, 5e-8),
    "half and half": LinearPace(0.060, 2.4e-4, 5e-4, 5e-8),
    "hardly any of it tokens": LinearPace(0.120, 5e-5, 5e-4, 5e-8),
}


@cache
def _watched(name: str, load: Load = LONG_PROMPTS) -> tuple[Recording, Truth]:
    watched = Watched(SETTINGS, TRUTHS[name], load)
    return watched.recording(20.0, 110.0), watched.truth


def _found(recording: Recording) -> FittedStepTimes:
    seen = observed_engine(recording)
    traffic = observed_traffic(seen.window, seen.scrapes)
    assert isinstance(traffic, ObservedTraffic)
    found = measured_step_times(None, "0", seen.scrapes, SETTINGS, traffic)
    assert found is not None
    return found


@pytest.mark.parametrize("name", TRUTHS)
def test_a_larger_step_is_within_what_the_paces_have_it_take(name: str) -> None:
    found = _found(_watched(name)[0])
    larger = [pace.step_ns(LARGER, 2, 4000) for pace in (found.pace, *found.others)]
    assert 0.95 * min(larger) <= TRUTHS[name].step_ns(LARGER, 2, 4000) <= 1.05 * max(larger)
    assert max(larger) > 2 * min(larger)
    as_seen = [pace.step_ns(BUDGET - 2, 2, 4000) for pace in (found.pace, *found.others)]
    assert max(as_seen) < 1.1 * min(as_seen)
    assert "under this load the share of prompt tokens in a step's time" in found.note


def test_the_noise_of_counting_is_no_variation() -> None:
    recording, truth = _watched("half and half")
    scrapes = observed_engine(recording).scrapes
    assert scrapes is not None
    samples = stretches_seen(scrapes, budget_tokens=BUDGET)
    assert pstdev(sample.prefill_tokens for sample in samples) < 1e-6
    assert mean_load(samples).prefill_tokens == pytest.approx(
        truth.prefill_tokens / truth.steps, rel=0.05
    )


def test_prompts_that_really_vary_are_left_as_they_are_seen() -> None:
    """Prompts that come now and then: a stretch has several times as many as another, and what they
    cost is known by that.
    """
    recording, _ = _watched("half and half", Load((1500, 2500), (100, 200), rate=0.12))
    scrapes = observed_engine(recording).scrapes
    assert scrapes is not None
    loads = [sample.prefill_tokens for sample in stretches_seen(scrapes, budget_tokens=BUDGET)]
    assert max(loads) > 2 * min(loads)
    found = _found(recording)
    assert found.pace.prefill_token_s == pytest.approx(
        TRUTHS["half and half"].prefill_token_s, rel=0.25
    )
    assert "under this load" not in found.note


def _log(pace: LinearPace, prompts: list[int]) -> LogDigest:
    """Lines of busy steps with so many prompt tokens, and two requests that decode now and then."""
    at, steps = 1000.0, []
    for number, tokens in enumerate(prompts):
        decodes = number // 7 % 3
        at += pace.step_ns(tokens, decodes, 2000) / 1e9
        steps.append(
            LoggedStep(at, 1 if tokens else 0, tokens, decodes, decodes, 0.0, 0.1, "0", number)
        )
    return LogDigest("a log", steps={"0": tuple(steps)})


@pytest.mark.parametrize("name", TRUTHS)
def test_lines_of_full_steps_leave_larger_ones_open(name: str) -> None:
    found = pace_of_log(_log(TRUTHS[name], [BUDGET - 2] * 400), "0", SETTINGS, None)
    assert found is not None
    larger = [pace.step_ns(LARGER, 2, 2000) for pace in (found.pace, *found.others)]
    assert 0.95 * min(larger) <= TRUTHS[name].step_ns(LARGER, 2, 2000) <= 1.05 * max(larger)
    assert "under this load the share of prompt tokens" in found.note


def test_lines_of_steps_of_all_sizes_tell() -> None:
    true = TRUTHS["half and half"]
    found = pace_of_log(
        _log(true, [index // 10 % 5 * 64 for index in range(400)]), "0", SETTINGS, None
    )
    assert found is not None
    assert found.others == ()
    assert found.pace.prefill_token_s == pytest.approx(true.prefill_token_s, rel=0.1)
