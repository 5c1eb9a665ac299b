"""Lines of a vLLM log, written as the engine writes them: the counterpart of the log readers. Never
holds a prompt.

    (APIServer pid=21707) INFO 11-21 09:22:17 [loggers.py:335] Engine 000: Avg prompt throughput:
    ...

Source: vLLM 0.32.0, logger.py (format), `v1/metrics/loggers.py` (LoggingStatLogger), launchers; the
texts differ by version where said.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass

from barostat.core.version import EngineVersion
from barostat.engines.vllm.served_stats import IterationStats, SchedulerStats

API, CORE = "APIServer", "EngineCore"
RECENT_LOOKUPS = 1000
"""Requests over which the statistics line states the prefix hit rate."""


def line(process: str, pid: int, level: str, stamp: str, place: str, text: str) -> str:
    """The text as that process logs it; every line of it has the prefix. `stamp`: MM-DD HH:MM:SS,
    `place`: file and line.
    """
    prefix = f"({process} pid={pid}) {level} {stamp} [{place}] "
    return "\n".join(prefix + part for part in text.split("\n"))


class StatisticsLine:
    """Accumulates the figures of vLLM's periodic statistics line. Mutable. Like vLLM's, it does not
    contain preemptions.
    """

    def __init__(self, version: EngineVersion, device: str, began_s: float) -> None:
        """Nothing has been seen. `device` as the line names it: GPU, CPU."""
        self._named = device if version.at_least("0.30.0") else "GPU"
        self._shows_empty_hits = version.before("0.31.0")
        self._counts_computed = version.at_least("0.16.0")
        self._last_s = began_s
        self._prompt = self._generated = 0
        self._rates = (0.0, 0.0)
        self._scheduler = SchedulerStats(0, 0, 0.0)
        self._lookups: deque[tuple[int, int, int]] = deque()
        self._totals = [0, 0, 0]

    def scheduler(self, stats: SchedulerStats) -> None:
        """A step has ended so."""
        self._scheduler = stats
        if not stats.lookup_requests:
            return
        seen = (stats.lookup_requests, stats.lookup_tokens, stats.hit_tokens)
        self._lookups.append(seen)
        self._totals = [total + value for total, value in zip(self._totals, seen, strict=True)]
        while len(self._lookups) > 1 and self._totals[0] > RECENT_LOOKUPS:
            self._totals = [
                total - value
                for total, value in zip(self._totals, self._lookups.popleft(), strict=True)
            ]

    def iteration(self, stats: IterationStats) -> None:
        """The front end has taken in a batch of outputs."""
        self._prompt += stats.computed_tokens if self._counts_computed else stats.prompt_tokens
        self._generated += stats.generation_tokens

    def text(self, now_s: float) -> str | None:
        """The line for the time since the last one; None if this interval and the one before
        were idle.
        """
        span_s = now_s - self._last_s
        before = self._rates
        self._rates = (
            (self._prompt / span_s, self._generated / span_s) if span_s > 0 else (0.0, 0.0)
        )
        self._last_s, self._prompt, self._generated = now_s, 0, 0
        if not any((*before, *self._rates)):
            return None
        parts = [
            f"Avg prompt throughput: {self._rates[0]:.1f} tokens/s",
            f"Avg generation throughput: {self._rates[1]:.1f} tokens/s",
            f"Running: {self._scheduler.running} reqs",
            f"Waiting: {self._scheduler.waiting} reqs",
        ]
        # vLLM has a part `Preemptions: N` here and never prints it: 0.32.0 zeroes the count before
        # it looks (LoggingStatLogger.log).
        parts.append(f"{self._named} KV cache usage: {self._scheduler.usage_ratio * 100:.1f}%")
        if self._totals[0] or self._shows_empty_hits:
            parts.append(
                "Prefix cache hit rate: "
                f"{100 * self._totals[2] / self._totals[1] if self._totals[1] else 0.0:.1f}%"
            )
        return "Engine 000: " + ", ".join(parts)


_OUTSIDE_TORCH_GIB = 0.5


@dataclass(frozen=True, slots=True)
class StartFacts:
    """The facts that the start-up log contains. `arguments`: those that differ from vLLM's
    defaults. `gib`: memory for the cache, if known.
    """

    version: EngineVersion
    model: str
    served_name: str
    arguments: tuple[tuple[str, object], ...]
    device: str
    address: str
    max_model_len: int
    pool_tokens: int
    concurrency: float
    dtype: str = "bfloat16"
    tensor_parallel_size: int = 1
    prefix_caching: bool = True
    chunked_prefill: bool = True
    step_tokens: int | None = None
    weights_gib: float | None = None
    available_gib: float | None = None
    overridden_blocks: tuple[int, int] | None = None


Entry = tuple[str, str, str, str]
"""Process, level, place, text."""


def start_lines(facts: StartFacts) -> list[Entry]:
    """Return the log entries before the server listens."""
    version = facts.version
    found: list[Entry] = [
        (API, "INFO", "api_utils.py:347", f"  █  version {version}\n  █  model   {facts.model}"),
        (API, "INFO", "api_utils.py:286", f"non-default args: {dict(facts.arguments)!r}"),
        (API, "INFO", "model.py:2152", f"Using max model len {facts.max_model_len}"),
    ]
    if facts.step_tokens is not None and facts.chunked_prefill:
        found.append(
            (
                API,
                "INFO",
                "scheduler.py:307",
                f"Chunked prefill is enabled with max_num_batched_tokens={facts.step_tokens}.",
            )
        )
    echo = (
        f"Initializing a V1 LLM engine (v{version}) with config: model={facts.model!r}, "
        f"dtype=torch.{facts.dtype}, "
        f"max_seq_len={facts.max_model_len}, "
        f"tensor_parallel_size={facts.tensor_parallel_size}, pipeline_parallel_size=1, "
        "data_parallel_size=1, kv_cache_dtype=auto, "
        f"device_config={'cpu' if facts.device == 'CPU' else 'cuda'}, seed=0, "
        f"served_model_name={facts.served_name}, enable_prefix_caching={facts.prefix_caching}, "
        f"enable_chunked_prefill={facts.chunked_prefill}"
    )
    found.append((CORE, "INFO", "core.py:133", echo))
    if facts.weights_gib is not None:
        found.append(
            (
                CORE,
                "INFO",
                "gpu_model_runner.py:5012",
                f"Model loading took {facts.weights_gib:.2f} GiB memory and 1.000000 seconds",
            )
        )
    if facts.available_gib is not None:
        found.append(
            (
                CORE,
                "INFO",
                "gpu_worker.py:518",
                f"Available KV cache memory: {round(facts.available_gib, 2)} GiB",
            )
        )
    return found + overridden(facts)


def overridden(facts: StartFacts) -> list[Entry]:
    """The line of an overridden number of blocks, where it is."""
    if facts.overridden_blocks is None:
        return []
    profiled, blocks = facts.overridden_blocks
    return [
        (
            CORE,
            "INFO",
            "kv_cache_utils.py:2619",
            f"Overriding num_gpu_blocks={profiled} with num_gpu_blocks_override={blocks}",
        )
    ]


def pool_lines(facts: StartFacts) -> list[Entry]:
    """Return the log entries from the creation of the pool up to the listening address."""
    version, place = facts.version, "kv_cache_utils.py:2327"
    size = (
        f"{facts.device if version.at_least('0.30.0') else 'GPU'} KV cache size: "
        f"{facts.pool_tokens:,} tokens"
    )
    most = (
        f"Maximum concurrency for {facts.max_model_len:,} tokens per request: "
        f"{facts.concurrency:.2f}x"
    )
    found: list[Entry] = (
        [(CORE, "INFO", place, f"{size}, {most}")]
        if version.at_least("0.28.0")
        else [(CORE, "INFO", place, size), (CORE, "INFO", place, most)]
    )
    return [
        *found,
        (API, "INFO", "entry.py:136", "Supported tasks: ['generate']"),
        (API, "INFO", "entry.py:140", f"Starting vLLM server on {facts.address}"),
    ]


def too_long(
    facts: StartFacts, needed_gib: float, available_gib: float, longest_tokens: int
) -> str:
    """Why the engine refuses to start: one request of the allowed length does not fit."""
    whose = "model's" if facts.version.at_least("0.22.0") else "models's"
    return (
        f"ValueError: To serve at least one request with the {whose} max seq len "
        f"({facts.max_model_len}), ({needed_gib:.2f} GiB KV cache "
        "is needed, which is larger than the available KV cache memory "
        f"({available_gib:.2f} GiB). Based on the available memory, the "
        f"estimated maximum model length is {longest_tokens}. Try increasing "
        "`gpu_memory_utilization` or decreasing `max_model_len` when "
        "initializing the engine."
    )


def no_memory() -> str:
    """Why the engine refuses to start: nothing is left for the pool."""
    return (
        "ValueError: No available memory for the cache blocks. Try increasing "
        "`gpu_memory_utilization` when initializing the engine."
    )


def out_of_memory(
    tried_gib: float, total_gib: float, free_gib: float, idle_gib: float = 0.0, *, amd: bool = False
) -> str:
    """PyTorch's words for an allocation that the card has no room for. `idle_gib`: reserved by
    PyTorch, and not used.
    """
    used_gib = max(0.0, total_gib - free_gib)
    return (
        f"torch.OutOfMemoryError: {'HIP' if amd else 'CUDA'} out of memory. Tried to "
        f"allocate {tried_gib:.2f} GiB. GPU 0 has a total "
        f"capacity of {total_gib:.2f} GiB of which {free_gib * 1024:.2f} MiB is free. "
        "Including non-PyTorch memory, this process has "
        f"{used_gib:.2f} GiB memory in use. Of the allocated memory "
        f"{max(0.0, used_gib - idle_gib - _OUTSIDE_TORCH_GIB):.2f} GiB is "
        f"allocated by PyTorch, and {idle_gib:.2f} GiB is reserved by PyTorch but unallocated."
    )


def traceback(frames: Sequence[tuple[str, str]], error: str) -> str:
    """An error with the functions that it went through, outermost first: (file under vllm/,
    function).
    """
    lines = ["Traceback (most recent call last):"]
    lines += [
        f'  File "/usr/local/lib/python3.12/dist-packages/vllm/{file}", line 1, in {function}'
        for file, function in frames
    ]
    return "\n".join([*lines, error])
