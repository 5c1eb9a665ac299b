"""`barostat simulate`: a workload through vLLM's scheduler, step by step, without an engine."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from barostat.twin.run import Watch
    from barostat.twin.settings import Settings

EPILOG = """\
examples:
  barostat simulate --trace rows.jsonl --kv-blocks 400 --step-time 1 --steps-out steps.jsonl
  barostat simulate --workload poisson:rate=4,minutes=10,input=1000,output=200 --kv-blocks 6000 --step-time 0.03 --max-num-seqs 64

a row: {"arrival_s": 3, "input_tokens": 900, "output_tokens": 120}, and as you like: request_id, priority,
prompt_token_ids or hash_ids. Rows without ids share no prefix. With --step-time 1 arrival times are step numbers.
exit codes: 0 simulated, 1 the engine would be stuck for ever, 2 usage
"""


def add_parser(verbs: Any) -> None:
    """Add the verb."""
    parser = verbs.add_parser(
        "simulate",
        help="what a configuration does with a workload: goodput, latencies, KV usage, preemptions, rejections",
        description="Take a workload through the scheduler and block pool of vLLM, decision for decision, without an engine.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    what = parser.add_argument_group("workload (one of)").add_mutually_exclusive_group(required=True)
    what.add_argument("--trace", type=Path, metavar="FILE", help="rows of ours (JSONL, CSV) or a published trace; gzipped or not")
    what.add_argument("--workload", metavar="SPEC", help="made here: poisson, bursty, long-prompts, sessions; see --workload help")
    add_engine_arguments(parser)
    pace = parser.add_argument_group("how long a step takes")
    pace.add_argument("--step-time", type=float, metavar="S", help="every step takes S seconds")
    pace.add_argument(
        "--latency", metavar="MODEL", help="base=S,prefill=S,decode=S,kv=S: seconds per step, prompt token, request, cached token"
    )
    out = parser.add_argument_group("output")
    out.add_argument("--slo-ttft", type=float, metavar="S", help="a good request has its first token within S seconds")
    out.add_argument("--slo-itl", type=float, metavar="S", help="a good request has at most S seconds between tokens, on average")
    out.add_argument("--steps-out", type=Path, metavar="FILE", help="one JSON line per step in which something was scheduled")
    out.add_argument("--steps-detail", action="store_true", help="with the ids of the free blocks in their order")
    out.add_argument("--seed", type=int, default=0, help="of every random stream (default 0)")
    out.add_argument("-o", "--output", choices=("table", "json"), default="table")
    parser.set_defaults(run=run)


def add_engine_arguments(parser: argparse.ArgumentParser) -> None:
    """Add what the engine is configured with, named as vLLM names it. What is not given is as the version resolves it."""
    yes_no = argparse.BooleanOptionalAction
    engine = parser.add_argument_group("engine")
    engine.add_argument("--engine-version", default=None, metavar="V", help="vLLM version (default 0.32.0)")
    engine.add_argument("--kv-blocks", type=int, metavar="N", help="blocks of the pool, the null block included (num_gpu_blocks)")
    engine.add_argument("--block-size", type=int, default=16, metavar="N")
    engine.add_argument(
        "--sliding-window", type=int, action="append", default=[], metavar="N", help="one more group of layers with a window of N tokens"
    )
    engine.add_argument("--max-num-seqs", type=int, default=None, metavar="N")
    engine.add_argument("--max-num-batched-tokens", type=int, default=None, metavar="N")
    engine.add_argument("--max-model-len", type=int, default=None, metavar="N")
    engine.add_argument("--watermark", type=float, default=0.0, metavar="RATIO")
    engine.add_argument("--policy", "--scheduling-policy", choices=("fcfs", "priority"), default="fcfs")
    engine.add_argument("--long-prefill-token-threshold", type=int, default=0, metavar="N")
    engine.add_argument("--max-num-active-seqs", type=int, default=None, metavar="N")
    engine.add_argument("--max-queued-requests", "--max-num-queued-reqs", type=int, default=None, metavar="N")
    engine.add_argument("--max-queued-tokens", "--max-num-queued-tokens", type=int, default=None, metavar="N")
    engine.add_argument("--reserve-full-isl", "--scheduler-reserve-full-isl", action=yes_no, default=True)
    engine.add_argument("--enable-prefix-caching", action=yes_no, default=True)
    engine.add_argument("--enable-chunked-prefill", action=yes_no, default=True)
    engine.add_argument("--async-scheduling", action=yes_no, default=True)
    engine.add_argument("--hash-block-size", type=int, default=None, metavar="N", help="tokens that one of a row's hash_ids stands for")


def settings_of(arguments: argparse.Namespace) -> Settings:
    """The scheduling configuration that the arguments name.

    Errors: InputError naming the argument.
    """
    from barostat.core.errors import InputError
    from barostat.twin.settings import DEFAULT_VERSION, KvGroup, Settings, for_version

    if arguments.kv_blocks is None:
        raise InputError("say how many blocks the pool has (num_gpu_blocks in the engine's log and metrics)", "--kv-blocks")
    if arguments.block_size < 1 or any(window < 2 for window in arguments.sliding_window):
        raise InputError("a block has at least 1 token, a window at least 2", "--block-size")
    groups = (KvGroup(arguments.block_size), *(KvGroup(arguments.block_size, window) for window in arguments.sliding_window))
    length = arguments.max_model_len if arguments.max_model_len is not None else max(1, (arguments.kv_blocks - 1) * arguments.block_size)
    budget = arguments.max_num_batched_tokens
    if budget is None:
        budget = max(2048, arguments.max_num_seqs or 0) if arguments.enable_chunked_prefill else max(2048, length)
    slots = arguments.max_num_seqs if arguments.max_num_seqs is not None else min(256, budget)
    return for_version(
        Settings(
            kv_blocks=arguments.kv_blocks, groups=groups, max_model_len=length, max_num_seqs=slots, max_num_batched_tokens=budget,
            max_num_active_seqs=arguments.max_num_active_seqs, long_prefill_token_threshold=arguments.long_prefill_token_threshold,
            watermark_ratio=arguments.watermark, policy=arguments.policy, prefix_caching=arguments.enable_prefix_caching,
            chunked_prefill=arguments.enable_chunked_prefill, async_scheduling=arguments.async_scheduling,
            reserve_full_isl=arguments.reserve_full_isl, max_queued_requests=arguments.max_queued_requests,
            max_queued_tokens=arguments.max_queued_tokens,
        ),
        arguments.engine_version or DEFAULT_VERSION,
    )  # fmt: skip


def run(arguments: argparse.Namespace) -> int:
    """Simulate and print."""
    from barostat.core.errors import InputError
    from barostat.io.requests_file import read_requests
    from barostat.shells.simulation_report import simulation_json, simulation_table
    from barostat.twin.forms import simulate
    from barostat.twin.run import EverySteps
    from barostat.twin.summary import Slo, summarise

    settings = settings_of(arguments)
    if arguments.step_time is None or not arguments.step_time >= 1e-9:
        raise InputError("say how long a step takes, in seconds", "--step-time")
    pace = EverySteps(round(arguments.step_time * 1e9))
    rows, problems = read_requests(arguments.trace, arguments.block_size, arguments.hash_block_size)
    for problem in problems:
        print(f"barostat: {problem}", file=sys.stderr)
    if not settings.fits(settings.max_model_len):
        print(
            f"barostat: one request of max_model_len {settings.max_model_len} does not fit in {settings.usable_blocks} blocks: "
            "a real engine would not start",
            file=sys.stderr,
        )
    if arguments.steps_out is None:
        outcome = simulate(settings, rows, pace)
    else:
        try:
            with arguments.steps_out.open("w", encoding="utf-8") as file:
                outcome = simulate(settings, rows, pace, _writer(file, arguments.steps_detail))
        except OSError as error:
            raise InputError(error.strerror or str(error), str(arguments.steps_out)) from None
    summary = summarise(outcome, settings.usable_blocks, Slo(arguments.slo_ttft, arguments.slo_itl))
    if arguments.output == "json":
        json.dump(simulation_json(settings, outcome, summary), sys.stdout, indent=2)
        sys.stdout.write("\n")
    else:
        sys.stdout.write(simulation_table(settings, outcome, summary))
    return 1 if outcome.stuck else 0


def _writer(file: Any, detail: bool) -> Watch:
    def watch(line: Any, scheduler: Any) -> None:
        row: dict[str, Any] = {
            "step": line.step,
            "scheduled": line.scheduled,
            "preempted": list(line.preempted),
            "running": line.running,
            "waiting": line.waiting,
            "free_blocks": line.free_blocks,
        }
        if detail:
            row["free_block_ids"] = scheduler.kv.pool.free_block_ids()
        file.write(json.dumps(row) + "\n")

    return watch
