"""Settings of the scheduler and of admission: how much runs at once, in which order, and what is
rejected.

Source: vLLM 0.32.0, vllm/config/scheduler.py and EngineArgs; history: the argument parsers of the
published wheels 0.6.6.post1 to 0.33.0, every minor read, before them the release notes; defaults:
SchedulerConfig and EngineArgs.get_batch_defaults of 0.8.0 to 0.33.0; start-up lines of vLLM 0.2 to
0.33 (scheduler, arg_utils, kv_cache_utils).
"""

from __future__ import annotations

from barostat.catalog.settings.setting import (
    EDGE,
    FROM_ZERO,
    POOL,
    PROCESS,
    SCHEDULER,
    Setting,
    ValueBounds,
)

# fmt: off
SETTINGS = (
    Setting("max_model_len", "length", POOL | SCHEDULER | EDGE,
        "longest accepted sequence; no memory is reserved per request", "tokens", since="0.2.0",
        since_sure=False, optional=True, log_names=("max_model_len", "max_seq_len"),
        log=(r"Maximum concurrency for ([\d,]+) tokens per request", r"Using max model len (\d+)",
            r"Auto-fit max_model_len: reduced from \d+ to (\d+)",
            r"Auto-fit max_model_len: full model context length (\d+) fits"), sized=True,
        twin="max_model_len", limit="max_model_len", chart="maxModelLen"),
    Setting("max_num_seqs", "int", POOL | SCHEDULER,
        "maximum number of running requests; also sizes the runner's buffers and the CUDA graphs",
        "requests", since="0.1.0", defaults={"": 256},
        by_card={"0.8.0": {"huge": 1024, "large": 1024, "small": 256, "cpu": 128}}, optional=True,
        sized=True, twin="max_num_seqs", limit="max_num_seqs", chart="maxNumSeqs"),
    Setting("max_num_active_seqs", "int", SCHEDULER,
        "maximum number of running requests; runner buffers and CUDA graphs keep their size", "requests",
        since="0.31.0", sized=True, twin="max_num_active_seqs", limit="max_num_active_seqs"),
    Setting("max_num_batched_tokens", "int", POOL | SCHEDULER,
        "token budget of a step; also sets the peak of activations, which is profiled at start", "tokens", since="0.1.0",
        by_card={"0.8.0": {"huge": 16384, "large": 8192, "small": 2048, "cpu": 2048}},
        optional=True, log=(r"max_num_batched_tokens=(\d+)",), sized=True,
        twin="max_num_batched_tokens", limit="max_num_batched_tokens"),
    Setting("max_num_scheduled_tokens", "int", SCHEDULER,
        "token budget of the scheduler, if below max_num_batched_tokens", "tokens", since="0.26.0"),
    Setting("performance_mode", "text", POOL | SCHEDULER,
        "throughput doubles the defaults of max_num_seqs and max_num_batched_tokens",
        since="0.17.0", choices=("balanced", "interactivity", "throughput")),
    Setting("enable_chunked_prefill", "bool", POOL | SCHEDULER,
        "compute long prompts in chunks, together with decoding requests", since="0.5.0", since_sure=False,
        defaults={"0.8.0": True}, log_names=("enable_chunked_prefill", "chunked_prefill_enabled"),
        sized=True, twin="chunked_prefill", chart="enableChunkedPrefill"),
    Setting("long_prefill_token_threshold", "int", SCHEDULER,
        "maximum number of tokens of one prompt per step; 0: no limit", "tokens", defaults={"0.8.0": 0},
        bounds=FROM_ZERO, twin="long_prefill_token_threshold"),
    Setting("long_prefill_token_threshold_adaptive", "bool", SCHEDULER, since="0.31.0"),
    Setting("max_num_partial_prefills", "int", SCHEDULER,
        "read by the V0 scheduler only", since="0.7.3", gone="0.27.0", since_sure=False),
    Setting("max_long_partial_prefills", "int", SCHEDULER,
        "read by the V0 scheduler only", since="0.7.3", gone="0.27.0", since_sure=False),
    Setting("scheduling_policy", "text", SCHEDULER,
        "order of the queue: fcfs or priority", defaults={"": "fcfs"}, choices=("fcfs", "priority"),
        twin="policy", short=("--policy",)),
    Setting("scheduler_reserve_full_isl", "bool", SCHEDULER,
        "admit a request only if its whole known sequence fits in free blocks", since="0.19.0",
        defaults={"": True}, twin="reserve_full_isl", short=("--reserve-full-isl",)),
    Setting("watermark", "float", SCHEDULER,
        "share of blocks to keep free when admitting a request while others run", "ratio",
        since="0.24.0", defaults={"": 0.0}, bounds=ValueBounds(0.0, 1.0, open_above=True),
        twin="watermark_ratio", limit="watermark"),
    Setting("prefill_schedule_interval", "int", SCHEDULER,
        "steps from one that admits prefills to the next", "steps", since="0.24.0"),
    Setting("async_scheduling", "bool", POOL | SCHEDULER,
        "schedule the next step while one runs; blocks are freed one step later", since="0.10.0",
        since_sure=False, defaults={"": False, "0.14.0": True}, sized=True,
        twin="async_scheduling"),
    Setting("max_num_queued_reqs", "int", EDGE,
        "maximum number of unfinished requests, waiting or running; others get 503", "requests", since="0.29.0",
        bounds=FROM_ZERO, twin="max_queued_requests", limit="max_queued_requests",
        short=("--max-queued-requests",)),
    Setting("max_num_queued_tokens", "int", EDGE,
        "maximum number of prompt tokens waiting for prefill; further requests get 503", "tokens", since="0.29.0",
        bounds=FROM_ZERO, twin="max_queued_tokens", limit="max_queued_tokens",
        short=("--max-queued-tokens",)),
    Setting("preemption_mode", "text", SCHEDULER,
        "V0: recompute or swap", gone="0.11.0", choices=("recompute", "swap")),
    Setting("scheduler_delay_factor", "float", SCHEDULER, "V0 only", gone="0.11.0"),
    Setting("num_scheduler_steps", "int", SCHEDULER, "V0 only", gone="0.10.1"),
    Setting("use_v2_block_manager", "bool", PROCESS,
        "no effect since V0's second block manager became the only one", gone="0.10.0"),
)
# fmt: on
