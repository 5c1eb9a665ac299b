"""The names of vLLM's metrics from 0.6 to 0.33, and the versions that expose each name or label.

The names of each quantity are listed newest first; readers take the first one present (0.9.2 to
0.10.2 expose old and new names together). Counters are listed without `_total`: the Prometheus
client adds it, Ray does not always. All rooms take metric names from here.

Source: vLLM 0.6.6 to 0.33.0, `v1/metrics/loggers.py` (PrometheusStatLogger) and, for V0,
`engine/metrics.py`.
"""

from __future__ import annotations

from dataclasses import dataclass

# --- gauges
RUNNING = ("vllm:num_requests_running",)
WAITING = ("vllm:num_requests_waiting",)
SWAPPED_V0 = ("vllm:num_requests_swapped",)
WAITING_BY_REASON = ("vllm:num_requests_waiting_by_reason",)
WAITING_FOR_CAPACITY = f'{WAITING_BY_REASON[0]}{{reason="capacity"}}'
SLEEP_STATE = ("vllm:engine_sleep_state",)
KV_USAGE = ("vllm:kv_cache_usage_perc", "vllm:gpu_cache_usage_perc")
CPU_USAGE_V0 = ("vllm:cpu_cache_usage_perc",)
PREFIX_HIT_RATE_V0 = ("vllm:gpu_prefix_cache_hit_rate",)
CACHE_CONFIG = "vllm:cache_config_info"

# --- counters
PREFIX_QUERIES = ("vllm:prefix_cache_queries", "vllm:gpu_prefix_cache_queries")
PREFIX_HITS = ("vllm:prefix_cache_hits", "vllm:gpu_prefix_cache_hits")
PREEMPTIONS = ("vllm:num_preemptions",)
PROMPT_TOKENS = ("vllm:prompt_tokens",)
GENERATION_TOKENS = ("vllm:generation_tokens",)
DRAFTED_STEPS = ("vllm:spec_decode_num_drafts",)
ACCEPTED_DRAFT_TOKENS = ("vllm:spec_decode_num_accepted_tokens",)
FINISHED = ("vllm:request_success",)
REJECTIONS = ("vllm:admission_rejections",)
HTTP_REQUESTS = ("http_requests",)
HTTP_ANSWERED = "http_request_duration_highr_seconds_count"
PROCESS_CPU = ("process_cpu_seconds",)
PROCESS_START = "process_start_time_seconds"
LORA_REQUESTS = "vllm:lora_requests_info"
COUNTERS_BEGAN = ("vllm:generation_tokens_created", "vllm:prompt_tokens_created")
"""When a counter began, in unix seconds: the start of the process."""

# --- histograms
STEP_TOKENS = ("vllm:iteration_tokens_total",)
PROMPT_LENGTH = ("vllm:request_prompt_tokens",)
OUTPUT_LENGTH = ("vllm:request_generation_tokens",)
MAX_TOKENS = ("vllm:request_params_max_tokens", "vllm:request_max_num_generation_tokens")
TTFT = ("vllm:time_to_first_token_seconds",)
# V0 and V1 until 0.14 called the gap between two tokens "time per output token"; the newer
# per-request mean has `request_` in front.
ITL = ("vllm:inter_token_latency_seconds", "vllm:time_per_output_token_seconds")
TPOT = ("vllm:request_time_per_output_token_seconds",)
QUEUE_TIME = ("vllm:request_queue_time_seconds", "vllm:time_in_queue_requests")
E2E = ("vllm:e2e_request_latency_seconds",)
PREFILL_TIME = ("vllm:request_prefill_time_seconds",)
PREEMPTIONS_PER_REQUEST = ("vllm:request_num_preemptions",)

RENAMED: dict[str, str] = {
    old: names[0]
    for names in (KV_USAGE, PREFIX_QUERIES, PREFIX_HITS, ITL, QUEUE_TIME)
    for old in names[1:]
}
"""Former names, and the names that replaced them."""
RATIOS = (*KV_USAGE, *CPU_USAGE_V0, *PREFIX_HIT_RATE_V0)
"""Gauges between 0 and 1, whatever their names say."""


