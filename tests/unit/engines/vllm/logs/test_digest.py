"""A whole log: its lives, its clock, what is quoted of it, and the signals that it gives."""

# ruff: noqa: E501 (log lines as they are printed)

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from barostat.catalog.signals import SIGNALS
from barostat.core.signal import Signal
from barostat.engines.vllm.logs import lives as log_lives
from barostat.engines.vllm.logs.digest import LogDigest, digest
from barostat.engines.vllm.logs.stats import logged_step, stats_line

AT = 1_795_000_000.0

START = [
    "(APIServer pid=1) INFO 11-20 08:00:00 [utils.py:233] vLLM API server version 0.14.0",
    "(APIServer pid=1) INFO 11-20 08:00:00 [utils.py:233] non-default args: {'model': 'm', 'max_num_seqs': 64}",
    "(EngineCore_DP0 pid=9) INFO 11-20 08:00:09 [core.py:96] Initializing a V1 LLM engine (v0.14.0) with config: model='m', max_seq_len=8192",
    "(EngineCore_DP0 pid=9) INFO 11-20 08:00:40 [kv_cache_utils.py:1305] GPU KV cache size: 10,000 tokens",
]
READY = ["(APIServer pid=1) INFO:     Application startup complete."]
OOM = [
    '  File "w.py", line 1, in execute_model',
    "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 50.00 MiB.",
]
DEAD = [
    "(EngineCore_DP0 pid=9) ERROR 11-20 09:00:00 [core.py:1] EngineCore encountered a fatal error."
]


def stats(
    at: str,
    *,
    running: int = 5,
    waiting: int = 0,
    usage: float = 50.0,
    generation: float = 100.0,
    engine: str = "000",
    more: str = "",
) -> str:
    return (
        f"(APIServer pid=1) INFO 11-20 {at} [loggers.py:257] Engine {engine}: Avg prompt throughput: 10.0 tokens/s, Avg generation throughput: "
        f"{generation} tokens/s, Running: {running} reqs, Waiting: {waiting} reqs{more}, GPU KV cache usage: {usage}%, Prefix cache hit rate: 20.0%"
    )


def named(found: dict[str, list[Signal]], engine: str, name: str) -> Signal:
    return next(made for made in found[engine] if made.name == name)


def kinds(found: LogDigest) -> set[str]:
    return {event.kind for event in found.events}


# --- statistics lines of every version

STATS_LINES = [
    # 0.1
    ("INFO 08-01 03:08:45 scheduler.py:271] Throughput: 181.6 tokens/s, Running: 1 reqs, Swapped: 2 reqs, Pending: 3 reqs, GPU KV cache usage: 100.0%, CPU KV cache usage: 0.0%", {"running": 1, "swapped": 2, "waiting": 3, "usage_ratio": 1.0, "generation_tokens_per_s": 181.6}),
    # 0.2 to 0.10, V0
    ("INFO 03-18 12:34:52 llm_engine.py:706] Avg prompt throughput: 209.6 tokens/s, Avg generation throughput: 567.4 tokens/s, Running: 36 reqs, Swapped: 0 reqs, Pending: 78 reqs, GPU KV cache usage: 99.1%, CPU KV cache usage: 0.0%", {"running": 36, "waiting": 78, "usage_ratio": 0.991}),
    # 0.8 to 0.11.0, V1
    ("INFO 03-18 12:34:52 [loggers.py:80] Engine 000: Avg prompt throughput: 1.0 tokens/s, Avg generation throughput: 2.0 tokens/s, Running: 3 reqs, Waiting: 4 reqs, GPU KV cache usage: 5.0%, Prefix cache hit rate: 6.0%", {"engine": "0", "waiting": 4, "hit_ratio": 0.06}),
    # 0.11.1
    ("Engine 003: Avg prompt throughput: 1.0 tokens/s, Avg generation throughput: 2.0 tokens/s, Running: 3 reqs, Waiting: 4 reqs, Preemptions: 7, GPU KV cache usage: 98.6%, Prefix cache hit rate: 66.0%, External prefix cache hit rate: 1.0%, MM cache hit rate: 0.0%", {"engine": "3", "preemptions": 7, "usage_ratio": 0.986}),
    # 0.20
    ("Engine 000: Avg prompt throughput: 1.0 tokens/s, Avg generation throughput: 2.0 tokens/s, Running: 3 reqs, Waiting: 4 reqs, Deferred: 2 reqs, Preemptions: 7, GPU KV cache usage: 98.6%, Prefix cache hit rate: 66.0%", {"deferred": 2, "preemptions": 7}),
    # 0.30, 0.31: the device's name; no prefix part before the first lookup
    ("Engine 000: Avg prompt throughput: 1.0 tokens/s, Avg generation throughput: 2.0 tokens/s, Running: 3 reqs, Waiting: 4 reqs, CPU KV cache usage: 12.5%", {"usage_ratio": 0.125, "hit_ratio": None}),
    # 0.32
    ("Engine 000: Avg prompt throughput: 1.0 tokens/s, Avg generation throughput: 2.0 tokens/s, Running: 3 reqs, Waiting: 4 reqs, Deferred: 1 reqs, KV fetch: 1 waiting to start, 2 in progress, 0 completed waiting, Preemptions: 3, GPU KV cache usage: 50.0%, Prefix cache hit rate: 6.0%", {"deferred": 1, "preemptions": 3, "usage_ratio": 0.5}),
    # --aggregate-engine-logging
    ("8 Engines Aggregated: Avg prompt throughput: 1.0 tokens/s, Avg generation throughput: 2.0 tokens/s, Running: 3 reqs, Waiting: 4 reqs, GPU KV cache usage: 50.0%, Prefix cache hit rate: 6.0%", {"engine": "", "running": 3, "engines": 8}),
]  # fmt: skip


