"""How long one real-sized scrape takes to read: ours beside prometheus_client's parser. Exits 1
above the promise of 5 ms.

    python bench/exposition.py [SCRAPE.prom]

Without a file: a scrape written here with the families, buckets and labels of vLLM 0.32.0 (about
550 lines).
"""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path

from prometheus_client.parser import text_string_to_metric_families

from barostat.engines.vllm.metrics.exposition import read

PROMISED_MS = 5.0
ROUNDS = 60

_LABELS = 'engine="0",model_name="a-model/of-usual-name"'
_REQUEST_TOKENS = [float(mantissa * 10**power) for power in range(5) for mantissa in (1, 2, 5)]
_TTFT = [
    0.001,
    0.005,
    0.01,
    0.02,
    0.04,
    0.06,
    0.08,
    0.1,
    0.25,
    0.5,
    0.75,
    1,
    2.5,
    5,
    7.5,
    10,
    20,
    40,
    80,
    160,
    640,
    2560,
]
_ITL = [
    0.01,
    0.025,
    0.05,
    0.075,
    0.1,
    0.15,
    0.2,
    0.3,
    0.4,
    0.5,
    0.75,
    1,
    2.5,
    5,
    7.5,
    10,
    20,
    40,
    80,
]
_E2E = [
    0.3,
    0.5,
    0.8,
    1,
    1.5,
    2,
    2.5,
    5,
    10,
    15,
    20,
    30,
    40,
    50,
    60,
    120,
    240,
    480,
    960,
    1920,
    7680,
]
_HISTOGRAMS: dict[str, list[float]] = {
    **dict.fromkeys(
        ("request_prompt_tokens", "request_generation_tokens", "request_params_max_tokens"),
        _REQUEST_TOKENS,
    ),
    **dict.fromkeys(
        ("request_max_num_generation_tokens", "request_prefill_kv_computed_tokens"), _REQUEST_TOKENS
    ),
    "iteration_tokens_total": [1, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192, 16384],
    "time_to_first_token_seconds": _TTFT,
    **dict.fromkeys(("inter_token_latency_seconds", "request_time_per_output_token_seconds"), _ITL),
    **dict.fromkeys(
        (
            "e2e_request_latency_seconds",
            "request_queue_time_seconds",
            "request_inference_time_seconds",
        ),
        _E2E,
    ),
    **dict.fromkeys(("request_prefill_time_seconds", "request_decode_time_seconds"), _E2E),
    "request_num_preemptions": [1, 2, 3, 4, 5, 10, 20],
}
_PLAIN: tuple[str, tuple[str, ...]] = ("", ("",))
_COUNTERS: dict[str, tuple[str, tuple[str, ...]]] = {
    **dict.fromkeys(
        (
            "prefix_cache_queries",
            "prefix_cache_hits",
            "external_prefix_cache_queries",
            "external_prefix_cache_hits",
        ),
        _PLAIN,
    ),
    **dict.fromkeys(
        (
            "mm_cache_queries",
            "mm_cache_hits",
            "num_preemptions",
            "prompt_tokens",
            "prompt_tokens_cached",
        ),
        _PLAIN,
    ),
    **dict.fromkeys(
        (
            "generation_tokens",
            "estimated_flops_per_gpu",
            "estimated_read_bytes_per_gpu",
            "corrupted_requests",
        ),
        _PLAIN,
    ),
    "request_success": ("finished_reason", ("stop", "length", "abort", "error", "repetition")),
    "prompt_tokens_by_source": (
        "source",
        ("local_compute", "local_cache_hit", "external_kv_transfer"),
    ),
    "prompt_tokens_cached_by_source": (
        "source",
        ("device", "host", "p2p", "disk", "external_unspecified"),
    ),
    "admission_rejections": ("reason", ("max_num_queued_reqs", "max_num_queued_tokens")),
}
_GAUGES = ("num_requests_running", "num_requests_waiting", "kv_cache_usage_perc")
_CREATED = "1.7952503687561119e+09"


def scrape() -> str:
    """A scrape with the names, labels and number of lines of one vLLM 0.32.0 engine."""
    lines: list[str] = []

    def head(name: str, kind: str) -> None:
        lines.extend(
            (
                f"# HELP {name} What this counts, in a sentence as long as vLLM's own are.",
                f"# TYPE {name} {kind}",
            )
        )

    for name in _GAUGES:
        head(f"vllm:{name}", "gauge")
        lines.append(f"vllm:{name}{{{_LABELS}}} 0.625")
    for name, (label, values) in _COUNTERS.items():
        for suffix, number in (("total", "12345.0"), ("created", _CREATED)):
            head(f"vllm:{name}_{suffix}", "counter")
            for value in values:
                more = f',{label}="{value}"' if label else ""
                lines.append(f"vllm:{name}_{suffix}{{{_LABELS}{more}}} {number}")
    for name, bounds in _HISTOGRAMS.items():
        head(f"vllm:{name}", "histogram")
        for count, end in enumerate([*map(float, bounds), "+Inf"]):
            lines.append(
                f'vllm:{name}_bucket{{engine="0",le="{end}",model_name="a-model/of-usual-name"}} '
                f"{count * 17.0}"
            )
        lines.extend(
            (f"vllm:{name}_count{{{_LABELS}}} 374.0", f"vllm:{name}_sum{{{_LABELS}}} 4711.25")
        )
        head(f"vllm:{name}_created", "gauge")
        lines.append(f"vllm:{name}_created{{{_LABELS}}} {_CREATED}")
    settings = ",".join(f'cache_setting_{number}="None"' for number in range(38))
    head("vllm:cache_config_info", "gauge")
    lines.append(
        f'vllm:cache_config_info{{{settings},block_size="16",engine="0",num_gpu_blocks="27000"}} '
        "1.0"
    )
    for name in (
        "process_cpu_seconds_total",
        "process_start_time_seconds",
        "process_resident_memory_bytes",
        "process_open_fds",
    ):
        head(name, "gauge")
        lines.append(f"{name} 17.24")
    head("http_request_duration_highr_seconds", "histogram")
    lines.extend(
        f'http_request_duration_highr_seconds_bucket{{le="{end / 2}"}} 90.0' for end in range(22)
    )
    return "\n".join(lines) + "\n"


def median_ms(work: Callable[[], object]) -> float:
    """The median of the rounds, after a warm-up."""
    work()
    times = []
    for _ in range(ROUNDS):
        start = time.perf_counter()
        work()
        times.append((time.perf_counter() - start) * 1e3)
    return statistics.median(times)


def main() -> int:
    """Prints both medians and their ratio."""
    text = Path(sys.argv[1]).read_text() if len(sys.argv) > 1 else scrape()
    ours = median_ms(lambda: read(text))
    peer = median_ms(lambda: [family.samples for family in text_string_to_metric_families(text)])
    print(f"one scrape: {text.count(chr(10))} lines, {len(text)} characters; median of {ROUNDS}")
    print(f"  barostat           {ours:6.2f} ms")
    print(f"  prometheus_client  {peer:6.2f} ms")
    print(
        f"  ratio              {peer / ours:6.1f} times faster (promised: below {PROMISED_MS:g} ms)"
    )
    return 0 if ours < PROMISED_MS else 1


if __name__ == "__main__":
    raise SystemExit(main())
