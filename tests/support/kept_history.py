"""Weeks of a fleet as Prometheus would have kept them, written as its own blocks: traffic with
days, weekends and growth, by formula.

Weeks cannot be waited for; the server that keeps and sums them up is the real one (`promtool tsdb
create-blocks-from openmetrics`).
"""

from __future__ import annotations

import math
import subprocess
from collections.abc import Callable, Iterator
from functools import partial
from operator import mul
from pathlib import Path

from dev.setup_prometheus import PROGRAM

EVERY_S = 600
DAY_S = 86_400
POOL_TOKENS = 400_000
PROMPT_BOUNDS, OUTPUT_BOUNDS = (500, 1000, 2000, 5000), (100, 200, 500, 1000)


def usual_day(at: float) -> float:
    """Share of the peak at that instant (0..1): a day with its middle at 14:00 UTC, and weekends at
    60 %.
    """
    hour = (at % DAY_S) / 3600
    weekend = 0.6 if (at // DAY_S + 3) % 7 >= 5 else 1.0
    return weekend * (0.25 + 0.75 * max(0.0, math.cos((hour - 14) / 24 * 2 * math.pi)))


def blocks(
    folder: Path, end: float, days: int, replicas: int, usage: Callable[[float], float]
) -> Path:
    """A store of so many days. `usage`: demand of one replica in pools at an instant; above 1 it
    waits, and preempts.
    """
    text = folder / "history.om"
    with text.open("w", encoding="utf-8") as file:
        for line in _lines(end, days, replicas, usage):
            file.write(line)
    data = folder / "data"
    promtool = PROGRAM.with_name("promtool")
    done = subprocess.run(
        [
            str(promtool),
            "tsdb",
            "create-blocks-from",
            "--max-block-duration=768h",
            "openmetrics",
            str(text),
            str(data),
        ],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr[-800:]
    return data


def _lines(end: float, days: int, replicas: int, usage: Callable[[float], float]) -> Iterator[str]:
    start = end - days * DAY_S
    instants = [start + EVERY_S * place for place in range(int((end - start) // EVERY_S) + 1)]
    gauges: dict[str, Callable[[float], float]] = {
        "vllm:num_requests_running": lambda demand: 40 * min(1.0, demand),
        "vllm:num_requests_waiting": lambda demand: 40 * max(0.0, demand - 1.0),
        "vllm:kv_cache_usage_perc": lambda demand: min(1.0, demand),
    }
    for name, of in gauges.items():
        yield f"# TYPE {name} gauge\n"
        for replica in range(replicas):
            labels = _labels(replica)
            for at in instants:
                yield f"{name}{{{labels}}} {of(usage(at)):.6g} {at:.0f}\n"
    yield "# TYPE vllm:cache_config info\n"
    for replica in range(replicas):
        for at in instants:
            extra = (
                f'block_size="16",num_gpu_blocks="{POOL_TOKENS // 16}",'
                f'kv_cache_size_tokens="{POOL_TOKENS}",kv_cache_memory_bytes="None"'
            )
            yield f"vllm:cache_config_info{{{_labels(replica)},{extra}}} 1 {at:.0f}\n"
    for name, per_s in (
        ("vllm:request_success", lambda demand: 4 * demand), ("vllm:prompt_tokens", lambda demand: 4000 * demand),
        ("vllm:generation_tokens", lambda demand: 1000 * demand), ("vllm:num_preemptions", lambda demand: 2 * max(0.0, demand - 1.0)),
    ):  # fmt: skip
        yield f"# TYPE {name} counter\n"
        for replica in range(replicas):
            yield from _counted(f"{name}_total", _labels(replica), instants, per_s, usage)
    for name, bounds in (
        ("vllm:request_prompt_tokens", PROMPT_BOUNDS),
        ("vllm:request_generation_tokens", OUTPUT_BOUNDS),
    ):
        yield f"# TYPE {name} histogram\n"
        for replica in range(replicas):
            labels = _labels(replica)
            for share, bound in zip((0.5, 0.8, 0.96, 1.0, 1.0), (*bounds, math.inf), strict=True):
                le = "+Inf" if bound == math.inf else f"{bound:.1f}"
                yield from _counted(
                    f"{name}_bucket",
                    f'{labels},le="{le}"',
                    instants,
                    partial(mul, 4 * share),
                    usage,
                )
            yield from _counted(f"{name}_count", labels, instants, lambda demand: 4 * demand, usage)
            yield from _counted(
                f"{name}_sum", labels, instants, lambda demand: 4000 * demand, usage
            )
    yield "# EOF\n"


def _counted(
    name: str,
    labels: str,
    instants: list[float],
    per_s: Callable[[float], float],
    usage: Callable[[float], float],
) -> Iterator[str]:
    total = 0.0
    for at in instants:
        total += EVERY_S * per_s(usage(at))
        yield f"{name}{{{labels}}} {total:.3f} {at:.0f}\n"


def _labels(replica: int) -> str:
    return f'job="vllm",namespace="inference",pod="vllm-{replica}",instance="10.0.0.{replica}:8000",engine="0",model_name="m"'