@pytest.mark.parametrize(("line", "expected"), STATS_LINES)
def test_the_statistics_line_of_every_version(line: str, expected: dict[str, object]) -> None:
    (found,) = digest([line], source="x").stats
    assert {name: getattr(found, name) for name in expected} == pytest.approx(expected)


def test_two_writers_in_one_line_are_no_statistics() -> None:
    assert (
        stats_line("Throughput: 1.2.3 tokens/s, Running: 1 reqs, Pending: 3 reqs", 0.0, "") is None
    )


def test_the_per_step_lines_are_kept_by_engine() -> None:
    line = "INFO 11-20 08:00:0{i} [loggers.py:1] Iteration({i}): 2 context requests, 100 context tokens, 30 generation requests, 30 generation tokens, iteration elapsed time: 20.00 ms, GPU KV cache usage: 5.0%"
    second = line.replace("Iteration(", "Engine 001: Iteration(")
    idle = line.replace("100 context", "0 context").replace(
        "30 generation tokens", "0 generation tokens"
    )
    found = digest(
        [text.replace("{i}", str(i)) for i in range(5) for text in (line, second, idle)], source="x"
    ).steps
    assert {engine: len(steps) for engine, steps in found.items()} == {"": 5, "1": 5}
    first, *_, last = found[""]
    assert (
        first.number,
        first.context_requests,
        first.context_tokens,
        first.generation_requests,
    ) == (0, 2, 100, 30)
    assert (last.number, last.duration_s, last.usage_ratio) == (4, 0.02, 0.05)
    assert last.at - first.at == 4
    assert logged_step("Iteration(3): nothing", 0.0, "") is None


def test_no_more_step_lines_are_kept_than_a_pace_needs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(log_lives, "STEPS_KEPT", 3)
    line = "INFO 11-20 08:00:00 [loggers.py:1] Iteration({i}): 0 context requests, 0 context tokens, 3 generation requests, 3 generation tokens, iteration elapsed time: 20.00 ms"
    steps = digest([line.replace("{i}", str(i)) for i in range(9)], source="x").steps[""]
    assert [step.number for step in steps] == [6, 7, 8]


# --- lives


def test_a_failure_of_an_earlier_life_is_not_this_lifes() -> None:
    found = digest([*START, *OOM, *DEAD, *START, *READY, stats("10:00:00")], source="x")
    assert found.lives == 2
    assert kinds(found) == {"ready"}
    assert found.previous is not None
    assert {event.kind for event in found.previous.events} == {"gpu_oom_serving", "engine_dead"}
    made = found.signals(AT)
    assert named(made, "", "log_engine_dead").last == 0
    assert named(made, "", "previous_log_engine_dead").last == 1
    assert named(made, "", "previous_log_gpu_oom").last == 1


