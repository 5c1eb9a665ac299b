"""The arguments of verbs that look at a running engine. Apart from what reads them, so that --help
loads nothing.
"""

from __future__ import annotations

import argparse

from barostat.catalog.polling import FOR_S
from barostat.shells.cli.cluster_flags import add_cluster_flags
from barostat.shells.cli.durations import add_interval, parse_duration

LIVE = "live:"


def add_seen_arguments(parser: argparse.ArgumentParser, *, source: bool = True) -> None:
    """Add where to look, and how long."""
    group = parser.add_argument_group("a running engine" if source else "a live workload")
    if source:
        group.add_argument(
            "--from", dest="source", metavar="URL|deploy/NAME|BUNDLE",
            help="use settings, traffic and step times of a running engine, a workload (also sts/, pod/) or a bundle",
        )  # fmt: skip
    group.add_argument(
        "--for",
        dest="for_s",
        type=parse_duration,
        default=FOR_S,
        metavar="TIME",
        help=f"observe for this long (default {FOR_S:g}s)",
    )
    add_interval(group)
    group.add_argument(
        "--log", metavar="FILE",
        help="log of a local engine; contains step times if started with --enable-logging-iteration-details",
    )  # fmt: skip
    group.add_argument(
        "--arrivals", choices=("auto", "open", "closed"), default="auto",
        help="closed: each client waits for the answer before its next request; open: no waiting; auto: by evidence, open if unclear",
    )  # fmt: skip
    group.add_argument(
        "--clients",
        type=int,
        metavar="N",
        help="number of closed-loop clients (implies --arrivals closed); with --trace they send its requests in order",
    )
    add_cluster_flags(parser, of_one=True)
