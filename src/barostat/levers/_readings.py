"""What several levers read out of a situation: what runs, what one request takes, what is set,
which version has which argument.
"""

from __future__ import annotations

import math
import re

from barostat.catalog.settings.table import SETTINGS, has_flag
from barostat.core.config import ConfigValue
from barostat.core.lever import NotApplicable, Situation
from barostat.core.object_reference import ObjectReference
from barostat.core.prose import Prose
from barostat.core.window import Window

GIB = 1024**3
# 90th and 95th percentile of a normal distribution, in standard deviations.
_P90_OVER_P95 = 1.2816 / 1.6449


def mean_of(window: Window, name: str) -> float | None:
    """Mean of a fresh signal, or None."""
    found = window.fresh(name)
    return None if found is None else found.mean


def last_of(window: Window, name: str) -> float | None:
    """Latest value of a fresh signal, or None."""
    found = window.fresh(name)
    return None if found is None else found.last


def detail_of(window: Window, *names: str) -> str:
    """What goes with the first of these signals that is fresh, above 0 and has a detail; else
    empty.
    """
    for name in names:
        found = window.fresh(name)
        if found is not None and found.last > 0 and found.detail:
            return found.detail
    return ""


def achieved_running(window: Window) -> float | None:
    """How many requests really run at once: the mean over the readings in which any did; None if
    that was not measured.
    """
    found = window.fresh("running_requests")
    busy = [value for value in found.values if value > 0] if found is not None else []
    return sum(busy) / len(busy) if busy else None


def request_tokens_p90(window: Window) -> float | None:
    """90th percentile of prompt plus output tokens of one request, or None.

    From the medians and 95th percentiles of both, taken as independent and near normal: medians
    add, spreads add as squares.
    """
    prompt, output = last_of(window, "prompt_tokens_p50"), last_of(window, "output_tokens_p50")
    prompt_p95, output_p95 = (
        last_of(window, "prompt_tokens_p95"),
        last_of(window, "output_tokens_p95"),
    )
    if prompt is None or output is None:
        return None
    spread = math.hypot(
        max(0.0, (prompt_p95 or prompt) - prompt), max(0.0, (output_p95 or output) - output)
    )
    return prompt + output + _P90_OVER_P95 * spread


def running_target(window: Window) -> tuple[int, str] | None:
    """How many requests should run at once so that thrash ends, and the numbers it came from; None
    if there is nothing to cut.

    25 to 50 % below what really runs; within that, what the pool holds of requests at their 90th
    percentile, where both are known.
    """
    achieved = achieved_running(window)
    if achieved is None or achieved < 2:
        return None
    most, least = math.floor(0.75 * achieved), max(1, math.floor(0.5 * achieved))
    pool, tokens = last_of(window, "kv_pool_tokens"), request_tokens_p90(window)
    if pool is None or not tokens:
        return max(1, most), f"{achieved:.0f} requests run at once in this pool: 25 % fewer"
    fit = math.floor(pool / tokens)
    target = max(1, min(most, max(least, fit)))
    return (
        target,
        (
            f"{achieved:.0f} run at once; the pool of {count(pool)} tokens holds {fit} of "
            f"{count(tokens)} tokens (their 90th percentile)"
        ),
    )


def setting(window: Window, name: str) -> ConfigValue | None:
    """Return a setting of the engine; None if it is unknown."""
    return window.config.get(name)


def given(window: Window, name: str) -> bool:
    """True if it was set explicitly: it is no default."""
    found = window.config.get(name)
    return found is not None and found.provenance != "version-default"


def short_of_the_pool(situation: Situation) -> bool:
    """True if a start ran out of memory after the pool's size was logged: the weights are in,
    the pool or what comes after is not.
    """
    logged = situation.window.config.get("available_kv_cache_memory_gib")
    return situation.cause == "gpu-oom" and situation.variant == "startup" and logged is not None


