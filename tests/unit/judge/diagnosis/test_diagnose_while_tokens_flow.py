"""What an engine is told to have while requests run and tokens are counted: windows as they are
measured, judged whole.
"""

from __future__ import annotations

import pytest

from barostat.catalog.signals import signal
from barostat.core.diagnosis import ReplicaReport
from barostat.core.window import Window
from barostat.judge.diagnosis.diagnose import judge_window

AT = 1_795_000_000.0
FLOWING = {
    "running_requests": 40.0,
    "generation_tokens_per_s": 1500.0,
    "kv_usage_ratio": 0.5,
    "tokens_stalled_s": 0.0,
    "scrape_ok": 1.0,
}


def judged(measured: dict[str, float], every_s: float = 5.0, **details: str) -> ReplicaReport:
    """The report on an engine whose six readings stayed the same."""
    times = [AT - every_s * place for place in range(5, -1, -1)]
    made = [
        signal(name, [(at, value) for at in times], "test", details.get(name, ""))
        for name, value in measured.items()
    ]
    return judge_window(Window("r", AT, {item.name: item for item in made if item is not None}))


def test_a_probe_that_waits_behind_the_queue_is_no_hang() -> None:
    report = judged({**FLOWING, "waiting_requests": 80.0, "probe_token_ok": 0.0})
    assert report.diagnosis.cause == "unknown"
    assert report.diagnosis.severity == "warning"
    assert "controlled-restart" not in [step.lever for step in report.next]


def test_a_probe_that_a_busy_api_server_does_not_answer_is_no_hang() -> None:
    report = judged(
        {**FLOWING, "waiting_requests": 0.0, "probe_token_ok": 0.0, "api_server_cpu_cores": 0.99}
    )
    assert report.diagnosis.cause == "host-bound"


def test_a_collective_of_the_life_before_is_no_hang_of_this_one() -> None:
    assert (
        judged(
            {**FLOWING, "waiting_requests": 0.0, "previous_log_collective_timeout": 1.0}
        ).diagnosis.cause
        == "healthy-busy"
    )


@pytest.mark.parametrize(
    "beside",
    [
        {"tokens_stalled_s": 40.0},
        {"engine_core_stopped": 1.0},
        {"log_collective_timeout": 1.0},
        {"previous_log_collective_timeout": 1.0},
    ],
)
def test_what_really_hangs_is_told(beside: dict[str, float]) -> None:
    still = (
        {"generation_tokens_per_s": 0.0, "tokens_stalled_s": 40.0}
        if "previous_log_collective_timeout" in beside
        else {}
    )
    report = judged({**FLOWING, **still, "waiting_requests": 80.0, "probe_token_ok": 0.0, **beside})
    assert (report.diagnosis.cause, report.diagnosis.severity) == ("hung-engine", "critical")


STALLED = {**FLOWING, "waiting_requests": 0.0, "generation_tokens_per_s": 0.0}


@pytest.mark.parametrize("waiting", [0.0, 15.0])
def test_a_count_that_stands_still_is_no_proof_of_a_hang(waiting: float) -> None:
    """Where all clients give up at once, some versions show the last count until the next request
    comes.
    """
    report = judged({**STALLED, "tokens_stalled_s": 20.0, "waiting_requests": waiting})
    assert (report.diagnosis.cause, report.diagnosis.severity) == ("unknown", "warning")
    assert "hung-engine" in report.diagnosis.summary
    assert "--probe" in report.diagnosis.summary


def test_a_count_that_stands_for_a_minute_is_one_unless_a_request_is_answered() -> None:
    report = judged({**STALLED, "tokens_stalled_s": 600.0})
    assert (report.diagnosis.cause, report.diagnosis.severity) == ("hung-engine", "critical")
    assert (
        judged({**STALLED, "tokens_stalled_s": 600.0, "probe_token_ok": 1.0}).diagnosis.cause
        == "unknown"
    )
    alone = judged(
        {**STALLED, "tokens_stalled_s": 600.0, "running_requests": 1.0}
    )  # its client may have given up, and nobody came since
    assert (alone.diagnosis.cause, alone.diagnosis.severity) == ("unknown", "warning")


@pytest.mark.parametrize(
    "beside",
    [
        {"probe_token_ok": 0.0},
        {"health_ok": 0.0},
        {"log_rpc_timeout": 1.0},
        {"engine_core_stopped": 1.0},
        {"gpu_utilization_ratio": 1.0},
    ],
)
def test_what_shows_that_work_is_there_makes_it_a_hang(beside: dict[str, float]) -> None:
    report = judged({**STALLED, "tokens_stalled_s": 40.0, **beside}, every_s=10.0)
    assert (report.diagnosis.cause, report.diagnosis.severity) == ("hung-engine", "critical")


def test_a_card_at_work_for_a_moment_may_be_in_one_long_step() -> None:
    assert (
        judged({**STALLED, "tokens_stalled_s": 12.0, "gpu_utilization_ratio": 1.0}).diagnosis.cause
        == "unknown"
    )


