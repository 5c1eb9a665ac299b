"""What is written is what a Prometheus parser and our own reader read back."""

from __future__ import annotations

import math

import pytest
from prometheus_client.parser import text_string_to_metric_families
from prometheus_client.utils import floatToGoString

from barostat.core.version import EngineVersion, parse_version
from barostat.engines.vllm.metrics.engine_metrics import EngineMetrics
from barostat.engines.vllm.metrics.exposition import read
from barostat.engines.vllm.metrics.exposition_writer import (
    Counter,
    Gauge,
    Histogram,
    Summary,
    labels_of,
    number,
    page,
)
from barostat.engines.vllm.metrics.http_metrics import HttpMetrics
from barostat.engines.vllm.served_stats import FinishedStats, IterationStats, SchedulerStats


@pytest.mark.parametrize(
    "value",
    [
        0,
        1,
        0.1,
        1e-9,
        12.0,
        123456.0,
        1234567.0,
        4727230464.0,
        1.79525290028e9,
        1e21,
        math.inf,
        -3.5,
    ],
)
def test_numbers_are_written_as_the_prometheus_client_writes_them(value: float) -> None:
    assert number(value) == floatToGoString(value)


def test_every_kind_is_read_back_with_its_labels() -> None:
    labels = labels_of({"b": 'a "quoted" \\ line\nmore', "a": "x"})
    gauge, counter, histogram, summary = (
        Gauge("g", "G."),
        Counter("c", "C."),
        Histogram("h", "H.", (1.0, 2.5)),
        Summary("s", "S."),
    )
    gauge.set(2.5, labels)
    counter.begin(100.0, labels)
    counter.add(3, labels)
    histogram.begin(100.0)
    for value in (0.5, 1.0, 2.0, 9.0):
        histogram.observe(value)
    summary.observe(7, 100.0, labels)
    families = {
        family.name: family
        for family in text_string_to_metric_families(page([gauge, counter, histogram, summary]))
    }
    assert families["g"].samples[0].labels == dict(labels)
    assert [(one.name, one.value) for one in families["c"].samples] == [("c_total", 3.0)]
    assert families["c_created"].samples[0].value == 100.0
    buckets = {
        one.labels["le"]: one.value for one in families["h"].samples if one.name == "h_bucket"
    }
    assert buckets == {"1.0": 2, "2.5": 3, "+Inf": 4}  # a bound belongs to its bucket
    assert {one.name: one.value for one in families["h"].samples if "bucket" not in one.name} == {
        "h_count": 4,
        "h_sum": 12.5,
    }
    assert {one.name: one.value for one in families["s"].samples} == {"s_count": 1, "s_sum": 7}


def metrics(version: str = "0.32.0") -> EngineMetrics:
    return EngineMetrics(
        known(version), "m", 4096, {"num_gpu_blocks": "64", "block_size": "16"}, 0.0
    )


def known(version: str) -> EngineVersion:
    found = parse_version(version)
    assert found is not None
    return found


def values(text: str) -> dict[str, float]:
    samples = [one for family in text_string_to_metric_families(text) for one in family.samples]
    return {one.name + "".join(f"/{one.labels[key]}" for key in ("reason", "source", "finished_reason") if key in one.labels): one.value
            for one in samples if "le" not in one.labels}  # fmt: skip


