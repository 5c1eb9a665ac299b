"""`barostat top`: the fleet live in the terminal, a row for each replica with what it holds, does,
waits for, and what is wrong.
"""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING, Any

from barostat.catalog.polling import FOR_S, INTERVAL_S
from barostat.shells.cli.cluster_flags import add_cluster_flags, add_targets
from barostat.shells.cli.durations import interval, parse_duration

if TYPE_CHECKING:
    from collections.abc import Iterator

    from barostat.shells.reports.live.frame import Fleet

NEXT_LOOK_S = 1.0
"""Between the two looks of --once, where no --interval is given."""

EPILOG = """\
examples:
  barostat top                                         # localhost:8000, else the current namespace
  barostat top http://a:8000 http://b:8000             # two engines
  barostat top deploy/vllm -n inference                # the replicas of a workload, including new ones
  barostat top -A --interval 10s                       # every vLLM pod of the cluster
  barostat top deploy/vllm --once                      # one frame as plain lines, for a script or a ticket
  barostat top deploy/vllm | tee pressure.log          # plain lines with a timestamp

keys: q quit, < > or arrows sort, r reverse, / filter, up and down select, space pause, ? help

exit codes: 0 ended by a person or --once; 2 usage error; 4 nothing answers; 143 ended by SIGTERM
"""


def add_parser(verbs: Any) -> None:
    """Add the verb."""
    parser = verbs.add_parser(
        "top",
        help=(
            "live view in the terminal: KV usage, queue, preemptions, latency and verdict of "
            "each replica"
        ),
        description=(
            "Show running vLLM engines live, one row each, with the verdict and how long it has "
            "lasted."
        ),
        epilog=EPILOG,
    )
    add_targets(parser)
    parser.add_argument(
        "--interval",
        dest="interval_s",
        type=interval,
        metavar="TIME",
        help=f"time between two samples (default {INTERVAL_S:g}s)",
    )
    parser.add_argument(
        "--for",
        dest="for_s",
        type=parse_duration,
        default=FOR_S,
        metavar="TIME",
        help=f"length of the window that a verdict is based on (default {FOR_S:g}s)",
    )
    parser.add_argument(
        "--once",
        action="store_true",
        help="take two samples, print one frame as plain lines, and exit",
    )
    add_cluster_flags(parser)
    parser.set_defaults(run=run, log=None, pid=None, bundle=None)


def run(arguments: argparse.Namespace) -> int:
    """Show until told to leave; answer the exit code."""
    if not (
        arguments.target
        or arguments.selector
        or arguments.all_namespaces
        or arguments.namespace
        or arguments.context
    ):
        from barostat.shells.cli.diagnose.default_target import fill_in

        fill_in(arguments, reads_recordings=False)
    if arguments.interval_s is None:
        arguments.interval_s = NEXT_LOOK_S if arguments.once else INTERVAL_S
    if arguments.once or not sys.stdout.isatty():
        return _lines(arguments)
    from barostat.shells.cli.diagnose.top_screen import show

    return show(arguments, fleets(arguments))


def fleets(arguments: argparse.Namespace) -> Iterator[Fleet]:
    """The fleet after every look; of the first one only what needs no second.

    Errors: as `diagnose --watch`, at the first look.
    """
    import time

    from barostat.judge.diagnosis.diagnose import examine
    from barostat.shells.cli.diagnose.gathering import gather_forever
    from barostat.shells.reports.live.frame import Fleet
    from barostat.shells.reports.live.rows import Since

    since = Since()
    named = [
        *arguments.target,
        *([f"-l {arguments.selector}"] if arguments.selector else []),
        *(["-A"] if arguments.all_namespaces else []),
    ]
    target = " ".join(named) + (f" -n {arguments.namespace}" if arguments.namespace else "")
    for turn, recording in enumerate(gather_forever(arguments)):
        rows = since.taken(examine(recording), first=turn == 0)
        yield Fleet(target.strip(), rows, recording.at, time.time(), arguments.interval_s)


def _lines(arguments: argparse.Namespace) -> int:
    """The rows as plain lines after every interval, or once."""
    from barostat.shells.reports.live.frame import plain
    from barostat.shells.reports.live.view import View

    try:
        for turn, fleet in enumerate(fleets(arguments)):
            if turn == 0:
                continue
            print("\n".join(plain(fleet, View(), heading=turn == 1)), flush=True)
            if arguments.once:
                break
    except KeyboardInterrupt:
        return 0
    return 0
