"""What is asked for where nothing can be told: first what would tell most."""

from __future__ import annotations

from barostat.judge.diagnosis.wanted import wanted

MISSING = (
    "kv_usage_ratio",
    "log_engine_dead",
    "gpu_utilization_ratio",
    "previous_log_engine_dead",
    "kernel_oom_kill",
)


def test_a_running_engine_is_asked_for_its_metrics_first() -> None:
    assert "/metrics" in wanted(MISSING)[0]


def test_an_engine_that_ended_is_asked_for_its_logs_first() -> None:
    first = wanted(MISSING, ended=True)
    assert [text.split(" (")[0] for text in first[:2]] == [
        "the engine's log",
        "the container's previous log",
    ]
    assert sorted(first) == sorted(wanted(MISSING))