def test_one_start_of_several_processes_is_one_life() -> None:
    engines = [START[2].replace("DP0 pid=9", f"DP{i} pid={i}") for i in range(4)]
    weights = "(EngineCore_DP0 pid=9) INFO 11-20 08:00:20 [x.py:1] Model loading took 1.0 GiB memory and 2.0 seconds"
    found = digest(
        [START[0], START[0], START[1], engines[0], weights, *engines[1:], START[3], *READY],
        source="x",
    )
    assert found.lives == 1
    assert found.ready == 1


def test_a_failed_attempt_between_the_first_lines_ends_no_life() -> None:
    retry = "(APIServer pid=1) ERROR 11-20 08:00:01 [repo_utils.py:1] Error retrieving file list: timed out, retrying 1 of 2"
    found = digest([*START[:2], retry, *START[2:], *READY], source="x")
    assert found.lives == 1
    assert found.settings["max_num_seqs"].value == 64
    assert kinds(found) == {"ready"}


def test_what_stands_before_the_first_banner_is_part_of_the_first_life() -> None:
    found = digest(
        [
            "WARNING 11-20 07:59:59 [u.py:1] Found ulimit of 1024 and failed to automatically increase",
            *START,
        ],
        source="x",
    )
    assert found.lives == 1
    assert kinds(found) == {"fd_limit"}


def test_a_tail_without_a_start_is_a_life_and_a_banner_after_it_another() -> None:
    assert digest([stats("07:00:00")], source="x").lives == 1
    assert digest([stats("07:00:00"), *START], source="x").lives == 2


def test_a_start_that_gets_ready_after_all_outweighs_its_failures() -> None:
    found = digest([*START, "OSError: [Errno 98] Address already in use", *READY], source="x")
    assert kinds(found) == {"ready"}
    assert {event.kind for event in found.survived} == {"port_in_use"}


def test_an_engine_that_goes_on_generating_has_survived() -> None:
    timeout = "TimeoutError: RPC call to sample_tokens timed out."
    lines = [*START, *READY, stats("09:00:00"), timeout]
    assert "rpc_timeout" in kinds(digest(lines, source="x"))
    going_on = [stats(f"09:0{i}:00") for i in range(1, 5)]
    assert "rpc_timeout" not in kinds(digest([*lines, *going_on], source="x"))
    assert "rpc_timeout" in kinds(digest([*lines, *DEAD, *going_on], source="x"))


FAILED_LIVES = st.sampled_from([
    [*START, *OOM], [*START, "ValueError: No available memory for the cache blocks."], [*START, *READY, stats("09:00:00"), *OOM, *DEAD],
    [*START, *READY, stats("09:00:00")], [*START, "OSError: [Errno 98] Address already in use"],
])  # fmt: skip


@given(FAILED_LIVES, FAILED_LIVES)
def test_two_lives_in_one_log_fail_like_the_second(first: list[str], second: list[str]) -> None:
    both, alone = digest([*first, *second], source="x"), digest(second, source="x")
    assert {(event.kind, event.count, event.quote) for event in both.events} == {
        (event.kind, event.count, event.quote) for event in alone.events
    }
    assert {name: value.value for name, value in both.settings.items()} == {
        name: value.value for name, value in alone.settings.items()
    }
    assert both.lives == 2


# --- the clock


def test_a_log_without_a_year_is_anchored_at_its_last_line() -> None:
    found = digest([*START, *READY, stats("08:10:00"), stats("08:10:30")], source="x")
    assert not found.dated
    usage = named(found.signals(AT), "0", "kv_usage_ratio")
    assert [point.at for point in usage.points] == [AT - 30, AT]


def test_the_last_dated_line_may_be_one_that_says_nothing() -> None:
    found = digest(
        [stats("08:10:00"), "INFO 11-20 08:12:00 [x.py:1] Added request cmpl-1."], source="x"
    )
    assert named(found.signals(AT), "0", "kv_usage_ratio").at == AT - 120


def test_an_instant_with_a_year_is_kept() -> None:
    found = digest([f"2026-11-20T08:00:{i:02d}Z {stats('03:00:00')}" for i in (0, 10)], source="x")
    assert found.dated
    usage = named(found.signals(AT), "0", "kv_usage_ratio")
    assert usage.at == 1_795_161_610.0
    assert usage.span_s == 10


