"""The running engine resolved something else than its limits were derived from.

Meaning: for ten minutes vllm:cache_config_info shows another share of memory, another size of the
KV cache in bytes, or a pool smaller by more than 5 % than the limits file states.
Impact: every number derived from the old pool is wrong: what was proved to fit does not.
Evidence: the labels of vllm:cache_config_info: gpu_memory_utilization, kv_cache_memory_bytes
(0.10.2 on), num_gpu_blocks.
Not evidence: a pool larger than stated, or smaller by a few blocks: two starts on one card differ
by that.
Mitigation: `barostat check --live` shows what differs; then correct the manifest, or derive the
limits again.
Source: vLLM 0.32.0 v1/metrics/loggers.py, config/cache.py.
"""

from __future__ import annotations

from barostat.alerts.alert import WHERE, Alert, LeftOut
from barostat.alerts.below import below
from barostat.alerts.terms import POOL_TOLERANCE_RATIO, Terms
from barostat.catalog import metric_names as vllm


def expression(terms: Terms) -> str | LeftOut:
    """Any label that is there and says otherwise."""
    promised, found = terms.promised, []
    if promised.utilization is not None and promised.kv_cache_bytes is None:
        found.append(_shows(terms, "gpu_memory_utilization", f"{promised.utilization:g}"))
    if promised.kv_cache_bytes is not None:
        found.append(_shows(terms, "kv_cache_memory_bytes", str(promised.kv_cache_bytes)))
    if promised.pool_tokens is not None and promised.block_tokens is not None:
        least = int(promised.pool_tokens / promised.block_tokens * (1 - POOL_TOLERANCE_RATIO))
        if least > 1:
            labels = {
                "num_gpu_blocks": f"~{below(least)}",
                "block_size": str(promised.block_tokens),
            }
            found.append(_info(terms, labels))
    if not found:
        return LeftOut(
            "the limits state neither gpuMemoryUtilization nor kvCacheMemoryBytes nor the "
            "pool that they were derived from"
        )
    return " or ".join(found)


def _shows(terms: Terms, label: str, value: str) -> str:
    """The engines whose label is there and is another number than that; `0.90` is `0.9`."""
    same = value.replace(".", "\\.") + ("0*" if "." in value else "(\\.0)?")
    return _info(terms, {label: "~.+"}, f'{label}!="None",{label}!~"{same}"'.replace("\\", "\\\\"))


def _info(terms: Terms, labels: dict[str, str], unlike: str = "") -> str:
    matchers = terms.matchers("cluster", "job", "namespace", "pod", "instance", **labels)
    inside = matchers[:-1] + (f",{unlike}" if unlike else "") + "}"
    seen = f"max without (engine, pid) ({vllm.RUNNING[0]}{terms.matchers()})"
    kept = (
        "cluster, job, instance, namespace, pod, block_size, num_gpu_blocks, "
        "gpu_memory_utilization, kv_cache_memory_bytes"
    )
    return f"max by ({kept}) ({vllm.CACHE_CONFIG}{inside}) and on (cluster, job, instance) {seen}"


ALERT = Alert(
    "BarostatNotAsDeclared", "the engine is not what its limits were derived from", "warning", "engine", expression,
    WHERE + ": resolved {{ $labels.num_gpu_blocks }} blocks of {{ $labels.block_size }} tokens, gpu_memory_utilization "
    "{{ $labels.gpu_memory_utilization }}, which is not what the limits state",
    holds_s=600.0, within_s=720.0, then="barostat check {limits} --live {target}",
)  # fmt: skip
