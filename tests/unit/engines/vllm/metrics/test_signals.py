"""Scrapes become signals: every era, one scrape and many, restarts, gaps, and clocks that lie."""

from __future__ import annotations

import random
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from barostat.catalog.signals import SIGNALS
from barostat.core.signal import Signal
from barostat.engines.vllm.metrics.signals import Exposition, digest, problems, read, signals

ERAS = Path(__file__).parents[4] / "data" / "expositions"
V32 = (ERAS / "v1-0.32.0.prom").read_text()
Scrapes = list[tuple[float, Exposition, str]]


def _with(text: str, **values: float) -> str:
    """The scrape with every sample of these names (without vllm:) set to a value; `__` in a name
    starts a label's value.
    """
    for key, value in values.items():
        name, _, label = key.partition("__")
        labels = rf'\{{[^}}]*"{re.escape(label)}"[^}}]*\}}' if label else r"(?:\{.*\})?"
        pattern = rf"^((?:vllm:)?{name}{labels}) \S+$"
        text, changed = re.subn(pattern, rf"\g<1> {value}", text, flags=re.MULTILINE)
        assert changed, key
    return text


def _scrapes(*texts: str, start: float = 1000.0, every: float = 5.0) -> Scrapes:
    return [(start + every * i, read(text), f"{i}.prom") for i, text in enumerate(texts)]


def _of(scrapes: Scrapes, engine: str = "0") -> dict[str, Signal]:
    found = signals(scrapes)[engine]
    assert len({one.name for one in found}) == len(found)
    return {one.name: one for one in found}


GAUGES_OF_ERA: dict[str, dict[str, dict[str, float]]] = {
    "v0-0.6.6": {
        "": {
            "kv_usage_ratio": 0.9,
            "waiting_requests": 5,
            "capacity_waiting_requests": 5,
            "kv_pool_tokens": 16000,
            "kv_used_tokens": 14400,
        }
    },
    "v1-0.8.0": {"": {"kv_usage_ratio": 0.5, "running_requests": 7, "block_size_tokens": 16}},
    "v1-0.10.0": {
        "0": {"kv_usage_ratio": 0.5, "kv_used_tokens": 7984, "capacity_waiting_requests": 3}
    },
    "v1-0.11.0-pid": {"0": {"kv_usage_ratio": 0.75, "kv_pool_blocks": 1000}},
    "v1-0.15.0-dp2": {
        "0": {
            "running_requests": 7,
            "waiting_requests": 3,
            "kv_pool_blocks": 1000,
            "data_parallel_engines": 2,
            "engine_sleeping": 0,
        },
        "1": {
            "running_requests": 8,
            "waiting_requests": 4,
            "kv_pool_blocks": 1000,
            "data_parallel_engines": 2,
        },
    },
    "v1-0.20.0": {
        "0": {
            "capacity_waiting_requests": 2,
            "deferred_waiting_requests": 1,
            "kv_pool_tokens": 16000,
            "kv_used_tokens": 7992,
        }
    },
    "v1-0.24.0": {"0": {"kv_pool_tokens": 12000, "kv_used_tokens": 5994}},
    "v1-0.32.0": {"0": {"kv_usage_ratio": 0.5, "max_tokens_p50": 100}},
}


@pytest.mark.parametrize("era", GAUGES_OF_ERA)
def test_one_scrape_of_each_era(era: str) -> None:
    made = digest([(1000.0, read((ERAS / f"{era}.prom").read_text()), "one.prom")])
    assert made.problems == ()
    assert made.signals.keys() == GAUGES_OF_ERA[era].keys()
    for engine, wanted in GAUGES_OF_ERA[era].items():
        found = {one.name: one.last for one in made.signals[engine]}
        assert {name: found[name] for name in wanted} == pytest.approx(wanted)
        rates = [
            name
            for name in found
            if SIGNALS[name].unit in ("1/s", "tokens/s", "s")
            or name.endswith(("_in_window", "_mean"))
        ]
        assert rates == []


