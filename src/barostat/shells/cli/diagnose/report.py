"""`barostat report`: the capacity review of weeks and the post-mortem of some hours from Prometheus,
or the post-mortem of a recorded bundle.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from barostat.shells.cli.cluster_flags import add_targets
from barostat.shells.cli.diagnose.past import add_prometheus_flags
from barostat.shells.cli.durations import past_span

if TYPE_CHECKING:
    from barostat.shells.reports.sheet.blocks import Document

SINCE_S = 30 * 86_400.0

EPILOG = """\
examples:
  barostat report incident.tar.gz                                  # post-mortem of a recorded bundle
  barostat report vllm.log describe.txt -o html > post-mortem.html # post-mortem from files of one engine
  barostat report --prometheus http://prometheus:9090              # capacity review of the last 30 days
  barostat report --prometheus http://prometheus:9090 --since 90d -o html > review.html
  barostat report deploy/vllm -n inference --prometheus http://prometheus:9090 --cards-per-replica 2
  barostat report --prometheus http://prometheus:9090 --from 02:00 --to 04:00      # post-mortem of last night
  barostat report --prometheus https://mimir/prometheus --prometheus-tenant team --prometheus-auth token.txt -l 'namespace="inference"'

exit codes: 0 the load fits, or nothing happened; 1 the load does not fit, or an incident was found; 2 usage error or invalid
file; 3 inconclusive; 4 Prometheus did not answer
"""


def add_parser(verbs: Any) -> None:
    """Add the verb."""
    parser = verbs.add_parser(
        "report",
        help=("write a capacity review or a post-mortem, from Prometheus or from a bundle"),
        description="Write a capacity review of the last 30 days from Prometheus; with --from and --to, the "
        "post-mortem of that time; for a bundle, its post-mortem.",
        epilog=EPILOG,
    )
    add_targets(
        parser,
        "a bundle, or files of one engine; with --prometheus: deploy/, sts/, lws/ or "
        "pod/NAME, found by the names of its pods",
    )
    parser.add_argument(
        "-n", "--namespace", metavar="NS", help="select only series of this namespace"
    )
    parser.add_argument(
        "--since",
        dest="since_s",
        type=past_span,
        metavar="TIME",
        help="review: how far back (default 30d)",
    )
    parser.add_argument(
        "--from",
        dest="from_at",
        metavar="TIME",
        help="post-mortem: begin, e.g. 02:00 or 2026-11-23T02:00Z",
    )
    parser.add_argument("--to", dest="to_at", metavar="TIME", help="post-mortem: end (default now)")
    parser.add_argument(
        "--cards-per-replica",
        type=float,
        metavar="N",
        help="review: cards per replica, if it cannot be determined",
    )
    add_prometheus_flags(parser)
    parser.add_argument(
        "-o",
        "--output",
        choices=("md", "html", "json"),
        default="md",
        help="format (default md)",
    )
    parser.add_argument("--exit-zero", action="store_true", help="exit 0 instead of 1")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Ask, judge, print; answer the exit code."""
    from barostat.core.errors import InputError
    from barostat.io.prometheus.selector import matchers
    from barostat.shells.cli.diagnose.named_file import is_file_word

    if arguments.target and all(map(is_file_word, arguments.target)):
        return _of_files(arguments)
    if arguments.prometheus is None:
        raise InputError(
            "say what to report on: --prometheus http://prometheus:9090, or a recorded bundle such "
            "as incident.tar.gz",
            "report",
        )
    if arguments.cards_per_replica is not None and arguments.cards_per_replica <= 0:
        raise InputError("is a number above 0", "--cards-per-replica")
    chosen = matchers(arguments.selector or "", arguments.namespace or "", arguments.target)
    now = time.time()
    if arguments.from_at is None and arguments.to_at is None:
        from barostat.shells.cli.diagnose.report_review import reviewed

        return _print(arguments, *reviewed(arguments, chosen, arguments.since_s or SINCE_S, now))
    if arguments.since_s is not None:
        raise InputError("is the review's; a post-mortem has --from and --to", "--since")
    from barostat.shells.cli.diagnose.report_past import past_of, span_of

    return _print(arguments, *past_of(arguments, chosen, *span_of(arguments, now)))


def _of_files(arguments: argparse.Namespace) -> int:
    """The post-mortem of a bundle.

    Errors: InputError for what belongs to Prometheus.
    """
    from barostat.core.errors import InputError
    from barostat.shells.cli.diagnose.report_past import past_of_files

    for name, flag in (
        ("prometheus", "--prometheus"),
        ("since_s", "--since"),
        ("from_at", "--from"),
        ("to_at", "--to"),
        ("cards_per_replica", "--cards-per-replica"),
        ("namespace", "--namespace"),
        ("selector", "--selector"),
    ):
        if getattr(arguments, name) is not None:
            raise InputError("belongs to --prometheus: a bundle is reported on whole", flag)
    return _print(arguments, *past_of_files([Path(word) for word in arguments.target]))


def _print(arguments: argparse.Namespace, report: Document, data: dict[str, Any]) -> int:
    from barostat.shells.reports.sheet.forms import shown

    if arguments.output == "json":
        print(json.dumps(data, indent=2, ensure_ascii=False))
    else:
        sys.stdout.write(shown(report, arguments.output))
    severity = report.verdict.severity if report.verdict is not None else "none"
    code = {"critical": 1, "warning": 1, "info": 3}.get(severity, 0)
    return 0 if code == 1 and arguments.exit_zero else code