@pytest.mark.parametrize(
    ("before", "after", "gap_s"),
    [
        ("12-31 23:59:50", "01-01 00:00:10", 20),
        ("11-30 23:59:50", "12-01 00:00:10", 20),
        ("02-28 23:59:50", "03-01 00:00:10", 20),
        ("02-29 23:59:50", "03-01 00:00:10", 20),
    ],
)
def test_time_goes_on_over_midnight_and_new_year(before: str, after: str, gap_s: int) -> None:
    lines = [stats("X").replace("11-20 X", at) for at in (before, after)]
    first, second = digest(lines, source="x").stats
    assert second.at - first.at == gap_s


def test_hours_without_a_date_go_on_over_midnight() -> None:
    lines = [stats("X").replace("11-20 X", at) for at in ("23:59:50", "00:00:10")]
    first, second = digest(lines, source="x").stats
    assert second.at - first.at == 20


def test_only_the_last_stretch_is_load() -> None:
    found = digest(
        [stats("06:00:00", running=90), stats("08:00:00", running=1), stats("08:00:10", running=2)],
        source="x",
    )
    assert named(found.signals(AT), "0", "running_requests").values == (1, 2)


# --- what is quoted


@pytest.mark.parametrize(
    "secret",
    [
        "hf_aBcdefgh1jkLmn0p",
        "sk-abcdefgh12345678",
        "Bearer abc.def",
        "--api-key hunter2hunter",
        "api_key='hunter2hunter'",
        "https://user:hunter2hunter@host/x",
    ],
)
def test_no_secret_is_quoted(secret: str) -> None:
    quote = digest([f"ValueError: something with {secret} failed"], source="x").events[0].quote
    assert "[redacted]" in quote
    assert not any(part in quote for part in ("hunter2", "cdefgh", "abc.def"))


def test_no_prompt_is_quoted_and_quotes_are_short() -> None:
    quote = (
        digest(
            ["KeyError: {'role': 'user', 'content': 'my private words'} " + "x" * 500], source="x"
        )
        .events[0]
        .quote
    )
    assert "private" not in quote
    assert len(quote) <= 400


def test_token_counts_are_no_secrets() -> None:
    line = "ValueError: The model's max seq len (4096) is larger than the maximum number of tokens that can be stored in KV cache (3584)."
    assert digest([line], source="x").events[0].quote == line


# --- signals


def test_every_log_signal_is_there_and_zero_where_nothing_happened() -> None:
    made = {
        signal.name: signal
        for signal in digest(["INFO nothing of note"], source="x").signals(AT)[""]
    }
    assert {name for name in SIGNALS if name.startswith("log_")} - {"log_preemptions"} <= set(made)
    assert all(signal.last == 0 for signal in made.values())
    before = {
        signal.name: signal.last
        for signal in digest(["INFO nothing"], source="x").signals(AT, previous=True)[""]
    }
    assert before == {name: 0 for name in SIGNALS if name.startswith("previous_log_")}


def test_the_log_before_a_restart_tells_how_it_ended() -> None:
    lines = [*START, *READY, stats("09:00:00"), *OOM, *DEAD]
    made = {
        signal.name: signal for signal in digest(lines, source="x").signals(AT, previous=True)[""]
    }
    assert set(made) == {name for name in SIGNALS if name.startswith("previous_log_")}
    assert made["previous_log_gpu_oom"].last == 1
    assert made["previous_log_gpu_oom"].detail.startswith("serving: torch.OutOfMemoryError")
    assert made["previous_log_engine_dead"].last == 1
    assert made["previous_log_shutdown"].last == 0


def test_load_signals_of_the_statistics_lines() -> None:
    lines = [
        *START,
        stats("08:10:00", running=10, waiting=4, usage=80.0),
        stats(
            "08:10:10", running=12, waiting=6, usage=99.0, more=", Deferred: 2 reqs, Preemptions: 5"
        ),
    ]
    made = digest(lines, source="x").signals(AT)
    assert named(made, "0", "kv_usage_ratio").values == pytest.approx((0.8, 0.99))
    assert named(made, "0", "kv_used_tokens").last == pytest.approx(9_900)
    assert named(made, "0", "waiting_requests").last == 6
    assert named(made, "0", "capacity_waiting_requests").last == 4
    assert named(made, "0", "deferred_waiting_requests").values == (0, 2)
    assert named(made, "0", "preemptions_in_window").last == 5
    assert named(made, "0", "prefix_hit_ratio").last == pytest.approx(0.2)
    assert named(made, "", "log_preemptions").last == 5
    assert named(made, "", "kv_pool_tokens").last == 10_000
    assert named(made, "", "max_model_len_tokens").last == 8192