@pytest.mark.parametrize("era", GAUGES_OF_ERA)
def test_two_scrapes_of_each_era_give_rates(era: str) -> None:
    text = (ERAS / f"{era}.prom").read_text()
    later = _with(
        text,
        generation_tokens_total=9050,
        num_preemptions_total=14,
        iteration_tokens_total_count=170,
    )
    itl = (
        "inter_token_latency_seconds"
        if "inter_token_latency_seconds_count" in text
        else "time_per_output_token_seconds"
    )
    later = _with(later, **{f"{itl}_count": 9020, f"{itl}_sum": 302})
    for engine in GAUGES_OF_ERA[era]:
        found = _of(_scrapes(text, later), engine)
        assert found["generation_tokens_per_s"].values == (10.0,)
        assert found["preemptions_in_window"].last == 2
        assert found["preemptions_per_s"].last == pytest.approx(0.4)
        assert "lags" in found["preemptions_in_window"].source
        assert found["steps_per_s"].last == 2.0
        assert found["batch_size_mean"].last == 5.0
        assert found["itl_mean_s"].last == pytest.approx(0.1)
        assert found["errors_in_window"].last == 0


def test_request_shape_of_one_scrape_is_of_the_whole_life_and_says_so() -> None:
    one = _of(_scrapes(V32))
    assert "since the engine's start" in one["prompt_tokens_p50"].source
    assert "ttft_p99_s" not in one
    two = _of(_scrapes(V32, V32))
    assert "prompt_tokens_p50" not in two


def test_quantiles_are_of_the_window_only() -> None:
    later = _with(
        V32,
        **{
            "time_to_first_token_seconds_bucket__10.0": 94,
            "time_to_first_token_seconds_bucket__+Inf": 94,
        },
    )
    later = _with(later, time_to_first_token_seconds_count=94, time_to_first_token_seconds_sum=60)
    found = _of(_scrapes(V32, later))
    assert found["ttft_p50_s"].last == pytest.approx(5.5)  # all four of the window in (1, 10]
    assert found["ttft_mean_s"].last == pytest.approx(5.0)
    assert "4 observations" in found["ttft_p50_s"].source
    beyond = _with(later, **{"time_to_first_token_seconds_bucket__+Inf": 98})
    assert _of(_scrapes(later, beyond))["ttft_p50_s"].detail.startswith("beyond the last bucket")


def test_arrivals_burstiness_and_stall() -> None:
    texts = [
        V32,
        _with(V32, request_success_total__stop=90, generation_tokens_total=9100),
        _with(
            V32,
            request_success_total__stop=90,
            generation_tokens_total=9100,
            num_requests_waiting=33,
        ),
        _with(
            V32,
            request_success_total__stop=90,
            generation_tokens_total=9100,
            num_requests_waiting=33,
        ),
        _with(
            V32,
            request_success_total__stop=90,
            generation_tokens_total=9100,
            num_requests_waiting=33,
        ),
    ]
    found = _of(_scrapes(*texts))
    assert found["arrivals_per_s"].values == (2.0, 6.0, 0.0, 0.0)
    assert found["arrival_burstiness"].last == pytest.approx(3.0)
    assert found["finished_in_window"].last == 10
    assert found["tokens_stalled_s"].values == (0.0, 0.0, 5.0, 10.0)
    assert found["running_requests"].values == (7.0,) * 5


def test_an_idle_engine_does_not_stall_and_usage_counts_as_movement() -> None:
    idle = _with(V32, num_requests_running=0)
    assert _of(_scrapes(idle, idle))["tokens_stalled_s"].values == (0.0,)
    chunked = [_with(V32, kv_cache_usage_perc=usage) for usage in (0.1, 0.2, 0.3)]
    assert _of(_scrapes(*chunked))["tokens_stalled_s"].values == (0.0, 0.0)


