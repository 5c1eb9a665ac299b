"""`barostat diagnose`: what is wrong with a vLLM, from its address, in its cluster, or from a recorded bundle."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from barostat.shells.cli.cluster_flags import FLEET_FOR_S, FOR_S, add_cluster_flags
from barostat.shells.cli.durations import interval, seconds

if TYPE_CHECKING:
    from barostat.core.diagnosis import ReplicaReport, Report
    from barostat.judge.recording import Recording

FORMATS = ("table", "wide", "json", "yaml", "md", "html")

EPILOG = """\
examples:
  barostat diagnose http://localhost:8000
  barostat diagnose http://a:8000 http://b:8000 --for 1m
  barostat diagnose http://localhost:8000 --log vllm.log --pid 4711     also reads the log and the processes of a local engine
  barostat diagnose --log vllm.log                                     an engine that never came up
  barostat diagnose http://localhost:8000 --watch -o json              one report a line, every --interval
  barostat diagnose deploy/vllm -n inference                           every replica, through the API server of the cluster
  barostat diagnose -l app=vllm -n inference ; barostat diagnose -A    by label; every vLLM pod of the cluster
  barostat diagnose --bundle incident.tar.gz -o md
  barostat diagnose http://localhost:8000 -o html > report.html        one page with drawings, to attach to a ticket

exit codes: 0 healthy, 1 a cause was named or harm is forecast, 2 usage or bad file, 3 cannot tell, 4 unreachable or not vLLM
"""


def add_parser(verbs: Any) -> None:
    """Add the verb."""
    parser = verbs.add_parser(
        "diagnose",
        help="name what is wrong, with the evidence for it and against the others",
        description="Look at running vLLM engines, at an address or in a cluster, or at a recorded bundle, and name what is wrong.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("target", nargs="*", metavar="TARGET", help="http://host:8000, or deploy/NAME, sts/NAME, pod/NAME in a cluster")
    parser.add_argument("--bundle", metavar="PATH", help="a recorded bundle: a directory or a .tar.gz")
    parser.add_argument("--for", dest="for_s", type=seconds, metavar="TIME", help="how long to look (default 30s, 5s with -A)")
    parser.add_argument(
        "--interval", dest="interval_s", type=interval, default=5.0, metavar="TIME", help="time between scrapes (default 5s)"
    )
    parser.add_argument(
        "--watch",
        action="store_true",
        help="go on until interrupted: a report after every interval, over the last --for (a table: a line, all of it when it changes)",
    )
    parser.add_argument("--log", metavar="FILE", help="log of a local engine, also of one that never came up")
    parser.add_argument("--pid", type=int, metavar="N", help="process of a local engine: reads CPU per process, memory and limits")
    parser.add_argument("--probe", action="store_true", help="may send one request of one token, to tell a hung engine from an idle one")
    add_cluster_flags(parser)
    parser.add_argument("-o", "--output", choices=FORMATS, default="table", help="form of the report (default table)")
    parser.add_argument("--exit-zero", action="store_true", help="exit 0 also when a cause was named (other codes stay)")
    parser.add_argument("--no-color", action="store_true", help="plain text (also the NO_COLOR variable)")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Gather, judge, print; answer the exit code of the report."""
    from barostat.core.errors import InputError
    from barostat.judge.diagnose import diagnose

    _check(arguments)
    show = _printer(arguments)
    if arguments.bundle is not None:
        from pathlib import Path

        from barostat.io import bundle

        recording = bundle.read(Path(arguments.bundle))
        report = diagnose(recording)
        show(report, recording)
        return _code(report, arguments)
    code = 0
    if arguments.watch:
        try:
            for recording in _watch(arguments):
                report = diagnose(recording)
                show(report, recording)
                sys.stdout.flush()
                code = _code(report, arguments)
        except KeyboardInterrupt:
            return code
        return code
    recording = _record(arguments)
    if not recording.replicas:
        raise InputError("nothing to look at: give a URL, a --log or a --bundle")
    report = diagnose(recording)
    show(report, recording)
    return _code(report, arguments)


