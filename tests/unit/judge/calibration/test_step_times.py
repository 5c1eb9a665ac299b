"""A pace is read back from the metrics of an engine whose steps are known."""

from __future__ import annotations

from pathlib import Path

import pytest

from barostat.core.errors import InputError
from barostat.engines.vllm.metrics.scrapes import EngineScrapes
from barostat.io.bundles import bundle
from barostat.judge.calibration.mean_steps import stretches_seen
from barostat.judge.calibration.step_times import fitted_step_times, pace_of_latency
from barostat.judge.evidence.recording import ReplicaRecording, Scrape
from barostat.judge.observed.engine import engine_scrapes, observed_engine
from barostat.twin.linear_pace import LinearPace

BUNDLES = Path(__file__).parents[3] / "data/bundles"
TRUE = LinearPace(0.008, 2e-4, 4e-4, 1e-7)
BLOCKS, BLOCK = 1001, 16


class FakeEngine:
    """Counters of an engine whose steps take exactly as long as TRUE says, one load per stretch of
    10 s.
    """

    def __init__(self) -> None:
        self.at = 1000.0
        self.steps = self.tokens = self.gaps = self.gap_s = self.prompts = self.preempted = 0.0
        self.firsts = self.prefill_s = 0.0
        self.texts: list[Scrape] = []

    def stretch(
        self, decodes: int, prompt_tokens_per_step: float, held_each: int, idle_ratio: float = 0.0
    ) -> None:
        step_s = (
            TRUE.step_ns(0, decodes, decodes * held_each) / 1e9
            + TRUE.prefill_token_s * prompt_tokens_per_step
        )
        steps = 10.0 * (1 - idle_ratio) / step_s
        self.scrape(decodes, held_each)
        self.at += 10.0
        self.steps += steps
        self.tokens += steps * (decodes + prompt_tokens_per_step)
        self.gaps += steps * decodes
        self.gap_s += steps * decodes * step_s
        self.prompts += steps * prompt_tokens_per_step
        self.scrape(decodes, held_each)
        self.at += 1e-3

    def one_by_one(self, requests: int, prompt_tokens: int, output_tokens: int) -> float:
        """Requests that never meet: no gap between tokens holds a prompt. Returns what a step
        really takes, on average.
        """
        self.scrape(0, 1)
        self.at += 10.0
        prompt_s, step_s = (
            TRUE.step_ns(*load) / 1e9
            for load in ((prompt_tokens, 0, prompt_tokens), (0, 1, prompt_tokens))
        )
        self.steps += requests * output_tokens
        self.tokens += requests * (prompt_tokens + output_tokens)
        self.gaps += requests * (output_tokens - 1)
        self.gap_s += requests * (output_tokens - 1) * step_s
        self.prompts += requests * prompt_tokens
        self.firsts += requests
        self.prefill_s += requests * prompt_s
        self.scrape(0, 1)
        self.at += 1e-3
        return (prompt_s + (output_tokens - 1) * step_s) / output_tokens

    def scrape(self, running: int, held_each: int) -> None:
        usage = running * (held_each + BLOCK / 2) / ((BLOCKS - 1) * BLOCK)
        label = '{engine="0",model_name="m"}'
        lines = [
            (
                f'vllm:cache_config_info{{engine="0",block_size="{BLOCK}",num_gpu_blocks="{BLOCKS}",kv_cache_memory_bytes="None"}} '
                "1.0"
            ),
            f"vllm:num_requests_running{label} {running}",
            f"vllm:kv_cache_usage_perc{label} {usage}",
            f"vllm:prompt_tokens_total{label} {self.prompts}",
            f"vllm:num_preemptions_total{label} {self.preempted}",
            f"vllm:iteration_tokens_total_count{label} {self.steps}",
            f"vllm:iteration_tokens_total_sum{label} {self.tokens}",
            f"vllm:inter_token_latency_seconds_count{label} {self.gaps}",
            f"vllm:inter_token_latency_seconds_sum{label} {self.gap_s}",
            f"vllm:time_to_first_token_seconds_count{label} {self.firsts}",
            f"vllm:time_to_first_token_seconds_sum{label} {self.prefill_s}",
            f"vllm:request_prefill_time_seconds_count{label} {self.firsts}",
            f"vllm:request_prefill_time_seconds_sum{label} {self.prefill_s}",
        ]
        self.texts.append(Scrape(self.at, "\n".join(lines) + "\n", "fake"))

    def scrapes(self) -> EngineScrapes:
        found = engine_scrapes(ReplicaRecording("fake", scrapes=tuple(self.texts)))
        assert found is not None
        return found


def test_loads_that_vary_give_the_pace_back() -> None:
    engine = FakeEngine()
    for decodes, prompts, held in (
        (2, 0, 100),
        (40, 0, 120),
        (8, 100, 900),
        (20, 400, 300),
        (30, 50, 500),
        (4, 800, 80),
    ):
        engine.stretch(decodes, prompts, held)
    found = fitted_step_times(engine.scrapes())
    assert found is not None
    assert found.pace.base_s == pytest.approx(TRUE.base_s, rel=0.15)
    assert found.pace.prefill_token_s == pytest.approx(TRUE.prefill_token_s, rel=0.05)
    assert found.pace.decode_s == pytest.approx(TRUE.decode_s, rel=0.2)
    for other in (found.pace, *found.others):  # at a load between those seen, whatever was expected
        assert other.step_ns(200, 16, 16 * 400) == pytest.approx(
            TRUE.step_ns(200, 16, 16 * 400), rel=0.1
        )


