"""Labels, durations, and what a limits file gives."""

from __future__ import annotations

import pytest

from barostat.alerts.terms import QUEUE_DEADLINE_S, Terms, terms_of
from barostat.core.limits import (
    Capacity,
    EdgeLimits,
    EngineLimits,
    LimitsSpec,
    ServiceLevel,
    ServingLimits,
    TargetRef,
)


@pytest.mark.parametrize(
    ("seconds", "pace", "said"),
    [
        (300, 1, "5m"),
        (15, 1, "15s"),
        (7200, 1, "2h"),
        (90, 1, "90s"),
        (300, 1 / 30, "10s"),
        (15, 1 / 30, "500ms"),
        (0.0001, 1, "1ms"),
    ],
)
def test_a_duration_is_written_as_prometheus_reads_it(
    seconds: float, pace: float, said: str
) -> None:
    assert Terms(pace=pace).span(seconds) == said


def test_labels_become_matchers_and_are_quoted() -> None:
    terms = Terms(labels={"namespace": 'a"b\\c', "pod": "~vllm-.*"})
    assert terms.matchers() == '{namespace="a\\"b\\\\c",pod=~"vllm-.*"}'
    assert terms.matchers("pod", le="1") == '{pod=~"vllm-.*",le="1"}'
    assert Terms().matchers() == ""


def test_a_limits_file_gives_whom_and_what() -> None:
    spec = LimitsSpec(
        target_ref=TargetRef("apps/v1", "Deployment", "chat"),
        model="org/model",
        engine_version="0.30.0",
        engine=EngineLimits(gpu_memory_utilization=0.9),
        capacity=Capacity(62_400, 16),
        slo=ServiceLevel(2.0, 0.1),
        edge=EdgeLimits(queue_deadline_seconds=12.0),
    )
    terms = terms_of(ServingLimits(spec))
    assert (terms.workload, terms.labels, str(terms.version)) == (
        "chat",
        {"model_name": "org/model"},
        "0.30.0",
    )
    promised = terms.promised
    assert (
        promised.ttft_s,
        promised.itl_s,
        promised.pool_tokens,
        promised.block_tokens,
        promised.utilization,
    ) == (
        2.0,
        0.1,
        62_400,
        16,
        0.9,
    )
    assert terms.queue_s == 12.0


def test_an_empty_limits_file_promises_nothing() -> None:
    terms = terms_of(ServingLimits(LimitsSpec()))
    assert (terms.labels, terms.workload, terms.version, terms.queue_s) == (
        {},
        "",
        None,
        QUEUE_DEADLINE_S,
    )


def test_the_name_of_the_document_is_the_workload() -> None:
    assert (
        terms_of(ServingLimits(LimitsSpec(model="m"), name="limits-of-chat")).workload
        == "limits-of-chat"
    )
    assert terms_of(ServingLimits(LimitsSpec(model="m"))).workload == "m"
