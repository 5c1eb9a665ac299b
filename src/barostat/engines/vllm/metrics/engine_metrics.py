"""An engine's own metrics, kept up as vLLM keeps them: gauges say how the last step ended, counters
and histograms what outputs brought.

Source: vLLM 0.32.0, PrometheusStatLogger.record.
"""

from __future__ import annotations

from collections.abc import Mapping

from barostat.catalog.vllm_exposed import EXPOSED, Exposed, buckets, finished_reasons
from barostat.core.version import EngineVersion
from barostat.engines.vllm.metrics.exposition_writer import (
    Counter,
    Gauge,
    Histogram,
    Labels,
    Metric,
    labels_of,
)
from barostat.engines.vllm.served_stats import FinishedStats, IterationStats, SchedulerStats


class EngineMetrics:
    """The metrics of one engine of that version. Mutable."""

    def __init__(
        self,
        version: EngineVersion,
        model_name: str,
        max_model_len: int,
        cache_labels: Mapping[str, str],
        began_s: float,
        engine: int = 0,
    ) -> None:
        """Create all series at 0, as a started engine exposes them."""
        self._own = labels_of({"engine": str(engine), "model_name": model_name})
        self._shared = labels_of({"model_name": model_name})
        self._gauges: dict[str, Gauge] = {}
        self._counters: dict[str, Counter] = {}
        self._histograms: dict[str, Histogram] = {}
        self._labels: dict[tuple[str, str], Labels] = {}
        self._label_of: dict[str, str] = {}
        self.metrics: list[Metric] = []
        for one in EXPOSED:
            if one.shown_by(version):
                self._declare(
                    one,
                    finished_reasons(version) if one.name == "vllm:request_success" else one.values,
                    max_model_len,
                    began_s,
                )
        info = Gauge("vllm:cache_config_info", "The cache's configuration.")
        info.set(1.0, labels_of({**cache_labels, "engine": str(engine)}))
        self.metrics.append(info)
        self.scheduler(SchedulerStats(0, 0, 0.0))
        self._set("vllm:engine_sleep_state", 1.0, "awake")
        for state in ("weights_offloaded", "discard_all"):
            self._set("vllm:engine_sleep_state", 0.0, state)

    def _declare(
        self, one: Exposed, values: tuple[str, ...], max_model_len: int, began_s: float
    ) -> None:
        base = self._own if one.engine else self._shared
        series = (
            [labels_of((*base, (one.label, value))) for value in values] if one.label else [base]
        )
        self._label_of[one.name] = one.label
        for value, labels in zip(values, series, strict=False):
            self._labels[one.name, value] = labels
        if one.kind == "gauge":
            self._gauges[one.name] = gauge = Gauge(one.name, one.help)
            self.metrics.append(gauge)
            return
        if one.kind == "counter":
            self._counters[one.name] = counter = Counter(one.name, one.help)
            begun: Counter | Histogram = counter
        else:
            assert one.family is not None
            self._histograms[one.name] = histogram = Histogram(
                one.name, one.help, buckets(one.family, max_model_len)
            )
            begun = histogram
        for labels in series:
            begun.begin(began_s, labels)
        self.metrics.append(begun)

    def _set(self, name: str, value: float, which: str = "") -> None:
        if name in self._gauges:
            self._gauges[name].set(value, self._labels[name, which] if which else self._own)

    def _add(self, name: str, value: float, which: str = "") -> None:
        if name in self._counters and value:
            self._counters[name].add(value, self._labels[name, which] if which else self._own)

    def _observe(self, name: str, value: float) -> None:
        if name in self._histograms:
            self._histograms[name].observe(value, self._own)

    def scheduler(self, stats: SchedulerStats) -> None:
        """A step has ended so."""
        self._set("vllm:num_requests_running", stats.running)
        self._set("vllm:num_requests_waiting", stats.waiting)
        self._set("vllm:num_requests_waiting_by_reason", stats.waiting, "capacity")
        self._set("vllm:num_requests_waiting_by_reason", 0.0, "deferred")
        self._set("vllm:kv_cache_usage_perc", stats.usage_ratio)
        self._add("vllm:prefix_cache_queries", stats.lookup_tokens)
        self._add("vllm:prefix_cache_hits", stats.hit_tokens)
        self._add("vllm:prompt_tokens_cached_by_source", stats.hit_tokens, "device")

    def iteration(self, stats: IterationStats) -> None:
        """The front end has taken in a batch of outputs."""
        self._add("vllm:num_preemptions", stats.preemptions)
        self._add("vllm:prompt_tokens", stats.prompt_tokens)
        self._add("vllm:prompt_tokens_by_source", stats.computed_tokens, "local_compute")
        self._add("vllm:prompt_tokens_by_source", stats.cached_tokens, "local_cache_hit")
        self._add("vllm:prompt_tokens_cached", stats.cached_tokens)
        self._add("vllm:generation_tokens", stats.generation_tokens)
        self._observe(
            "vllm:iteration_tokens_total", stats.computed_tokens + stats.generation_tokens
        )
        for value in stats.ttft_s:
            self._observe("vllm:time_to_first_token_seconds", value)
        for value in stats.itl_s:
            self._observe("vllm:inter_token_latency_seconds", value)
        for finished in stats.finished:
            self._finished(finished)

    def _finished(self, done: FinishedStats) -> None:
        self._add("vllm:request_success", 1, done.reason)
        self._observe("vllm:request_prompt_tokens", done.prompt_tokens)
        self._observe("vllm:request_generation_tokens", done.generation_tokens)
        if done.n is not None:
            self._observe("vllm:request_params_n", done.n)
            self._observe("vllm:request_max_num_generation_tokens", done.longest_tokens)
        if done.max_tokens is not None:
            self._observe("vllm:request_params_max_tokens", done.max_tokens)
        self._observe("vllm:e2e_request_latency_seconds", done.e2e_s)
        self._observe("vllm:request_queue_time_seconds", done.queue_s)
        self._observe("vllm:request_prefill_time_seconds", done.prefill_s)
        self._observe("vllm:request_decode_time_seconds", done.decode_s)
        self._observe("vllm:request_inference_time_seconds", done.prefill_s + done.decode_s)
        after_first = done.generation_tokens - 1
        self._observe(
            "vllm:request_time_per_output_token_seconds",
            done.decode_s / after_first if after_first > 0 else 0.0,
        )
        self._observe("vllm:request_num_preemptions", done.preemptions)
        self._observe(
            "vllm:request_prefill_kv_computed_tokens", done.prompt_tokens - done.cached_tokens
        )

    def rejected(self, limit: str) -> None:
        """Count a request rejected by a queue limit."""
        self._add("vllm:admission_rejections", 1, limit)
