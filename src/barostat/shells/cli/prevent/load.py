"""`barostat load`: requests for any OpenAI-compatible engine, from a workload, a trace or what a
limits file allows.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

from barostat.shells.cli.durations import parse_duration, seconds, some_time

EPILOG = """\
examples:
  barostat load http://localhost:8000 --workload poisson:rate=4,input=1000,output=200 --for 60s
  barostat load http://localhost:8000 --trace requests.jsonl --scale-rate 2 --for 5m -o html > load.html
  barostat load http://localhost:8000 --workload poisson:input=512,output=128 --concurrency 32 --for 60s   # 32 closed-loop clients
  barostat load http://localhost:8000 --limits limits.yaml --for 60s          # the worst mix that the limits allow

Prompts are random token ids (random words with chat); they share no prefix unless the workload says so. Latencies are measured
from the time at which a request was due. Ctrl-C stops immediately and prints the results so far.

exit codes: 0 no errors; 1 errors, or the sender did not keep its schedule; 2 usage error; 4 the server failed; 5 refused: the engine has
live traffic; 130 interrupted
"""


def add_parser(verbs: Any) -> None:
    """Add the verb."""
    parser = verbs.add_parser(
        "load",
        help="send requests to an engine and measure TTFT, ITL, throughput and rejections",
        description=(
            "Send requests to any OpenAI-compatible engine, in open or closed loop, and measure every "
            "stream."
        ),
        epilog=EPILOG,
    )
    add_target_arguments(parser)
    what = parser.add_argument_group("traffic (one of)").add_mutually_exclusive_group()
    what.add_argument(
        "--workload",
        metavar="SPEC",
        help="poisson, bursty, long-prompts, sessions or closed, then :name=number,... , e.g. "
        "poisson:rate=4,input=1000,output=200 (requests per second, tokens)",
    )
    what.add_argument(
        "--trace",
        type=Path,
        metavar="FILE",
        help="request rows (JSONL, CSV; see `simulate --help`) or a published trace; may be gzipped",
    )
    what.add_argument(
        "--limits",
        type=Path,
        metavar="FILE",
        help="keep as many requests of the maximum length running as these limits allow",
    )
    how = parser.add_argument_group("rate and duration")
    loop = how.add_mutually_exclusive_group()
    loop.add_argument(
        "--rate",
        type=float,
        metavar="R",
        help="open loop at R requests per second on average, with the arrival pattern of the traffic",
    )
    loop.add_argument(
        "--concurrency",
        type=int,
        metavar="C",
        help="closed loop: C clients, each with one request at a time",
    )
    loop.add_argument(
        "--scale-rate", type=float, metavar="X", help="open loop at X times the rate of the traffic"
    )
    how.add_argument(
        "--for",
        "--duration",
        dest="for_s",
        type=some_time,
        metavar="D",
        help="stop sending after this time, e.g. 60s or 5m",
    )
    how.add_argument(
        "--drain",
        type=parse_duration,
        default=60.0,
        metavar="D",
        help="maximum wait for open requests at the end (default 60s)",
    )
    how.add_argument(
        "--silence",
        type=some_time,
        default=300.0,
        metavar="D",
        help="end the run if no response arrives for this long (default 5m)",
    )
    how.add_argument(
        "--seed",
        type=int,
        default=0,
        metavar="N",
        help="seed of the generated workload (default 0)",
    )
    slo = parser.add_argument_group("SLO")
    slo.add_argument(
        "--slo-ttft",
        type=seconds,
        metavar="S",
        help="a good request has its first token within S seconds",
    )
    slo.add_argument(
        "--slo-itl",
        type=seconds,
        metavar="S",
        help="a good request has at most S seconds between tokens, on average",
    )
    parser.add_argument(
        "-o",
        "--output",
        choices=("table", "json", "html"),
        default="table",
        help="format (default table)",
    )
    parser.set_defaults(run=run)


def add_target_arguments(parser: argparse.ArgumentParser) -> None:
    """Add what is aimed at."""
    parser.add_argument("target", metavar="URL", help="the engine: http://host:8000")
    parser.add_argument(
        "--model",
        metavar="NAME",
        help="model to use if the server has several (default: the first)",
    )
    parser.add_argument(
        "--api",
        choices=("completions", "chat"),
        help="API to use (default: completions if the server accepts token ids, else chat)",
    )
    parser.add_argument(
        "--key-file", type=Path, metavar="FILE", help="file with the server's API key"
    )
    parser.add_argument(
        "--allow-live-traffic",
        action="store_true",
        help="run even if the server has live traffic; the test slows it down",
    )
    parser.add_argument(
        "--even-though-it-serves",
        dest="allow_live_traffic",
        action="store_true",
        help=argparse.SUPPRESS,
    )


def run(arguments: argparse.Namespace) -> int:
    """Send, print; answer the exit code."""
    from barostat.judge.load_test.figures import figures
    from barostat.load.process import carried_out, understood
    from barostat.load.run import RunBounds
    from barostat.shells.cli.prevent.load_inputs import aimed, refused, said_on_the_way, traffic_of
    from barostat.shells.reports.load.data import load_json
    from barostat.shells.reports.load.document import load_document
    from barostat.shells.reports.sheet.forms import shown
    from barostat.twin.summary import Slo

    traffic, slo, notes = traffic_of(arguments)
    target = aimed(arguments)
    if target.serving:
        return refused(target)
    target = understood(target)
    for note in (*notes, *target.notes):
        print(f"barostat: {note}", file=sys.stderr)
    print(f"barostat: {target.named}: {traffic.description}", file=sys.stderr)
    with said_on_the_way() as progress:
        kept = carried_out(
            target,
            traffic,
            RunBounds(arguments.for_s, arguments.drain, arguments.silence),
            progress,
        )
    asked = Slo(arguments.slo_ttft or slo.ttft_s, arguments.slo_itl or slo.itl_s)
    found = figures(kept, asked)
    if arguments.output == "json":
        import json

        json.dump(
            load_json(target.named, traffic.description, found, asked, (*notes, *target.notes)),
            sys.stdout,
            indent=2,
        )
        sys.stdout.write("\n")
    else:
        report = load_document(target.named, traffic.description, found, asked)
        sys.stdout.write(shown(report, arguments.output))
    if found.interrupted:
        return 130
    return 1 if found.errors or found.keeping.trouble else 0