def test_a_line_of_all_engines_together_is_of_one_engine_in_the_mean() -> None:
    """With --aggregate-engine-logging vLLM adds up requests and tokens over the ranks, and means
    the usage of their pools.
    """
    line = stats(
        "08:10:00", running=96, waiting=16, generation=800.0, usage=80.0, more=", Preemptions: 24"
    )
    made = digest(
        [*START, line.replace("Engine 000: ", "8 Engines Aggregated: ")], source="x"
    ).signals(AT)
    seen = (
        "running_requests",
        "batch_size_p95",
        "waiting_requests",
        "generation_tokens_per_s",
        "preemptions_in_window",
        "kv_used_tokens",
    )
    assert {name: named(made, "", name).last for name in seen} == dict(
        zip(seen, (12, 12, 2, 100, 3, 8_000), strict=True)
    )
    assert named(made, "", "data_parallel_engines").last == 8
    assert "mean of 8 engines" in named(made, "", "running_requests").source


def test_running_without_tokens_is_a_stall_as_long_as_it_lasts() -> None:
    still = [
        stats(f"08:{minute}:00", generation=0.0).replace(
            "prompt throughput: 10.0", "prompt throughput: 0.0"
        )
        for minute in (11, 12, 13)
    ]
    assert (
        named(
            digest([stats("08:10:00"), *still], source="x").signals(AT), "0", "tokens_stalled_s"
        ).last
        == 120
    )
    assert (
        named(
            digest([*still, stats("08:14:00")], source="x").signals(AT), "0", "tokens_stalled_s"
        ).last
        == 0
    )


def test_a_stall_that_is_logged_no_more_lasts_to_the_end_of_the_log() -> None:
    still = stats("08:11:00", generation=0.0).replace(
        "prompt throughput: 10.0", "prompt throughput: 0.0"
    )
    later = "(APIServer pid=1) INFO 11-20 08:21:00 [x.py:1] Added request cmpl-9."
    stalled = named(
        digest([stats("08:10:00"), still, later], source="x").signals(AT), "0", "tokens_stalled_s"
    )
    assert stalled.last == 600
    assert stalled.at == AT


def test_a_log_that_prints_no_preemptions_says_nothing_about_them() -> None:
    """No release up to 0.33 does: the count is zeroed before the line is made."""
    for version in ("0.10.0", "0.14.0", "0.32.0"):
        found = digest(
            [START[0].replace("0.14.0", version), stats("08:10:00")], source="x"
        ).signals(AT)
        assert not any(
            made.name in ("preemptions_in_window", "log_preemptions")
            for signals in found.values()
            for made in signals
        )
    printed = digest(
        [stats("08:10:00"), stats("08:10:10", more=", Preemptions: 3")], source="x"
    ).signals(AT)
    assert named(printed, "0", "preemptions_in_window").last == 3


def test_engines_are_kept_apart() -> None:
    made = digest(
        [stats("08:10:00", running=10), stats("08:10:00", running=2, engine="001")], source="x"
    ).signals(AT)
    assert named(made, "0", "running_requests").last == 10
    assert named(made, "1", "running_requests").last == 2
    assert named(made, "", "data_parallel_engines").last == 2


def test_v0_counts_its_preemptions_itself() -> None:
    line = "WARNING 10-01 10:00:00 scheduler.py:1554] Sequence group 7 is preempted by PreemptionMode.RECOMPUTE mode because there is not enough KV cache space. total_num_cumulative_preemption=151"
    assert named(digest([line], source="x").signals(AT), "", "log_preempted_v0").last == 151


def test_v0_lines_without_a_count_stand_for_fifty_each() -> None:
    line = "WARNING 10-01 10:00:00 scheduler.py:1554] Sequence group 7 is preempted by PreemptionMode.RECOMPUTE mode because of this"
    counts = [
        named(digest([line] * lines, source="x").signals(AT), "", "log_preempted_v0").last
        for lines in (0, 1, 2, 3)
    ]
    assert counts == [0, 1, 51, 101]