@pytest.mark.parametrize(
    "load", [FLOWING, {**FLOWING, "running_requests": 0.0, "generation_tokens_per_s": 0.0}]
)
def test_a_server_that_calls_itself_unhealthy_is_never_called_healthy(
    load: dict[str, float],
) -> None:
    report = judged({**load, "waiting_requests": 0.0, "health_ok": 0.0}, every_s=60.0)
    assert (report.diagnosis.cause, report.diagnosis.severity) == ("unknown", "critical")
    assert "/health does not answer 200" in report.diagnosis.summary
    assert (
        judged({**load, "waiting_requests": 0.0, "health_ok": 1.0}, every_s=60.0).diagnosis.severity
        == "none"
    )


def test_a_probe_without_an_answer_is_never_called_healthy() -> None:
    report = judged({**FLOWING, "waiting_requests": 0.0, "probe_token_ok": 0.0})
    assert (report.diagnosis.cause, report.diagnosis.severity) == ("unknown", "warning")


@pytest.mark.parametrize(
    "seen",
    [
        {"gpu_xid": 63.0},
        {"gpu_xid": 154.0},
        {"gpu_xid": 121.0},
        {"gpu_xid": 61.0},
        {"gpu_rows_pending": 1.0},
        {"gpu_xid": 0.0},
    ],
)
def test_what_is_no_fault_of_the_card_hides_no_thrash(seen: dict[str, float]) -> None:
    thrash = {
        "kv_usage_ratio": 0.99,
        "waiting_requests": 40.0,
        "preemptions_in_window": 60.0,
        "finished_in_window": 100.0,
    }
    report = judged({**FLOWING, **thrash, **seen})
    assert report.diagnosis.cause == "kv-preemption-thrash"
    assert any(
        text.startswith("node-fault: The card should be reset") for text in report.contributing
    ) is ("gpu_rows_pending" in seen)


def test_a_card_that_is_broken_comes_before_a_repair_that_waits() -> None:
    report = judged({**FLOWING, "waiting_requests": 0.0, "gpu_rows_pending": 1.0, "gpu_xid": 79.0})
    assert (report.diagnosis.cause, report.diagnosis.variant) == ("node-fault", "xid")
    assert (
        judged({**FLOWING, "waiting_requests": 0.0, "gpu_rows_failed": 1.0}).diagnosis.cause
        == "node-fault"
    )


def test_requests_that_the_scheduler_passes_over_are_harmed() -> None:
    report = judged(
        {
            **FLOWING,
            "waiting_requests": 200.0,
            "capacity_waiting_requests": 0.0,
            "deferred_waiting_requests": 200.0,
        }
    )
    assert (report.diagnosis.cause, report.diagnosis.severity) == ("unknown", "warning")
    assert "200 wait for an adapter, a grammar or a transfer" in report.diagnosis.summary


GOOD = {
    "ttft_p50_s": 0.2,
    "ttft_p99_s": 0.4,
    "itl_p50_s": 0.02,
    "itl_p99_s": 0.03,
    "waiting_requests": 0.0,
}
THROTTLED = {"cpu_throttled_ratio": 0.27, "cpu_usage_cores": 3.0, "cpu_limit_cores": 16.0}


def test_a_throttled_container_that_harms_nobody_is_a_remark() -> None:
    report = judged({**FLOWING, **GOOD, **THROTTLED})
    assert report.diagnosis.cause == "healthy-busy"
    assert any(
        text.startswith("host-bound: The host is busy and nobody is harmed")
        for text in report.contributing
    )


@pytest.mark.parametrize("harm", [{"itl_p99_s": 1.5}, {"waiting_requests": 30.0}])
def test_a_throttled_container_that_harms_somebody_is_the_cause(harm: dict[str, float]) -> None:
    assert judged({**FLOWING, **GOOD, **THROTTLED, **harm}).diagnosis.cause == "host-bound"


def test_a_throttled_container_whose_harm_nobody_measured_stays_the_cause() -> None:
    assert judged({**FLOWING, "waiting_requests": 0.0, **THROTTLED}).diagnosis.cause == "host-bound"


STANDING = {
    "running_requests": 0.0,
    "waiting_requests": 5.0,
    "generation_tokens_per_s": 0.0,
    "kv_usage_ratio": 0.0,
    "scrape_ok": 1.0,
}


def test_an_engine_that_admits_nobody_hangs() -> None:
    assert judged(STANDING).diagnosis.cause == "unknown"
    report = judged(STANDING, every_s=15.0)
    assert (report.diagnosis.cause, report.diagnosis.variant, report.diagnosis.severity) == (
        "hung-engine",
        "no-tokens",
        "critical",
    )
    assert "5 wait, nothing runs" in report.diagnosis.summary


@pytest.mark.parametrize(
    "reason",
    [
        {"deferred_waiting_requests": 5.0},
        {"engine_core_cpu_cores": 0.1, "api_server_cpu_cores": 1.0},
        {"engine_sleeping": 1.0},
    ],
)
def test_a_queue_that_something_else_explains_is_no_hang(reason: dict[str, float]) -> None:
    assert judged({**STANDING, **reason}, every_s=15.0).diagnosis.cause != "hung-engine"


def test_requests_that_wait_for_a_sleeping_engine_are_told_that_it_sleeps() -> None:
    said = judged({**STANDING, "engine_sleeping": 1.0}, every_s=15.0).diagnosis
    assert said.cause == "unknown"
    assert "the engine was put to sleep; 5 wait" in said.summary
