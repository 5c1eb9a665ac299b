"""The forecast of an engine that is the twin, calibrated from its metrics as a live engine is, beside what its clients really had."""

from __future__ import annotations

import pytest
from tests.support.watched_engine import Load, Watched

from barostat.judge.calibration.preferred import preferred_step_times
from barostat.judge.experiments.candidates import Candidate
from barostat.judge.experiments.side_by_side import compare
from barostat.judge.experiments.trials import LikeSeen, fitting_duration_s
from barostat.judge.observed.engine import observed_engine
from barostat.judge.observed.traffic import NotObserved, observed_traffic
from barostat.judge.observed.twin_settings import twin_settings
from barostat.twin.linear_pace import LinearPace
from barostat.twin.settings import Settings, for_version
from barostat.twin.summary import Slo


@pytest.mark.parametrize(
    "load",
    [
        pytest.param(Load((200, 800), (60, 200), rate=12.0), id="open", marks=pytest.mark.sweep),
        pytest.param(Load((200, 800), (60, 200), clients=16), id="closed"),
    ],
)
def test_the_forecast_of_an_engine_that_is_the_twin_agrees_with_it(load: Load) -> None:
    """Means within 5 %, the 99th percentile of the gaps within 10 %, of what its clients really had: buckets tell less than that."""
    settings = for_version(Settings(kv_blocks=4000, max_model_len=8192, max_num_seqs=256, async_scheduling=True), "0.32.0")
    watched = Watched(settings, LinearPace(0.006, 3e-5, 1e-4, 1e-8), load)
    seen = observed_engine(watched.recording(20, 50))
    truth = watched.truth
    twin, traffic = twin_settings(seen.window), observed_traffic(seen.window, seen.scrapes)
    assert twin is not None
    assert not isinstance(traffic, NotObserved)
    found = preferred_step_times(seen, twin, traffic)
    assert found is not None
    like = LikeSeen(traffic, fitting_duration_s(traffic), twin.hash_tokens, twin.max_model_len)
    forecast = compare(Candidate("today", twin), like, Slo(), (found.pace,), 3)

    def mean(name: str) -> float:
        value = forecast.range(name)
        assert value is not None
        return value.mean

    assert mean("itl_mean_s") == pytest.approx(sum(truth.gaps_s) / len(truth.gaps_s), rel=0.05)
    assert mean("ttft_mean_s") == pytest.approx(sum(truth.firsts_s) / len(truth.firsts_s), rel=0.05)
    assert mean("itl_p99_s") == pytest.approx(sorted(truth.gaps_s)[int(0.99 * len(truth.gaps_s))], rel=0.1)