def test_a_step_and_its_outputs_are_counted_as_the_engine_counts_them() -> None:
    own = metrics()
    own.scheduler(SchedulerStats(3, 2, 0.75, 1, 100, 64))
    done = FinishedStats("length", 4.0, 0.5, 1.0, 2.0, 100, 64, 5, 5, 1, n=2, longest_tokens=6)
    batch = IterationStats(
        prompt_tokens=100,
        cached_tokens=64,
        generation_tokens=4,
        preemptions=1,
        ttft_s=[0.3],
        itl_s=[0.02, 0.03],
    )
    batch.finished.append(done)
    own.iteration(batch)
    own.rejected("max_num_queued_reqs")
    found = values(page(own.metrics))
    expected = {
        "vllm:num_requests_running": 3, "vllm:num_requests_waiting": 2, "vllm:num_requests_waiting_by_reason/capacity": 2,
        "vllm:num_requests_waiting_by_reason/deferred": 0, "vllm:kv_cache_usage_perc": 0.75, "vllm:prefix_cache_queries_total": 100,
        "vllm:prefix_cache_hits_total": 64, "vllm:prompt_tokens_cached_by_source_total/device": 64, "vllm:num_preemptions_total": 1,
        "vllm:prompt_tokens_total": 100, "vllm:prompt_tokens_by_source_total/local_compute": 36,
        "vllm:prompt_tokens_by_source_total/local_cache_hit": 64, "vllm:generation_tokens_total": 4,
        "vllm:iteration_tokens_total_sum": 40, "vllm:time_to_first_token_seconds_sum": 0.3, "vllm:inter_token_latency_seconds_count": 2,
        "vllm:request_success_total/length": 1, "vllm:request_success_total/abort": 0, "vllm:request_params_n_sum": 2,
        "vllm:request_max_num_generation_tokens_sum": 6, "vllm:request_inference_time_seconds_sum": 3.0,
        "vllm:request_time_per_output_token_seconds_sum": 0.5, "vllm:request_prefill_kv_computed_tokens_sum": 36,
        "vllm:request_num_preemptions_sum": 1, "vllm:admission_rejections_total/max_num_queued_reqs": 1,
        "vllm:admission_rejections_total/max_num_queued_tokens": 0,
    }  # fmt: skip
    assert {name: found[name] for name in expected} == expected


@pytest.mark.parametrize(
    ("version", "shown", "hidden"),
    [
        (
            "0.12.0",
            (),
            (
                "waiting_by_reason",
                "request_num_preemptions",
                "admission_rejections",
                "prompt_tokens_by_source",
                "kv_computed",
            ),
        ),
        (
            "0.19.1",
            ("prompt_tokens_recomputed", "prompt_tokens_by_source"),
            ("waiting_by_reason", "request_num_preemptions"),
        ),
        (
            "0.28.0",
            ("waiting_by_reason",),
            ("prompt_tokens_recomputed", "request_num_preemptions", "admission_rejections"),
        ),
        (
            "0.33.0",
            (
                "waiting_by_reason",
                "request_num_preemptions",
                "admission_rejections",
                "cached_by_source",
            ),
            ("recomputed",),
        ),
    ],
)
def test_each_version_shows_its_own(
    version: str, shown: tuple[str, ...], hidden: tuple[str, ...]
) -> None:
    text = page(metrics(version).metrics)
    assert all(name in text for name in shown)
    assert not any(name in text for name in hidden)


def test_our_own_reader_takes_it_for_a_vllm() -> None:
    exposition = read(page(metrics().metrics))
    assert exposition.is_vllm
    assert not exposition.problems


def test_token_buckets_end_at_the_models_length() -> None:
    text = page(metrics().metrics)
    bounds = [
        line.split('le="')[1].split('"')[0]
        for line in text.splitlines()
        if line.startswith("vllm:request_prompt_tokens_bucket")
    ]
    assert bounds == [
        "1.0",
        "2.0",
        "5.0",
        "10.0",
        "20.0",
        "50.0",
        "100.0",
        "200.0",
        "500.0",
        "1000.0",
        "2000.0",
        "+Inf",
    ]


def test_what_is_asked_for_the_servers_own_sake_is_not_counted() -> None:
    http = HttpMetrics(0.0)
    http.answered("/metrics", "GET", 200, 0.1, 0, 10, 1.0)
    http.answered("/v1/completions", "POST", 503, 0.2, 100, 50, 1.0)
    http.answered("none", "GET", 404, 0.2, 0, 22, 1.0)
    text = page(http.metrics)
    assert "/metrics" not in text
    assert 'http_requests_total{handler="/v1/completions",method="POST",status="5xx"} 1.0' in text
    assert 'http_requests_total{handler="none",method="GET",status="4xx"} 1.0' in text
    assert "http_request_duration_highr_seconds_count 2.0" in text