def test_an_engine_that_idles_is_timed_by_its_tokens() -> None:
    engine = FakeEngine()
    engine.stretch(4, 100, 200, idle_ratio=0.7)
    (sample,) = [sample for sample in stretches_seen(engine.scrapes()) if sample.steps > 1]
    assert sample.duration_s == pytest.approx(
        TRUE.base_s + 100 * TRUE.prefill_token_s + 4 * TRUE.decode_s + 800 * TRUE.kv_token_s,
        rel=0.02,
    )
    assert sample.kv_tokens == pytest.approx(800, rel=0.02)


def test_prompts_that_nobody_decodes_beside_are_step_time() -> None:
    engine = FakeEngine()
    really_s = engine.one_by_one(requests=12, prompt_tokens=900, output_tokens=20)
    (sample,) = [sample for sample in stretches_seen(engine.scrapes()) if sample.steps > 1]
    assert sample.prefill_tokens == pytest.approx(45)
    assert sample.duration_s == pytest.approx(really_s, rel=0.1)


def test_waits_of_preempted_requests_are_not_step_time() -> None:
    engine = FakeEngine()
    engine.stretch(10, 0, 300)
    honest = stretches_seen(engine.scrapes())
    engine = FakeEngine()
    engine.stretch(10, 0, 300)
    engine.gap_s += 30.0
    engine.preempted += 12
    engine.texts.pop()
    engine.at -= 1e-3
    engine.scrape(10, 300)
    stalled = stretches_seen(engine.scrapes())
    assert stalled[0].duration_s == pytest.approx(honest[0].duration_s, rel=0.01)
    assert (
        stalled[0].prefill_tokens > honest[0].prefill_tokens == 0.0
    )  # what was preempted was computed again


def test_one_load_leaves_other_loads_open() -> None:
    engine = FakeEngine()
    for _ in range(4):
        engine.stretch(20, 50, 300)
    found = fitted_step_times(engine.scrapes())
    assert found is not None
    assert "one load only" in found.note
    here = [pace.step_ns(50, 20, 6000) for pace in (found.pace, *found.others)]
    half = [pace.step_ns(50, 10, 3000) for pace in (found.pace, *found.others)]
    assert max(here) / min(here) < 1.05
    assert max(half) / min(half) > 1.2


def test_expected_proportions_are_the_cards_where_the_load_is_steady() -> None:
    engine = FakeEngine()
    for _ in range(4):
        engine.stretch(20, 50, 300)
    card = LinearPace(
        TRUE.base_s / 9, TRUE.prefill_token_s / 9, TRUE.decode_s / 9, TRUE.kv_token_s / 9
    )
    found = fitted_step_times(engine.scrapes(), card)
    assert found is not None
    assert found.pace.step_ns(0, 5, 1500) == pytest.approx(TRUE.step_ns(0, 5, 1500), rel=0.1)


def test_fewer_than_two_stretches_give_no_pace() -> None:
    engine = FakeEngine()
    engine.scrape(0, 1)
    assert fitted_step_times(engine.scrapes()) is None
    assert engine_scrapes(ReplicaRecording("none")) is None


def test_a_time_between_tokens_alone_gives_a_pace_that_says_so() -> None:
    found = pace_of_latency(0.03, "ITL in the log")
    assert found.pace.step_ns(0, 1, 1) == 30_000_000
    assert "30%" in found.note
    with_card = pace_of_latency(0.03, "ITL in the log", LinearPace(0.01, 1e-4, 1e-5, 1e-9))
    assert with_card.pace.base_s == 0.03
    assert with_card.pace.prefill_token_s == 1e-4


@pytest.mark.parametrize(
    "name",
    [
        "healthy-busy",
        "kv-preemption-thrash",
        "kv-admission-queueing",
        "slot-bound",
        "prefill-bound",
    ],
)
def test_real_engines_steps_are_met_on_the_mean(name: str) -> None:
    engine = observed_engine(bundle.read(BUNDLES / name)).scrapes
    assert engine is not None
    found = fitted_step_times(engine)
    assert found is not None
    seen = stretches_seen(engine)
    steps = sum(sample.steps for sample in seen)
    time_s = sum(sample.steps * sample.duration_s for sample in seen)
    told_s = sum(
        s.steps
        * found.pace.step_ns(round(s.prefill_tokens), round(s.decodes), round(s.kv_tokens))
        / 1e9
        for s in seen
    )
    assert told_s / steps == pytest.approx(time_s / steps, rel=0.08)


def test_steps_with_prompts_are_told_from_the_rest_at_one_steady_load() -> None:
    """Seen at one load of 40 requests, what a prompt token costs is found in the histograms:
    between 0.2 and 0.4 ms on that machine.
    """
    engine = observed_engine(bundle.read(BUNDLES / "healthy-busy")).scrapes
    assert engine is not None
    found = fitted_step_times(engine)
    assert found is not None
    for pace in (found.pace, *found.others):
        assert 2e-4 < pace.prefill_token_s < 4e-4


def test_a_recording_without_configuration_is_refused() -> None:
    recording = bundle.read(BUNDLES / "healthy-busy")
    with pytest.raises(InputError):
        observed_engine(type(recording)("empty", recording.at, ()))