def how_sure(found: ConfigValue) -> str:
    """A remark for a value that is guessed, is a default, or was only noted somewhere; empty for
    one that is certain.
    """
    if found.provenance == "version-default":
        return " (by default)" if found.certain else " (assumed)"
    return "" if found.certain else " (as noted)"


def is_cpu(window: Window) -> bool:
    """True for vLLM's CPU backend, where the pool lies in host memory."""
    return window.config.get("VLLM_CPU_KVCACHE_SPACE") is not None or (
        window.version is not None and "+cpu" in window.version.text
    )


def lacks(lever: str, situation: Situation, flag_name: str) -> NotApplicable | None:
    """The refusal if this engine's version lacks the argument, or may lack it; None if it has
    it.
    """
    flag = SETTINGS[flag_name]
    version = situation.window.version
    has = has_flag(flag_name, version)
    if has or (
        has is None
        and version is None
        and not flag.gone
        and flag.since in ("", "0.1.0", "0.2.0", "0.5.0")
    ):
        return None
    if has is None and version is not None:
        return NotApplicable(
            lever, Prose(f"it is not known whether vLLM {version} has {flag.option}")
        )
    if version is None:
        return NotApplicable(
            lever,
            Prose(
                f"{flag.option} needs vLLM >= {flag.since}, and this engine's version is not known"
            ),
        )
    if flag.gone and version.at_least(flag.gone):
        return NotApplicable(
            lever,
            Prose(
                f"{flag.option} does not exist since vLLM {flag.gone} (this engine is {version})"
            ),
        )
    return NotApplicable(
        lever, Prose(f"{flag.option} needs vLLM >= {flag.since} (this engine is {version})")
    )


_SPREAD = (
    "nnodes", "node_rank", "headless", "data_parallel_address", "data_parallel_rank", "data_parallel_start_rank",
    "data_parallel_external_lb", "data_parallel_hybrid_lb",
)  # fmt: skip
"""Arguments that spread an engine's workers over several pods."""


def cards_in_pod(window: Window) -> int | None:
    """Cards that the engine's pod needs: its parallel sizes multiplied; None if they are not
    known, or the workers may be in several.
    """
    sizes = [window.config.get(name) for name in ("tensor_parallel_size", "pipeline_parallel_size")]
    executor = window.config.get("distributed_executor_backend")
    spread = any(window.config.get(name) for name in _SPREAD) or (
        executor is not None and executor.value == "ray"
    )
    if spread or any(
        size is None or not size.certain or not isinstance(size.value, int) for size in sizes
    ):
        return None
    local = (
        window.config.number("data_parallel_size_local")
        or window.config.number("data_parallel_size")
        or 1
    )
    return math.prod(int(size.value) for size in sizes if size is not None) * int(local)


def number_in(pattern: str, text: str) -> float | None:
    """The first group of the pattern in the text as a number (thousands commas allowed), or
    None.
    """
    match = re.search(pattern, text)
    try:
        return float(match[1].replace(",", "").rstrip(".")) if match else None
    except ValueError:
        return None


def pod_words(window: Window) -> str:
    """The replica's pod as a kubectl command takes it; empty if the replica is not known to be a
    pod.
    """
    namespace, _, name = window.pod.rpartition("/")
    return f"{name}{f' -n {namespace}' if namespace else ''}"


def reference_of_pod(window: Window) -> ObjectReference | None:
    """The replica's pod; None if the replica is not known to be one."""
    namespace, _, name = window.pod.rpartition("/")
    return ObjectReference("pod", name, namespace) if name else None


def count(value: float) -> str:
    """A count for a person: 12,288."""
    return f"{value:,.0f}"


def round_up_tokens(value: float) -> int:
    """The next round number of tokens: a multiple of 256 from 1024 on, of 64 below."""
    step = 256 if value >= 1024 else 64
    return max(step, math.ceil(value / step) * step)


def round_down_tokens(value: float) -> int:
    """The round number of tokens below: a multiple of 256 from 1024 on, of 16 below."""
    step = 256 if value >= 1024 else 16
    return max(step, math.floor(value / step) * step)