def default_for_s(arguments: argparse.Namespace) -> float:
    """How long to look where nobody says: a fleet is answered for while one waits."""
    return FLEET_FOR_S if arguments.all_namespaces else FOR_S


def exit_code(report: Report) -> int:
    """0 healthy, 1 any other cause or a forecast of harm, 3 unknown, 4 unreachable; of several the first that occurs of 1, 4, 3, 0."""
    codes = {_replica_code(replica) for replica in report.replicas}
    return next((code for code in (1, 4, 3, 0) if code in codes), 3)


def _replica_code(replica: ReplicaReport) -> int:
    if replica.diagnosis.cause == "unknown":
        return 4 if replica.unreachable else 3
    if replica.diagnosis.cause.startswith("healthy") and replica.forecast.exhaustion_in_s is None:
        return 0
    return 1


def _code(report: Report, arguments: argparse.Namespace) -> int:
    code = exit_code(report)
    return 0 if code == 1 and arguments.exit_zero else code


def _check(arguments: argparse.Namespace) -> None:
    from barostat.core.errors import InputError

    if arguments.for_s is None:
        arguments.for_s = default_for_s(arguments)
    cluster = bool(arguments.selector or arguments.all_namespaces or arguments.namespace or arguments.context or arguments.kubeconfig)
    live = bool(arguments.target) or arguments.log is not None or arguments.pid is not None or cluster
    if arguments.bundle is not None and (live or arguments.watch or arguments.probe):
        raise InputError("--bundle is a recording: it goes with no target, --log, --pid, --probe or --watch")
    if arguments.bundle is None and not live:
        raise InputError(
            "nothing to look at: give a URL such as http://localhost:8000, deploy/NAME -n NAMESPACE, a --log FILE or a --bundle PATH"
        )
    if arguments.output == "html" and arguments.watch:
        raise InputError("-o html is one page: it goes without --watch")
    if len(arguments.target) > 1 and (arguments.log is not None or arguments.pid is not None):
        raise InputError("--log and --pid belong to one engine: give one URL with them")


def _printer(arguments: argparse.Namespace) -> Callable[[Report, Recording], None]:
    if arguments.output == "html":
        return _print_page
    show = _text_printer(arguments)
    return lambda report, _: show(report)


def _print_page(report: Report, recording: Recording) -> None:
    from barostat.judge.diagnose import shown_window
    from barostat.shells.report_html import report_html

    print(report_html(report, {replica.name: shown_window(recording, replica) for replica in recording.replicas}), end="")


def _text_printer(arguments: argparse.Namespace) -> Callable[[Report], None]:
    from barostat.shells.report_json import report_json

    output = arguments.output
    if output == "json":
        indent = None if arguments.watch else 2
        return lambda report: print(json.dumps(report_json(report), indent=indent, ensure_ascii=False))
    if output == "yaml":
        import yaml

        start = "---\n" if arguments.watch else ""
        return lambda report: print(start + yaml.safe_dump(report_json(report), sort_keys=False, allow_unicode=True, width=120), end="")
    if output == "md":
        from barostat.shells.report_markdown import report_markdown

        return lambda report: print(report_markdown(report), end="")
    from rich.console import Console

    from barostat.shells.report_text import Watched, print_report

    console = Console(no_color=True if arguments.no_color else None, highlight=False, soft_wrap=False)
    if arguments.watch:
        return Watched(console, wide=output == "wide").show
    return lambda report: print_report(report, console, wide=output == "wide")


def _record(arguments: argparse.Namespace) -> Recording:
    from barostat.shells.cli.collect import gather

    return gather(arguments)


def _watch(arguments: argparse.Namespace) -> Any:
    from barostat.shells.cli.collect import gather_forever

    return gather_forever(arguments)
