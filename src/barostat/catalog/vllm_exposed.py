"""What vLLM's /metrics shows by default from 0.12 on: every metric in its order, with its type,
labels and buckets.

The words of HELP are ours: nothing reads them but people.

Source: vLLM 0.12.0 to 0.33.0, `v1/metrics/loggers.py` (PrometheusStatLogger),
`v1/metrics/buckets.py`, `v1/metrics/perf.py`; HTTP metrics: prometheus_fastapi_instrumentator 8.1
with its defaults; names of the process and the interpreter: prometheus_client 0.26.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from barostat.core.version import EngineVersion

Kind = Literal["gauge", "counter", "histogram"]
Family = Literal["tokens", "step-tokens", "n", "preemptions", "ttft", "itl", "latency"]


@dataclass(frozen=True, slots=True)
class Exposed:
    """A metric as vLLM declares it; counters without `_total`.

    `label` with its `values`: one series per value. `engine`: has the label `engine` in addition to
    `model_name`. `family` names the buckets.
    """

    name: str
    kind: Kind
    help: str
    family: Family | None = None
    label: str = ""
    values: tuple[str, ...] = ()
    since: str = ""
    before: str = ""
    engine: bool = True

    def shown_by(self, version: EngineVersion) -> bool:
        """True if that version shows it."""
        return not (self.since and version.before(self.since)) and not (
            self.before and version.at_least(self.before)
        )


EXPOSED: tuple[Exposed, ...] = (
    Exposed("vllm:estimated_flops_per_gpu", "counter", "Floating point operations per GPU, estimated.", since="0.17.0"),
    Exposed("vllm:estimated_read_bytes_per_gpu", "counter", "Bytes read from memory per GPU, estimated.", since="0.17.0"),
    Exposed("vllm:estimated_write_bytes_per_gpu", "counter", "Bytes written to memory per GPU, estimated.", since="0.17.0"),
    Exposed("vllm:num_requests_running", "gauge", "Requests that are scheduled to run."),
    Exposed("vllm:num_requests_waiting", "gauge", "Requests that wait, the preempted among them."),
    Exposed(
        "vllm:num_requests_waiting_by_reason", "gauge", "Requests that wait, by reason.",
        label="reason", values=("capacity", "deferred"), since="0.20.0",
    ),
    Exposed(
        "vllm:engine_sleep_state", "gauge", "1 for the state that the engine is in.",
        label="sleep_state", values=("awake", "weights_offloaded", "discard_all"),
    ),
    Exposed("vllm:kv_cache_usage_perc", "gauge", "Share of KV blocks in use, 0 to 1."),
    Exposed("vllm:prefix_cache_queries", "counter", "Tokens looked up in the prefix cache."),
    Exposed("vllm:prefix_cache_hits", "counter", "Tokens found in the prefix cache."),
    Exposed("vllm:external_prefix_cache_queries", "counter", "Tokens looked up at a KV connector."),
    Exposed("vllm:external_prefix_cache_hits", "counter", "Tokens found at a KV connector."),
    Exposed("vllm:mm_cache_queries", "counter", "Items looked up in the multi-modal cache."),
    Exposed("vllm:mm_cache_hits", "counter", "Items found in the multi-modal cache."),
    Exposed("vllm:num_preemptions", "counter", "Preemptions, counted when the request has resumed."),
    Exposed("vllm:prompt_tokens", "counter", "Prompt tokens of requests whose prefill is done."),
    Exposed(
        "vllm:prompt_tokens_by_source", "counter", "Prompt tokens by where their keys and values came from.",
        label="source", values=("local_compute", "local_cache_hit", "external_kv_transfer"), since="0.16.0",
    ),
    Exposed("vllm:prompt_tokens_cached", "counter", "Prompt tokens that were not computed.", since="0.16.0"),
    Exposed("vllm:prompt_tokens_recomputed", "counter", "Cached tokens computed again.", since="0.16.0", before="0.20.0"),
    Exposed(
        "vllm:prompt_tokens_cached_by_source", "counter", "Prompt tokens that were not computed, by tier.",
        label="source", values=("device", "host", "p2p", "disk", "external_unspecified"), since="0.32.0",
    ),
    Exposed("vllm:generation_tokens", "counter", "Tokens generated."),
    Exposed("vllm:request_success", "counter", "Requests finished, by reason.", label="finished_reason"),
    Exposed(
        "vllm:admission_rejections", "counter", "Requests that a queue limit turned away, by limit.",
        label="reason", values=("max_num_queued_reqs", "max_num_queued_tokens"), since="0.32.0", engine=False,
    ),
    Exposed("vllm:request_prompt_tokens", "histogram", "Prompt tokens per finished request.", "tokens"),
    Exposed("vllm:request_generation_tokens", "histogram", "Generated tokens per finished request.", "tokens"),
    Exposed("vllm:iteration_tokens_total", "histogram", "Tokens per engine step.", "step-tokens"),
    Exposed("vllm:request_max_num_generation_tokens", "histogram", "Longest output among a request's n.", "tokens"),
    Exposed("vllm:request_params_n", "histogram", "n as asked for.", "n"),
    Exposed("vllm:request_params_max_tokens", "histogram", "max_tokens as resolved.", "tokens"),
    Exposed("vllm:time_to_first_token_seconds", "histogram", "Seconds from arrival to the first token.", "ttft"),
    Exposed("vllm:inter_token_latency_seconds", "histogram", "Seconds between two outputs of a request.", "itl"),
    Exposed("vllm:request_time_per_output_token_seconds", "histogram", "Mean seconds per token after the first.", "itl"),
    Exposed("vllm:e2e_request_latency_seconds", "histogram", "Seconds from arrival to the last token.", "latency"),
    Exposed("vllm:request_queue_time_seconds", "histogram", "Seconds before the request first ran.", "latency"),
    Exposed("vllm:request_inference_time_seconds", "histogram", "Seconds from first run to last token.", "latency"),
    Exposed("vllm:request_prefill_time_seconds", "histogram", "Seconds from first run to first token.", "latency"),
    Exposed("vllm:request_decode_time_seconds", "histogram", "Seconds from first to last token.", "latency"),
    Exposed("vllm:request_num_preemptions", "histogram", "Preemptions per finished request.", "preemptions", since="0.30.0"),
    Exposed("vllm:request_prefill_kv_computed_tokens", "histogram", "Prompt tokens computed per request.", "tokens", since="0.13.0"),
)  # fmt: skip

# Values of finished_reason in their order, with the version from which each is there.
FINISHED_REASONS = (
    ("stop", ""),
    ("length", ""),
    ("abort", ""),
    ("error", "0.13.0"),
    ("repetition", "0.17.0"),
)

_BUCKETS: dict[Family, tuple[float, ...]] = {
    "step-tokens": (1, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192, 16384),
    "n": (1, 2, 5, 10, 20),
    "preemptions": (1, 2, 3, 4, 5, 10, 20),
    "ttft": (.001, .005, .01, .02, .04, .06, .08, .1, .25, .5, .75, 1, 2.5, 5, 7.5, 10, 20, 40, 80, 160, 640, 2560),
    "itl": (.01, .025, .05, .075, .1, .15, .2, .3, .4, .5, .75, 1, 2.5, 5, 7.5, 10, 20, 40, 80),
    "latency": (.3, .5, .8, 1, 1.5, 2, 2.5, 5, 10, 15, 20, 30, 40, 50, 60, 120, 240, 480, 960, 1920, 7680),
}  # fmt: skip

# HTTP metrics: what is not counted, and the buckets with and without labels.
UNCOUNTED_PATHS = ("/metrics", "/health", "/load", "/ping", "/version", "/server_info")
HTTP_BUCKETS = (0.1, 0.5, 1.0)
HTTP_FINE_BUCKETS = (
    .01, .025, .05, .075, .1, .25, .5, .75, 1, 1.5, 2, 2.5, 3, 3.5, 4, 4.5, 5, 7.5, 10, 30, 60,
)  # fmt: skip


def buckets(family: Family, max_model_len: int) -> tuple[float, ...]:
    """Upper bounds of a histogram of that family, without infinity: of token counts the 1-2-5
    series up to the model's length.
    """
    if family != "tokens":
        return _BUCKETS[family]
    bounds: list[float] = []
    scale = 1
    while True:
        for mantissa in (1, 2, 5):
            if mantissa * scale > max_model_len:
                return tuple(bounds)
            bounds.append(mantissa * scale)
        scale *= 10


def finished_reasons(version: EngineVersion) -> tuple[str, ...]:
    """The values of request_success's finished_reason in that version."""
    return tuple(
        reason for reason, since in FINISHED_REASONS if not since or version.at_least(since)
    )