@dataclass(frozen=True, slots=True)
class Era:
    """The range of versions that expose something.

    `since`: first version ("" if older than the oldest version read). `before`: first version
    without it ("" if it still exists). `always`: every default configuration of these versions
    exposes it, so its absence is informative.
    """

    what: str
    since: str = ""
    before: str = ""
    always: bool = False


# Names that only one engine generation or a range of versions has (exposed name without _total,
# _bucket).
NAME_ERAS: tuple[Era, ...] = (
    Era("vllm:num_requests_swapped", before="0.11.0"),
    Era("vllm:cpu_cache_usage_perc", before="0.11.0"),
    Era("vllm:gpu_prefix_cache_hit_rate", before="0.11.0"),
    Era("vllm:cpu_prefix_cache_hit_rate", before="0.11.0"),
    Era("vllm:time_in_queue_requests", before="0.11.0"),
    Era("vllm:gpu_cache_usage_perc", before="0.12.0"),
    Era("vllm:gpu_prefix_cache_queries", since="0.7.0", before="0.12.0"),
    Era("vllm:gpu_prefix_cache_hits", since="0.7.0", before="0.12.0"),
    Era("vllm:time_per_output_token_seconds", before="0.15.0"),
    Era("vllm:prompt_tokens_recomputed", since="0.16.0", before="0.20.0"),
    Era("vllm:kv_cache_usage_perc", since="0.9.2", always=True),
    Era("vllm:prefix_cache_queries", since="0.9.2", always=True),
    Era("vllm:inter_token_latency_seconds", since="0.10.2", always=True),
    Era("vllm:request_time_per_output_token_seconds", since="0.11.0", always=True),
    Era("vllm:engine_sleep_state", since="0.11.1", always=True),
    Era("vllm:external_prefix_cache_queries", since="0.11.1", always=True),
    Era("vllm:mm_cache_queries", since="0.11.1"),
    Era("vllm:corrupted_requests", since="0.11.1"),
    Era("vllm:kv_block_lifetime_seconds", since="0.12.0"),
    Era("vllm:request_prefill_kv_computed_tokens", since="0.13.0", always=True),
    Era("vllm:prompt_tokens_by_source", since="0.16.0", always=True),
    Era("vllm:estimated_flops_per_gpu", since="0.17.0"),
    Era("vllm:num_requests_waiting_by_reason", since="0.20.0", always=True),
    Era("vllm:request_num_preemptions", since="0.30.0", always=True),
    Era("vllm:prompt_tokens_cached_by_source", since="0.32.0", always=True),
    Era("vllm:admission_rejections", since="0.32.0", always=True),
    Era("vllm:num_requests_kv_fetch_by_stage", since="0.32.0"),
)

# V1 shows these by default up to `before`: a V1 scrape without one is at least that version.
HIDDEN_SINCE: tuple[Era, ...] = (
    Era("vllm:gpu_cache_usage_perc", before="0.11.0"),
    Era("vllm:time_per_output_token_seconds", before="0.12.0"),
)

# Values of request_success_total's finished_reason.
FINISHED_REASON_ERAS: tuple[Era, ...] = (
    Era("error", since="0.13.0", always=True),
    Era("repetition", since="0.17.0", always=True),
)

# The engine label came to V1 in this version; V0 never had it.
ENGINE_LABEL_SINCE = "0.8.3"
# V0's engine was gone in this version; V1 was the default from 0.8.0.
V0_GONE_IN = "0.11.0"
V1_ONLY_NAMES = (
    "vllm:gpu_prefix_cache_queries",
    "vllm:prefix_cache_queries",
    "vllm:kv_cache_usage_perc",
    "vllm:inter_token_latency_seconds",
)
V0_ONLY_NAMES = (
    "vllm:num_requests_swapped",
    "vllm:cpu_cache_usage_perc",
    "vllm:gpu_prefix_cache_hit_rate",
    "vllm:time_in_queue_requests",
)
