"""Every signal there is: its name, unit, meaning, and how old it may be before it counts as stale.

A reader (engines, gpus, platform) makes signals of these names; a symptom names them in `needs`.
The name is the contract between the two, so that a symptom judges the same whether the number came
from a metric, a log line or a vendor tool.

Naming: the unit is the suffix where there is one. `log_*` count the lines of a kind in the engine's
current life, `previous_log_*` in the container before a restart; 0 means a log was read and holds
none.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from barostat.catalog.polling import SAMPLED_S
from barostat.core.signal import Point, Signal

STATUS_S = 900.0
"""Age limit of what a system keeps as its current status (a pod's phase, a process on a card)."""
HISTORY_S = 7200.0
"""What happened longer ago than this is history, not news: the window of the playbook's own log
commands (two hours).
"""
LASTING_S = 7 * 86_400.0
"""Age limit of what stays true until something restarts: a start-up line, a resolved limit, a
failure in the current log.
"""


@dataclass(frozen=True, slots=True)
class SignalKind:
    """Meaning of a signal name. `stale_after_s`: its age limit, in seconds."""

    name: str
    unit: str
    meaning: str
    stale_after_s: float = SAMPLED_S


def _kinds(unit: str, stale_after_s: float = SAMPLED_S, **meanings: str) -> list[SignalKind]:
    return [SignalKind(name, unit, meaning, stale_after_s) for name, meaning in meanings.items()]


_ALL: list[SignalKind] = [
    # --- the engine's KV cache and queue (metrics; the statistics line of the log where there are
    # none)
    *_kinds(
        "ratio",
        kv_usage_ratio=(
            "share of the KV pool that running requests hold (evictable cached blocks count as "
            "free)"
        ),
        prefix_hit_ratio="prefix-cache hits over queries, in tokens, within the window",
        prefix_hit_step_ratio="the same, as a series between scrapes",
    ),
    *_kinds(
        "tokens",
        LASTING_S,
        kv_pool_tokens="tokens that the KV pool of one engine holds",
        block_size_tokens="tokens per block",
    ),
    *_kinds(
        "blocks",
        LASTING_S,
        kv_pool_blocks="blocks of the KV pool of one engine, the null block included",
    ),
    *_kinds("tokens", kv_used_tokens="KV usage times pool: tokens that running requests hold"),
    *_kinds(
        "count",
        running_requests="requests in the scheduler's running list",
        waiting_requests="requests in the queue, preempted ones included",
        capacity_waiting_requests=(
            "requests that wait for a slot, KV blocks or tokens (not deferred by LoRA, grammar "
            "or transfer)"
        ),
        deferred_waiting_requests="requests that the scheduler passes over: LoRA limit, grammar, KV transfer",
        running_adapters="LoRA adapters that running requests use",
        waiting_adapters="LoRA adapters that only waiting requests want",
        preemptions_in_window=(
            "preemptions counted within the window (the engine's counter lags: it moves when a "
            "victim emits again)"
        ),
        preempted_waiting_requests=(
            "requests that had begun to answer and wait again, estimated from below: "
            "preemption as it happens"
        ),
        requests_preempted_twice="requests finished in the window that were preempted at least twice",
        finished_in_window="requests finished within the window",
        rejections_in_window="requests that the engine answered 503 because its queue limits were reached",
        errors_in_window="HTTP answers 5xx within the window",
        data_parallel_engines="engines behind this endpoint",
    ),
    *_kinds(
        "count",
        LASTING_S,
        max_running_requests=(
            "the limit on running requests as resolved: the smaller of max_num_seqs and "
            "max_num_active_seqs"
        ),
        max_batched_tokens="the token budget of one step as resolved",
        max_model_len_tokens="the longest sequence that the engine accepts",
    ),
    # --- rates and shape between scrapes
    *_kinds(
        "1/s",
        preemptions_per_s="preemptions per second between scrapes",
        arrivals_per_s="requests arriving per second: finished plus growth of running and waiting",
        finished_per_s="requests finishing per second",
        steps_per_s="engine steps per second",
    ),
    *_kinds(
        "ratio",
        expected_work_ratio="seconds of steps a second that model, card and load should need (the step model)",
        expected_work_error_ratio="one standard deviation of that over it (detail: what makes it wide)",
    ),
    *_kinds(
        "tokens/s",
        prompt_tokens_per_s="prompt tokens per second",
        generation_tokens_per_s="generated tokens per second",
    ),
    *_kinds(
        "tokens",
        tokens_per_step="tokens per engine step, mean between scrapes",
        accepted_drafts_per_step="draft tokens accepted of a request's step with drafts, on average "
        "within the window",
        step_tokens_p95="95th percentile of tokens per engine step within the window",
        prompt_tokens_p50="median prompt length of requests finished in the window",
        prompt_tokens_p95="95th percentile of the same",
        prompt_tokens_mean="mean prompt length, as a series between scrapes",
        output_tokens_p50="median generated length of requests finished in the window",
        output_tokens_p95="95th percentile of the same",
        output_tokens_mean="mean generated length, as a series between scrapes",
        max_tokens_p50="median of the max_tokens that clients asked for",
        max_tokens_p95="95th percentile of the same",
    ),
    *_kinds(
        "count",
        batch_size_mean=(
            "effective batch: sequences that produced a token per engine step, mean between scrapes"
        ),
        batch_size_p95="95th percentile of running requests over the window's scrapes",
        arrival_burstiness="peak over mean of arrivals between scrapes within the window",
    ),
    *_kinds(
        "s",
        ttft_p50_s="median time to first token within the window",
        ttft_p99_s="99th percentile of the same",
        itl_p50_s="median inter-token latency within the window (preemption stalls are inside)",
        itl_p99_s="99th percentile of the same",
        tpot_p50_s="median time per output token of finished requests",
        tpot_p99_s="99th percentile of the same",
        queue_p50_s="median wait before a request's first scheduling",
        queue_p99_s="99th percentile of the same",
        e2e_p50_s="median end-to-end latency of finished requests",
        e2e_p99_s="99th percentile of the same",
        prefill_p50_s="median time in prefill of finished requests",
        ttft_mean_s="mean time to first token, as a series between scrapes",
        itl_mean_s="mean inter-token latency, as a series between scrapes",
    ),
    # --- is it alive
    *_kinds(
        "bool",
        scrape_ok="1 if /metrics answered, 0 if it did not (a series over the window)",
        health_ok="1 if /health answered 200",
        probe_token_ok=(
            "1 if a request of one token was answered within its time, 0 if it was not (only "
            "with --probe)"
        ),
        engine_sleeping="1 if the engine was put to sleep",
    ),
    *_kinds("s", tokens_stalled_s="how long requests have been running without one token counted"),
    # --- the process and its host
    *_kinds(
        "cores",
        api_server_cpu_cores="CPU cores that the busiest API server process used",
        engine_core_cpu_cores="CPU cores that the engine core process used",
        worker_cpu_cores="CPU cores that the busiest worker process used",
        cpu_usage_cores="CPU cores that the container used",
        cpu_limit_cores="the container's CPU limit",
    ),
    *_kinds(
        "ratio",
        cpu_throttled_ratio="share of scheduling periods in which the container was throttled by its CPU limit",
    ),
    *_kinds(
        "bytes",
        host_memory_bytes="memory that the container uses",
        host_memory_limit_bytes="the container's memory limit",
    ),
    *_kinds(
        "count",
        STATUS_S,
        engine_core_stopped="1 if the engine core process is stopped (state T), 0 if it runs or sleeps",
        process_exit_code="exit status of a local engine that ended (negative: the signal that killed it)",
    ),
    # --- GPUs (the worst card of the replica unless said otherwise)
    *_kinds(
        "ratio",
        gpu_memory_used_ratio=(
            "used over total memory of the fullest card (always near the utilisation setting: "
            "heat, not harm)"
        ),
        gpu_utilization_ratio="share of time with a kernel running, mean over the replica's cards",
        gpu_power_ratio="power over its limit",
    ),
    *_kinds("C", gpu_temperature_c="hottest card"),
    *_kinds(
        "count",
        gpu_count="cards seen",
        gpu_throttle_fault=(
            "cards whose clocks are cut by heat, power brake or hardware slowdown (detail: the "
            "reasons)"
        ),
        gpu_throttle_power_cap="cards at their power cap: normal under load",
        gpu_ecc_uncorrected="uncorrected ECC errors since the driver was loaded",
        gpu_ecc_corrected="corrected ECC errors since the driver was loaded",
        gpu_rows_pending="row remappings or page retirements that wait for a reset",
        gpu_rows_failed="row remappings that could not be done",
        gpu_xid="Xid code that the exporter shows as the last error (0: none)",
        gpu_lost="cards that do not answer, or answer N/A for everything",
    ),
    *_kinds(
        "bytes",
        STATUS_S,
        gpu_foreign_memory_bytes="memory on the fullest card that processes other than this engine hold",
        gpu_memory_total_bytes="total memory of the smallest card",
        gpu_memory_free_bytes="free memory of the fullest card",
    ),
    # --- kernel log
    *_kinds(
        "count",
        LASTING_S,
        kernel_xid_fatal="Xid lines that mean broken hardware or a lost card (detail: the codes)",
        kernel_xid_software="Xid lines that an application causes (13, 31, 43, 45 and the like)",
        kernel_oom_kill="processes that the kernel's OOM killer ended",
        kernel_gpu_error=(
            "other lines of the GPU driver that mean a lost or hung card (GSP time-out, fallen "
            "off the bus)"
        ),
    ),
    # --- Kubernetes
    *_kinds(
        "count",
        STATUS_S,
        pod_restarts="restarts of the engine's container",
        pod_pending="1 if the pod waits to be scheduled (detail: the scheduler's reason)",
        pod_starting="1 if the container runs and is not Ready yet",
        pod_not_ready="1 if the pod is not Ready",
        pod_crash_looping="1 if the container waits in CrashLoopBackOff",
        pod_image_error=(
            "1 if the image cannot be pulled or the container cannot be created (detail: the "
            "reason)"
        ),
        pod_evicted="1 if the pod was evicted or its node ran short of memory or disk",
        pod_oom_killed="1 if the last state says OOMKilled: the host's memory cgroup, never the GPU",
        pod_last_exit_code="exit code of the container's last end",
        pod_probe_failures="liveness, readiness or startup probe failures among the events",
        pod_probe_kills="restarts that a failed liveness or startup probe caused",
        pod_shm_bytes="size of /dev/shm that the pod spec gives (64 MiB where it says nothing)",
        node_not_ready=(
            "1 if the node is not Ready or under memory, disk or PID pressure (detail: the "
            "condition)"
        ),
        node_gpu_unhealthy=(
            "GPUs that the node has and cannot allocate (capacity over allocatable), or a GPU "
            "condition that is bad"
        ),
        pods_unschedulable="pods of the workload that wait for a node",
        replicas_wanted="replicas that the workload asks for",
        replicas_ready="replicas that are Ready",
        hpa_at_max="1 if the autoscaler wants more than its maximum",
        hpa_lagging="1 if the autoscaler wants more replicas than are Ready",
    ),
    *_kinds(
        "s",
        STATUS_S,
        pod_starting_s="how long the container has run without getting Ready",
        pod_pending_s="how long the pod has been pending",
    ),
    *_kinds(
        "s",
        LASTING_S,
        rollout_age_s="time since the workload's last rollout (detail: what changed, flag by flag)",
        scale_in_age_s="time since replicas were last taken away",
    ),
    # --- the gateway: its access log, or the metrics of our own
    *_kinds(
        "ratio",
        gateway_5xx_ratio="share of 5xx among the gateway's answers in the window",
        gateway_timeout_ratio="share of 499, 504 and 408 among them",
        gateway_upstream_share_ratio="upstream response time over total time, median: what the engine has of the latency",
    ),
    *_kinds(
        "1/s",
        gateway_requests_per_s="requests per second that come to the gateway, refused ones included",
    ),
    *_kinds(
        "ratio",
        gateway_held_ratio=(
            "KV tokens that the gateway's account holds, over the pool, of the replica with "
            "the least room"
        ),
        gateway_no_output_limit_ratio="share of the requests in the window that state no output limit",
    ),
    *_kinds(
        "tokens",
        gateway_prompt_tokens_p50=(
            "median prompt length of what the gateway has answered in the window (upper bound "
            "of its bucket)"
        ),
        gateway_prompt_tokens_p95="95th percentile of the same",
        gateway_output_limit_tokens_p95=(
            "95th percentile of the output limits that came to the gateway, refused ones included"
        ),
    ),
    *_kinds(
        "count",
        gateway_active_requests="requests that are at the gateway: being answered, or waiting for room",
        gateway_queued_requests="requests that wait at the gateway for room",
        gateway_refusals_in_window="requests that the gateway refused in the window (detail: by reason)",
        gateway_shadow_refusals_in_window=(
            "requests that a gateway which only watches would have refused or held back "
            "(detail: by reason)"
        ),
    ),
    *_kinds("s", gateway_duration_p99_s="99th percentile of the gateway's request time"),
    *_kinds("count", gateway_long_streams="requests that lasted more than five minutes"),
    # --- log lines: counts in the current life of the engine; detail quotes the last one
    *_kinds(
        "count",
        LASTING_S,
        log_ready="the server said that it is ready",
        log_gpu_oom_startup=(
            "GPU out of memory while loading or profiling; or less free memory on the card "
            "than asked for"
        ),
        log_gpu_oom_graph_capture="GPU out of memory while capturing graphs or warming up the sampler",
        log_gpu_oom_serving="GPU out of memory after the engine was ready",
        log_gpu_oom="GPU out of memory, at a moment that the log does not tell",
        log_no_cache_blocks="no memory left for the KV pool",
        log_model_too_long="one request of max_model_len does not fit the pool",
        log_states_exceeded="max_num_seqs exceeds the state blocks of a hybrid model",
        log_host_oom=(
            "killed for host memory: exit 137, SIGKILL, ray's memory monitor, the kernel's killer"
        ),
        log_unknown_argument="the command line was refused",
        log_invalid_config="a setting was refused: a value, a combination, a parallel size",
        log_model_not_found="the model or its tokenizer cannot be had: missing, gated, no network",
        log_shm_too_small="/dev/shm is too small",
        log_port_in_use="the port is taken",
        log_broken_install="the image does not fit its node or itself: driver, CUDA, libraries, packages",
        log_storage_refused="a directory is full, read-only or not permitted",
        log_collective_timeout="a collective (NCCL, RCCL) did not return, or ranks could not connect",
        log_rpc_timeout="the core waited in vain for a worker",
        log_gpu_fault="the card failed: uncorrectable ECC, lost from the bus, fabric not initialised",
        log_gpu_program_error=(
            "a kernel failed: illegal access, device-side assert (software unless hardware "
            "says otherwise)"
        ),
        log_engine_dead="the engine core ended or failed to start",
        log_preempted_v0="sequence groups preempted (V0 warns at every 50th)",
        log_swap_exhausted="no swap space left for preempted groups: the V0 engine aborts",
        log_start_unfinished="the log stops during start-up, without an error (detail: its last "
        "line)",
        log_preemptions="preemptions that the statistics lines count within the window",
        log_fd_limit="the limit on open files could not be raised, or was reached",
        log_unclassified_error=(
            "the process ended with an error that no known line explains (detail: the last "
            "exception)"
        ),
    ),
    # a queue that was full hours ago says nothing about now
    *_kinds(
        "count",
        STATUS_S,
        log_requests_rejected="requests refused because the queue limits were reached",
    ),
    *_kinds(
        "count",
        LASTING_S,
        previous_log_gpu_oom="GPU out of memory in the log before the restart (detail: phase and line)",
        previous_log_host_oom="killed for host memory, in the log before the restart",
        previous_log_collective_timeout="a collective that did not return, in the log before the restart",
        previous_log_gpu_fault="the card failed, in the log before the restart",
        previous_log_engine_dead="the engine core ended, in the log before the restart",
        previous_log_shutdown="the engine was told to stop (SIGTERM), in the log before the restart",
    ),
]

SIGNALS: dict[str, SignalKind] = {kind.name: kind for kind in _ALL}


def signal(
    name: str, points: Iterable[tuple[float, float]], source: str, detail: str = ""
) -> Signal | None:
    """A signal of a known name, its points in time order; None if there is no point.

    Two points at one instant: the later one in the input stays.
    Errors: KeyError for a name that is not in SIGNALS (a programming error).
    """
    kind = SIGNALS[name]
    ordered = {at: value for at, value in points if value == value}
    if not ordered:
        return None
    return Signal(
        name,
        kind.unit,
        tuple(Point(at, ordered[at]) for at in sorted(ordered)),
        source,
        kind.stale_after_s,
        detail,
    )
