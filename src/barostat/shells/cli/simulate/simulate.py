"""`barostat simulate`: a workload through vLLM's scheduler, step by step, without an engine."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from barostat.shells.cli.durations import seconds
from barostat.shells.cli.engine_options import add_engine_settings
from barostat.shells.cli.simulate.from_engine_arguments import add_seen_arguments
from barostat.shells.cli.simulate.pair_arguments import add_pair_arguments
from barostat.shells.reports.json_text import json_text

if TYPE_CHECKING:
    pass

EPILOG = """\
examples (with the files of `barostat example all`):
  barostat simulate --trace requests.jsonl --kv-blocks 400 --step-time 1 --steps-out steps.jsonl
  barostat simulate --workload poisson:rate=4,minutes=10,input=1000,output=200 --kv-blocks 6000 --step-time 0.03 --max-num-seqs 64
  barostat simulate --trace requests.jsonl --kv-blocks 6000 --step-time 0.03 --replicas 4 --gateway limits.yaml   # behind a gateway
  barostat simulate --trace requests.jsonl --scale-rate 2 --kv-blocks 400 --step-time 0.03     # the same requests at twice the rate
  barostat simulate --trace requests.jsonl --until-it-breaks --slo-ttft 10 --kv-blocks 2048 --step-time 0.03     # the highest load
  barostat simulate --trace requests.jsonl --kv-blocks 400 --step-time 0.03 -o html > run.html     # a page with charts
  barostat simulate --trace requests.jsonl --kv-blocks 400 --step-time 0.03 --data-parallel-size 2     # two ranks; says which one thrashes
  barostat simulate --trace requests.jsonl --model-config Qwen/Qwen3-8B --gpu H100 --kv-link bandwidth=25e9     # a prefill/decode pair
  barostat simulate --workload live:http://localhost:8000 --max-num-seqs 48     # with the traffic of a running engine

