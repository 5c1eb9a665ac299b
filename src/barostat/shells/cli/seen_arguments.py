"""The arguments of verbs that look at a running engine. Apart from what reads them, so that --help loads nothing."""

from __future__ import annotations

import argparse

from barostat.shells.cli.durations import seconds

LIVE = "live:"


def add_seen_arguments(parser: argparse.ArgumentParser, *, source: bool = True) -> None:
    """Add where to look, and how long."""
    group = parser.add_argument_group("a running engine" if source else "a live workload")
    if source:
        group.add_argument(
            "--from", dest="source", metavar="URL|BUNDLE", help="today's configuration, traffic and pace, from a running engine or a bundle"
        )
    group.add_argument("--for", dest="for_s", type=seconds, default=30.0, metavar="TIME", help="how long to look (default 30s)")
    group.add_argument("--interval", dest="interval_s", type=seconds, default=5.0, metavar="TIME", help="time between scrapes (default 5s)")
    group.add_argument("--log", metavar="FILE", help="log of a local engine, for what its metrics do not tell")
    group.add_argument(
        "--arrivals", choices=("auto", "open", "closed"), default="auto",
        help="whether clients wait for their answers before they ask again (closed) or not (open); auto: as the load's steadiness says",
    )  # fmt: skip
    group.add_argument("--clients", type=int, metavar="N", help="so many clients wait for their answers (as --arrivals closed)")