def test_prefix_hits_preemptions_rejections_and_errors_of_the_window() -> None:
    later = _with(V32, prefix_cache_queries_total=4400, prefix_cache_hits_total=1100)
    later = _with(
        later,
        **{
            "request_num_preemptions_bucket__+Inf": 93,
            "admission_rejections_total__max_num_queued_reqs": 9,
        },
    )
    later += 'http_requests_total{handler="/v1/completions",method="POST",status="5xx"} 3.0\n'
    found = _of(_scrapes(V32, later))
    assert found["prefix_hit_ratio"].last == pytest.approx(0.25)
    assert found["requests_preempted_twice"].last == 3
    assert found["rejections_in_window"].last == 5
    assert found["errors_in_window"].last == 3
    v0 = _with((ERAS / "v0-0.6.6.prom").read_text(), gpu_prefix_cache_hit_rate=0.4)
    assert "since the engine's start" in _of(_scrapes(v0), "")["prefix_hit_ratio"].source


def test_accepted_drafts_of_a_step_are_told_where_any_were_drafted() -> None:
    name = 'vllm:spec_decode_num_{}_total{{engine="0",model_name="llama"}} {}\n'

    def page(drafts: int, accepted: int) -> str:
        return V32 + name.format("drafts", drafts) + name.format("accepted_tokens", accepted)

    found = _of(_scrapes(page(10, 5), page(110, 155)))
    assert found["accepted_drafts_per_step"].last == pytest.approx(1.5)
    assert "accepted_drafts_per_step" not in _of(_scrapes(page(10, 5), page(10, 5)))
    assert "accepted_drafts_per_step" not in _of(_scrapes(V32, V32))


def test_accepted_draft_tokens_are_no_sequences() -> None:
    draft = 'vllm:spec_decode_num_accepted_tokens_total{{engine="0",model_name="llama"}} {}\n'
    later = _with(V32, generation_tokens_total=9100, iteration_tokens_total_count=170)
    found = _of(_scrapes(V32 + draft.format(0.0), later + draft.format(60.0)))
    assert found["batch_size_mean"].last == pytest.approx(4.0)


def test_a_restart_counts_from_zero_and_is_told() -> None:
    restarted = _with(
        V32, process_start_time_seconds=1.8e9, generation_tokens_total=100, num_preemptions_total=1
    )
    made = digest(_scrapes(V32, restarted))
    found = {one.name: one for one in made.signals["0"]}
    assert found["generation_tokens_per_s"].last == pytest.approx(20.0)
    assert found["preemptions_in_window"].last == 1
    assert found["tokens_stalled_s"].last == 0
    assert any("restarted" in problem for problem in made.problems)
    # Nothing that the old life held is left: what the new one finished and holds has all arrived
    # since.
    arrived = _with(
        restarted, request_success_total=1, num_requests_running=2, num_requests_waiting=3
    )
    assert _of(_scrapes(V32, arrived))["arrivals_per_s"].last == pytest.approx(2.0)
    # The new life's counters may already be higher than the old one's: the start time tells, the
    # counter does not.
    overtaken = _with(restarted, generation_tokens_total=90_000)
    assert _of(_scrapes(V32, overtaken))["generation_tokens_per_s"].last == pytest.approx(18_000.0)


def test_a_restart_without_start_times_shows_by_the_fall() -> None:
    text = (ERAS / "v1-0.15.0-dp2.prom").read_text()
    found = _of(_scrapes(text, _with(text, generation_tokens_total=100)), "1")
    assert found["generation_tokens_per_s"].last == pytest.approx(20.0)


def test_a_counter_that_falls_within_one_life_counts_nothing() -> None:
    scrapes = _scrapes(
        V32, _with(V32, num_preemptions_total=5), _with(V32, num_preemptions_total=6)
    )
    assert _of(scrapes)["preemptions_in_window"].last == 1
    assert any("fell although the process is the same" in problem for problem in problems(scrapes))


