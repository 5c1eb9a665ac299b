"""What would have helped most: missing signals, said as things that a person can give."""

from __future__ import annotations

from collections.abc import Iterable

# (prefix of the signal name, what to give, what it would tell). The first prefix that fits decides;
# the order is the order of the advice.
SOURCES: tuple[tuple[tuple[str, ...], str], ...] = (
    (
        (
            "kv_",
            "running_",
            "waiting_",
            "capacity_",
            "deferred_",
            "preemption",
            "finished",
            "scrape_ok",
            "tokens_stalled",
        ),
        (
            "two scrapes of /metrics or more (a URL, or metrics/<replica>/<unix "
            "seconds>.prom): shows every kind of KV pressure"
        ),
    ),
    (
        (
            "prompt_tokens",
            "generation_tokens",
            "tokens_per_step",
            "batch_size",
            "arrivals",
            "ttft",
            "itl",
            "e2e",
            "queue",
            "steps",
        ),
        "a second scrape of /metrics some seconds later: rates and latencies need two",
    ),
    (
        ("max_running", "max_batched", "max_model"),
        "the engine's command line or start-up log: shows the limits it runs with",
    ),
    (
        ("log_",),
        (
            "the engine's log (--log FILE, or logs/<replica>.log): shows failures at start and "
            "out-of-memory"
        ),
    ),
    (
        ("api_server_cpu", "engine_core_", "worker_cpu", "cpu_", "host_memory"),
        (
            "CPU per process (--pid N on the engine's host, or host/<replica>/<unix "
            "seconds>.json): distinguishes a host limit from an engine limit"
        ),
    ),
    (
        ("gpu_",),
        (
            "the card's state (nvidia-smi, amd-smi or DCGM output in gpu/<replica>/): shows "
            "compute saturation and faulty cards"
        ),
    ),
    (("kernel_",), "the node's kernel log (logs/<node>.kernel.log): shows Xid and OOM kills"),
    (
        ("pod_", "node_", "pods_", "replicas_", "hpa_", "rollout_", "scale_in"),
        "pod status and events (kubernetes/*.json): shows restarts and scheduling",
    ),
    (
        ("previous_log",),
        "the container's previous log (logs/<replica>.previous.log): shows why it restarted",
    ),
    (
        ("gateway_",),
        "an access log of the gateway (gateway/*.log): shows latency outside the engine",
    ),
    (
        ("probe_", "health_"),
        "--probe: one request of one token tells a hung engine from an idle one",
    ),
)


def wanted(missing: Iterable[str], *, ended: bool = False) -> tuple[str, ...]:
    """Sentences for the missing signals, each source once, most useful first: of an engine that
    `ended` that is its log.
    """
    names = tuple(missing)
    found = [text for prefixes, text in SOURCES if any(name.startswith(prefixes) for name in names)]
    if ended:
        found.sort(
            key=lambda text: (
                "log" not in text.partition(":")[0] or "kernel" in text or "gateway" in text
            )
        )
    return tuple(found)