rows: {"arrival_s": 3, "input_tokens": 900, "output_tokens": 120}, optionally with request_id, priority, data_parallel_rank,
prompt_token_ids or hash_ids. Rows without ids share no prefix. With --step-time 1, arrival times are step numbers.
exit codes: 0 it keeps up (or there are too few requests to judge) and meets the SLO; 1 it falls behind, misses the SLO or would not start;
2 usage error. With --gateway: 0 few preemptions; 1 too many preemptions; 3 too few requests to judge
"""


def add_parser(verbs: Any) -> None:
    """Add the verb."""
    parser = verbs.add_parser(
        "simulate",
        help=("simulate a workload: goodput, latency, KV usage, preemptions and rejections"),
        description=(
            "Simulate a workload on vLLM's scheduler and block pool, step by step, with the same "
            "decisions. Needs no engine and no GPU."
        ),
        epilog=EPILOG,
    )
    add_workload_arguments(parser, may_be_live=True)
    add_rate_argument(parser)
    add_seen_arguments(parser, source=False)
    add_engine_arguments(parser)
    add_pair_arguments(parser)
    fleet = parser.add_argument_group("behind a gateway")
    fleet.add_argument(
        "--gateway",
        type=Path,
        metavar="LIMITS",
        help="simulate a gateway in front of the replicas, with this limits file",
    )
    fleet.add_argument(
        "--replicas",
        type=int,
        default=1,
        metavar="N",
        help="number of identical engines (default 1)",
    )
    out = parser.add_argument_group("output")
    out.add_argument(
        "--slo-ttft",
        type=seconds,
        metavar="S",
        help="a good request has its first token within S seconds",
    )
    out.add_argument(
        "--slo-itl",
        type=seconds,
        metavar="S",
        help="a good request has at most S seconds between tokens, on average",
    )
    out.add_argument(
        "--steps-out",
        type=Path,
        metavar="FILE",
        help="write one JSON line per non-empty step to this file",
    )
    out.add_argument(
        "--steps-detail",
        action="store_true",
        help="with --steps-out: add the ids of the free blocks, in order",
    )
    out.add_argument(
        "--html", type=Path, metavar="FILE", help="also write the page of -o html to this file"
    )
    out.add_argument("-o", "--output", choices=("table", "json", "html"), default="table")
    parser.set_defaults(run=run)


def add_workload_arguments(parser: argparse.ArgumentParser, *, may_be_live: bool = False) -> None:
    """Add what is run, and how long a step takes. `may_be_live`: --workload names an engine too;
    else the verb has an option for that.
    """
    rows = "see below" if may_be_live else "see `simulate --help`"
    what = parser.add_argument_group("workload (one of)").add_mutually_exclusive_group(
        required=may_be_live
    )
    what.add_argument(
        "--trace",
        type=Path,
        metavar="FILE",
        help=f"request rows (JSONL, CSV; {rows}) or a published trace; may be gzipped",
    )
    what.add_argument(
        "--workload",
        metavar="SPEC",
        help="generated: poisson, bursty, long-prompts, sessions or closed, then :name=number,..."
        + ("; or live:TARGET: the traffic of a running engine" if may_be_live else ""),
    )
    parser.add_argument(
        "--draft-acceptance",
        type=float,
        metavar="RATIO",
        help="with --speculative-config: probability that a draft token is accepted if those "
        "before it were",
    )
    add_pace_arguments(parser)


def add_rate_argument(parser: argparse.ArgumentParser) -> None:
    """Add how much denser the same requests come."""
    parser.add_argument(
        "--scale-rate",
        type=float,
        default=1.0,
        metavar="X",
        help="multiply the arrival rate by X (default 1)",
    )
    parser.add_argument(
        "--until-it-breaks",
        action="store_true",
        help="find the load at which the SLO is missed; without an SLO, at which the queue keeps growing",
    )


def add_pace_arguments(parser: argparse.ArgumentParser) -> None:
    """Add how long a step takes, and the seed."""
    pace = parser.add_argument_group("step times")
    pace.add_argument(
        "--step-time",
        type=seconds,
        metavar="S",
        help="every step takes S seconds and starts at a multiple of S",
    )
    pace.add_argument(
        "--latency",
        metavar="MODEL",
        help="base=S,prefill=S,decode=S,kv=S,pair=S,front=S: seconds per step, prompt token, "
        "running request, cached token and pair of prompt tokens; front: time per request outside the steps. Or "
        "from=LOG, the log of an engine with --enable-logging-iteration-details",
    )
    pace.add_argument("--seed", type=int, default=0, help="random seed (default 0)")


def add_engine_arguments(
    parser: argparse.ArgumentParser, *, compares_versions: bool = False
) -> None:
    """Add what the engine is configured with. What is not given is as the version resolves it."""
    two = "; compare two: OLD..NEW, or NEW with --from" if compares_versions else ""
    engine = parser.add_argument_group("engine")
    engine.add_argument(
        "--engine-version",
        default=None,
        metavar="V",
        help=f"vLLM version (default 0.32.0){two}",
    )
    engine.add_argument(
        "--kv-blocks",
        type=int,
        metavar="N",
        help="blocks in the pool, including the null block (num_gpu_blocks)",
    )
    engine.add_argument(
        "--model-config",
        metavar="FILE",
        help="config.json, its folder or a model name from the catalogue; used to size the pool",
    )
    engine.add_argument(
        "--gpu", metavar="NAME", help="card; used for the pool size and the step times"
    )
    engine.add_argument(
        "--limits",
        type=Path,
        metavar="FILE",
        help="limits file that supplies defaults for the other options",
    )
    engine.add_argument(
        "--sliding-window",
        type=int,
        action="append",
        default=[],
        metavar="N",
        help="add a layer group with a sliding window of N tokens; repeatable",
    )
    engine.add_argument(
        "--hash-block-size",
        type=int,
        default=None,
        metavar="N",
        help="number of tokens that an entry of a row's hash_ids stands for",
    )
    add_engine_settings(parser)


def run(arguments: argparse.Namespace) -> int:
    """Simulate and print."""
    from barostat.core.errors import InputError
    from barostat.judge.experiments.service_level import carries
    from barostat.shells.cli.simulate.shown_run import document_of, run_json, show
    from barostat.shells.cli.simulate.simulated_run import simulated
    from barostat.twin.settings import would_not_start

    _refuse_together(arguments)
    if arguments.gateway is not None:
        from barostat.shells.cli.simulate import gated_run

        if arguments.until_it_breaks:
            raise InputError("is about one engine: it goes without --gateway", "--until-it-breaks")
        return gated_run.run(arguments)
    if arguments.until_it_breaks:
        return _until_it_breaks(arguments)
    if arguments.replicas != 1:
        raise InputError(
            "several replicas are what a gateway chooses among: give --gateway LIMITS",
            f"--replicas {arguments.replicas}",
        )
    found = simulated(arguments)
    if arguments.output == "json":
        print(json_text(run_json(found)))
    if arguments.output != "json" or arguments.html is not None:  # what draws costs a start
        show(document_of(found), arguments.output, arguments.html)
    return (
        0
        if carries(found.outcome, found.summary, found.slo) and not would_not_start(found.settings)
        else 1
    )


def _refuse_together(arguments: argparse.Namespace) -> None:
    """Errors: InputError for options of several engines that go without each other."""
    from barostat.core.errors import InputError

    ranks = arguments.data_parallel_size or 1
    given = [
        name
        for name, is_given in (
            (f"--data-parallel-size {ranks}", ranks > 1),
            ("--kv-link", arguments.kv_link is not None),
            ("--gateway", arguments.gateway is not None),
            ("--until-it-breaks", arguments.until_it_breaks),
        )
        if is_given
    ]
    if len(given) > 1 and given[0].startswith(("--data", "--kv")):
        raise InputError(f"is of one run of its engines: it goes without {given[1]}", given[0])


def _until_it_breaks(arguments: argparse.Namespace) -> int:
    """Where the engine that the arguments name is lost."""
    from barostat.core.errors import InputError
    from barostat.shells.cli.simulate.simulate_inputs import interval_of
    from barostat.shells.cli.simulate.simulated_run import load
    from barostat.shells.cli.simulate.until_it_breaks import find_and_print
    from barostat.twin.summary import Slo

    for name in ("steps_out", "html"):
        if getattr(arguments, name) is not None:
            raise InputError(
                "is of one run: it goes without --until-it-breaks", f"--{name.replace('_', '-')}"
            )
    if arguments.output == "html":
        raise InputError("is of one run: it goes without --until-it-breaks", "-o html")
    loaded = load(arguments)
    for note in loaded.notes:
        print(f"barostat: {note}", file=sys.stderr)
    engine, pace = loaded.engine, loaded.pace
    slo = Slo(arguments.slo_ttft or engine.slo_ttft_s, arguments.slo_itl or engine.slo_itl_s)
    return find_and_print(
        [("", engine.settings, loaded.rows, (pace, *interval_of(pace)))],
        slo,
        arguments.output,
        engine.version,
    )