def test_many_counters_that_fall_are_one_sentence() -> None:
    scrapes = _scrapes(_with(V32, num_preemptions_total=9e9, generation_tokens_total=9e9), V32)
    fell = [problem for problem in problems(scrapes) if "fell although" in problem]
    assert len(fell) == 1
    assert " and 1 more fell although" in fell[0]


def test_a_backwards_clock_is_sorted_and_told() -> None:
    later = _with(V32, generation_tokens_total=9050)
    scrapes: Scrapes = [
        (1005.0, read(later), "b"),
        (1000.0, read(V32), "a"),
        (1005.0, read(later), "b"),
    ]
    made = digest(scrapes)
    assert {one.name: one.last for one in made.signals["0"]}["generation_tokens_per_s"] == 10.0
    assert any("time order" in problem for problem in made.problems)
    assert any("more than once" in problem for problem in made.problems)


def test_one_address_for_two_replicas() -> None:
    other = _with(V32, process_start_time_seconds=1.6e9, num_preemptions_total=5000)
    made = digest(_scrapes(V32, other, V32, other, _with(V32, num_preemptions_total=13)))
    assert {one.name: one.last for one in made.signals["0"]}["preemptions_in_window"] == 1
    assert any("several replicas" in problem for problem in made.problems)


def test_a_half_scrape_gives_what_it_has() -> None:
    half = V32[: V32.index("# TYPE vllm:prompt_tokens_total")]
    made = digest(_scrapes(V32, half[:-20], V32))
    found = {one.name: one for one in made.signals["0"]}
    assert len(found["running_requests"].points) == 3
    assert len(found["generation_tokens_per_s"].points) == 1
    assert any("half an answer" in problem for problem in made.problems)


def test_gaps_and_engines_that_come_and_go_are_told() -> None:
    text = (ERAS / "v1-0.15.0-dp2.prom").read_text()
    alone = "".join(line for line in text.splitlines(keepends=True) if 'engine="1"' not in line)
    scrapes = [
        (at, read(text if i < 2 else alone), f"{i}")
        for i, at in enumerate((0.0, 5.0, 10.0, 15.0, 95.0))
    ]
    made = digest(scrapes)
    assert len({one.name: one for one in made.signals["1"]}["running_requests"].points) == 2
    assert any("engine 1 is in 2 of 5 scrapes" in problem for problem in made.problems)
    assert any("no scrape for 80 s" in problem for problem in made.problems)
    assert [one.last for one in made.signals["0"] if one.name == "data_parallel_engines"] == [1]


def test_of_the_processes_of_the_pid_bug_the_one_that_moves_is_believed() -> None:
    text = (ERAS / "v1-0.11.0-pid.prom").read_text()
    usages = ((0.25, 0.75), (0.3, 0.75), (0.3, 0.75), (0.35, 0.75))
    scrapes = _scrapes(
        *(_with(text, kv_cache_usage_perc__101=a, kv_cache_usage_perc__102=b) for a, b in usages)
    )
    assert _of(scrapes)["kv_usage_ratio"].values == (0.75, 0.3, 0.3, 0.35)


def test_a_gauge_in_percent_is_read_as_one() -> None:
    found = _of(_scrapes(_with(V32, kv_cache_usage_perc=0.9), _with(V32, kv_cache_usage_perc=93)))[
        "kv_usage_ratio"
    ]
    assert found.last == pytest.approx(0.93)
    assert "percent" in found.source


def test_several_models_under_one_index_are_added_and_told() -> None:
    merged = V32 + V32.replace('model_name="llama"', 'model_name="qwen"')
    made = digest(_scrapes(merged))
    assert {one.name: one.last for one in made.signals["0"]}["running_requests"] == 14
    assert any("differ in model_name" in problem for problem in made.problems)


def test_sleeping_and_cpu() -> None:
    asleep = _with(V32, engine_sleep_state__awake=0, process_cpu_seconds_total=46.5)
    found = _of(_scrapes(V32, asleep))
    assert found["engine_sleeping"].values == (0.0, 1.0)
    assert found["api_server_cpu_cores"].last == pytest.approx(1.0)


