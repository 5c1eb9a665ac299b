"""`barostat simulate`: a workload through vLLM's scheduler, step by step, without an engine."""

from __future__ import annotations

import argparse
import math
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from barostat.shells.cli.seen_arguments import LIVE, add_seen_arguments

if TYPE_CHECKING:
    from barostat.twin.run import Watch

EPILOG = """\
examples:
  barostat simulate --trace rows.jsonl --kv-blocks 400 --step-time 1 --steps-out steps.jsonl
  barostat simulate --workload poisson:rate=4,minutes=10,input=1000,output=200 --kv-blocks 6000 --step-time 0.03 --max-num-seqs 64
  barostat simulate --workload live:http://localhost:8000 --max-num-seqs 48     the traffic, settings and pace of a running engine

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
    add_workload_arguments(parser)
    add_seen_arguments(parser, source=False)
    add_engine_arguments(parser)
    out = parser.add_argument_group("output")
    out.add_argument("--slo-ttft", type=float, metavar="S", help="a good request has its first token within S seconds")
    out.add_argument("--slo-itl", type=float, metavar="S", help="a good request has at most S seconds between tokens, on average")
    out.add_argument("--steps-out", type=Path, metavar="FILE", help="one JSON line per step in which something was scheduled")
    out.add_argument("--steps-detail", action="store_true", help="with the ids of the free blocks in their order")
    out.add_argument("--html", type=Path, metavar="FILE", help="one page with the numbers and drawings over time")
    out.add_argument("-o", "--output", choices=("table", "json"), default="table")
    parser.set_defaults(run=run)


def add_workload_arguments(parser: argparse.ArgumentParser, *, required: bool = True) -> None:
    """Add what is run, and how long a step takes."""
    what = parser.add_argument_group("workload (one of)").add_mutually_exclusive_group(required=required)
    what.add_argument("--trace", type=Path, metavar="FILE", help="rows of ours (JSONL, CSV) or a published trace; gzipped or not")
    what.add_argument(
        "--workload",
        metavar="SPEC",
        help="made here: poisson, bursty, long-prompts, sessions or closed, then :name=number,...; or live: and what --from takes",
    )
    add_pace_arguments(parser)


def add_pace_arguments(parser: argparse.ArgumentParser) -> None:
    """Add how long a step takes, and the seed."""
    pace = parser.add_argument_group("how long a step takes")
    pace.add_argument("--step-time", type=float, metavar="S", help="every step takes S seconds, and starts at a multiple of it")
    pace.add_argument(
        "--latency",
        metavar="MODEL",
        help="base=S,prefill=S,decode=S,kv=S,pair=S,front=S: seconds per step, prompt token, request, cached token, pair of prompt tokens, "
        "and on the way; or from=LOG of an engine with --enable-logging-iteration-details",
    )
    pace.add_argument("--seed", type=int, default=0, help="of every random stream (default 0)")


def add_engine_arguments(parser: argparse.ArgumentParser) -> None:
    """Add what the engine is configured with, named as vLLM names it. What is not given is as the version resolves it."""
    yes_no = argparse.BooleanOptionalAction
    engine = parser.add_argument_group("engine")
    engine.add_argument("--engine-version", default=None, metavar="V", help="vLLM version (default 0.32.0)")
    engine.add_argument("--kv-blocks", type=int, metavar="N", help="blocks of the pool, the null block included (num_gpu_blocks)")
    engine.add_argument(
        "--model-config", metavar="FILE", help="config.json, its folder or a known name: the pool as the engine would size it"
    )
    engine.add_argument("--gpu", metavar="NAME", help="the card: memory for the pool, and how long a step takes")
    engine.add_argument("--tensor-parallel-size", "-tp", type=_at_least_one, default=None, metavar="N")
    engine.add_argument("--limits", type=Path, metavar="FILE", help="a limits file: what is not given here is as it says")
    engine.add_argument("--block-size", type=int, default=None, metavar="N", help="default 16")
    engine.add_argument(
        "--sliding-window", type=int, action="append", default=[], metavar="N", help="one more group of layers with a window of N tokens"
    )
    engine.add_argument("--max-num-seqs", type=int, default=None, metavar="N")
    engine.add_argument("--max-num-batched-tokens", type=int, default=None, metavar="N")
    engine.add_argument("--max-model-len", type=int, default=None, metavar="N")
    engine.add_argument("--watermark", type=float, default=None, metavar="RATIO")
    engine.add_argument("--policy", "--scheduling-policy", choices=("fcfs", "priority"), default=None)
    engine.add_argument("--long-prefill-token-threshold", type=int, default=None, metavar="N")
    engine.add_argument("--max-num-active-seqs", type=int, default=None, metavar="N")
    engine.add_argument("--max-queued-requests", "--max-num-queued-reqs", type=int, default=None, metavar="N")
    engine.add_argument("--max-queued-tokens", "--max-num-queued-tokens", type=int, default=None, metavar="N")
    engine.add_argument("--reserve-full-isl", "--scheduler-reserve-full-isl", action=yes_no, default=None)
    engine.add_argument("--enable-prefix-caching", action=yes_no, default=None)
    engine.add_argument("--enable-chunked-prefill", action=yes_no, default=None)
    engine.add_argument("--async-scheduling", action=yes_no, default=None)
    engine.add_argument("--hash-block-size", type=int, default=None, metavar="N", help="tokens that one of a row's hash_ids stands for")


def _at_least_one(text: str) -> int:
    if not text.isascii() or not text.isdigit() or not 1 <= int(text) <= 1024:
        raise argparse.ArgumentTypeError(f"{text!r} is no number of GPUs; 1 to 1024 was expected")
    return int(text)


def run(arguments: argparse.Namespace) -> int:
    """Simulate and print."""
    from barostat.core.errors import InputError
    from barostat.shells.cli.simulate_inputs import engine_of, front_of, interval_of, pace_of, rows_of
    from barostat.shells.simulation_report import simulation_json, simulation_table
    from barostat.twin.forms import simulate
    from barostat.twin.summary import Slo, summarise

    source = arguments.workload.removeprefix(LIVE) if (arguments.workload or "").startswith(LIVE) else None
    _check(arguments, source)
    live = None
    if source is not None:
        from barostat.shells.cli.seen_inputs import look, rows_seen

        live = look(arguments, source, needs_traffic=True)
    engine = engine_of(arguments)
    settings = engine.settings
    if live is None:
        pace = pace_of(arguments, engine)
        rows, notes = rows_of(arguments, settings)
    else:
        pace = live.pace.pace if live.pace is not None else pace_of(arguments, engine)
        rows, notes = rows_seen(live, settings, arguments.seed), live.told()
    for note in (*engine.notes, *notes):
        print(f"barostat: {note}", file=sys.stderr)
    if arguments.steps_out is None:
        outcome = simulate(settings, rows, pace)
    else:
        try:
            with arguments.steps_out.open("w", encoding="utf-8") as file:
                outcome = simulate(settings, rows, pace, _writer(file, arguments.steps_detail))
        except OSError as error:
            raise InputError(error.strerror or str(error), str(arguments.steps_out)) from None
    slo = Slo(arguments.slo_ttft or engine.slo_ttft_s, arguments.slo_itl or engine.slo_itl_s)
    summary = summarise(outcome, settings.usable_blocks, slo, front_of(pace))
    ends = [summarise(simulate(settings, rows, end), settings.usable_blocks, slo, front_of(end)) for end in interval_of(pace)]
    if arguments.output == "json":
        import json

        json.dump(simulation_json(settings, outcome, summary, ends), sys.stdout, indent=2)
        sys.stdout.write("\n")
    else:
        sys.stdout.write(simulation_table(settings, outcome, summary, ends))
    if arguments.html is not None:
        from barostat.shells.simulation_html import simulation_html

        title = f"barostat simulate: {arguments.workload or arguments.trace.name}"
        try:
            arguments.html.write_text(simulation_html(title, settings, outcome, summary), encoding="utf-8")
        except OSError as error:
            raise InputError(error.strerror or str(error), str(arguments.html)) from None
    return 1 if outcome.stuck else 0


def _check(arguments: argparse.Namespace, source: str | None) -> None:
    """Nothing, where all options can act, what comes out can be written and what counts as good is clear: said before a run, not after it.

    Errors: InputError naming the argument.
    """
    from barostat.core.errors import InputError
    from barostat.shells.cli.idle_options import refuse_idle, refuse_overwriting

    refuse_idle(arguments, source, f"--workload {LIVE}URL")
    refuse_overwriting(arguments)
    if arguments.steps_detail and arguments.steps_out is None:
        raise InputError("goes into the file of --steps-out FILE; say which", "--steps-detail")
    for name, value in (("--slo-ttft", arguments.slo_ttft), ("--slo-itl", arguments.slo_itl)):
        if value is not None and not 0 < value < math.inf:
            raise InputError(f"must be above 0 seconds, not {value:g}", name)
    for name, path in (("--steps-out", arguments.steps_out), ("--html", arguments.html)):
        if path is not None:
            _try_to_open(path, name)


def _try_to_open(path: Path, name: str) -> None:
    """Nothing, where that file can be written; it is left as it was."""
    from barostat.core.errors import InputError

    try:
        there = path.exists()
        path.open("a").close()
        if not there:
            path.unlink()
    except OSError as error:
        raise InputError(f"cannot be written: {error.strerror or error}", f"{name} {path}") from None


def _writer(file: Any, detail: bool) -> Watch:
    import json

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