def test_a_counter_that_v0_shows_from_its_first_event_on_was_zero_before() -> None:
    v0 = (ERAS / "v0-0.6.6.prom").read_text()
    fresh = "".join(line for line in v0.splitlines(keepends=True) if "num_preemptions" not in line)
    assert _of(_scrapes(fresh, v0), "")["preemptions_in_window"].last == 12


def test_what_is_no_vllm_is_left_out_and_told() -> None:
    made = digest(
        [(1.0, read("<html></html>"), "a"), (2.0, read(V32), "b"), (float("nan"), read(V32), "c")]
    )
    assert [one.last for one in made.signals["0"] if one.name == "running_requests"] == [7]
    assert made.problems == (
        "a: a web page (HTML) instead of metrics: is this the engine's address and port?",
        "c: a scrape without a time is left out",
    )
    assert signals([]) == {}


_TEXTS = [
    V32,
    _with(V32, num_preemptions_total=20),
    _with(V32, process_start_time_seconds=1.8e9),
    V32[:4000],
    "",
    (ERAS / "v1-0.10.0.prom").read_text(),
]
_READ = [read(text) for text in _TEXTS]


@given(
    st.lists(
        st.tuples(
            st.sampled_from([0.0, 5.0, 10.0, 15.0, 20.0]), st.sampled_from(range(len(_READ)))
        ),
        max_size=6,
    ),
    st.randoms(),
)
def test_the_order_of_the_scrapes_changes_nothing(
    chosen: list[tuple[float, int]], dice: random.Random
) -> None:
    scrapes = [(at, _READ[i], str(i)) for at, i in chosen]
    shuffled = list(scrapes)
    dice.shuffle(shuffled)
    assert signals(shuffled) == signals(scrapes)
    for found in signals(scrapes).values():
        assert {one.name for one in found} <= SIGNALS.keys()
        assert all(value >= 0 for one in found for value in one.values)


@given(
    st.lists(st.lists(st.floats(), min_size=1, max_size=9), min_size=1, max_size=3),
    st.sampled_from(["v1-0.32.0", "v1-0.15.0-dp2", "v0-0.6.6"]),
)
def test_no_value_raises(columns: list[list[float]], era: str) -> None:
    lines = (ERAS / f"{era}.prom").read_text().splitlines()
    texts = []
    for values in columns:
        numbered = (
            line
            if line.startswith("#")
            else f"{line.rpartition(' ')[0]} {values[i % len(values)]!r}"
            for i, line in enumerate(lines)
        )
        texts.append("\n".join(numbered) + "\n")
    for found in signals(_scrapes(*texts)).values():
        assert all(value == value for one in found for value in one.values)


def test_what_cannot_be_is_not_known_and_said() -> None:
    page = "".join(
        f'vllm:{name}{{engine="0"}} -5\n'
        for name in ("num_requests_running", "num_requests_waiting", "generation_tokens_total")
    )
    page += 'vllm:kv_cache_usage_perc{engine="0"} 0.5\n'
    made = digest([(at, read(page), "x") for at in (1000.0, 1010.0, 1020.0)])
    known = {signal.name for signals in made.signals.values() for signal in signals}
    assert "kv_usage_ratio" in known
    assert not known & {"running_requests", "waiting_requests", "generation_tokens_per_s"}
    assert any("negative, which cannot be" in problem for problem in made.problems)


def test_adapters_are_those_of_the_latest_state() -> None:
    states = (
        'vllm:lora_requests_info{max_lora="1",running_lora_adapters="a",'
        'waiting_lora_adapters="a,b,c"} 1.795e+09\n'
        'vllm:lora_requests_info{max_lora="1",running_lora_adapters="",'
        'waiting_lora_adapters=""} 1.794e+09\n'
    )
    found = _of(_scrapes(V32 + states))
    assert found["running_adapters"].last == 1
    assert found["waiting_adapters"].last == 2
    assert "running_adapters" not in _of(_scrapes(V32))
