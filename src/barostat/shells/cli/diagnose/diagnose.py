"""`barostat diagnose`: what is wrong with a vLLM, from its address, in its cluster, or from a
recorded bundle.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TextIO, cast

from barostat.catalog.polling import FLEET_FOR_S, FOR_S
from barostat.shells.cli.cluster_flags import (
    FOR_HELP,
    add_cluster_flags,
    add_local_engine_flags,
    add_targets,
)
from barostat.shells.cli.diagnose.past import add_prometheus_flags
from barostat.shells.cli.durations import add_interval, parse_duration

if TYPE_CHECKING:
    from rich.console import Console

    from barostat.core.diagnosis import ReplicaReport, Report
    from barostat.judge.diagnosis.diagnose import Examination
    from barostat.judge.evidence.recording import Recording

FORMATS = ("table", "wide", "json", "yaml", "md", "html")

EPILOG = """\
examples:
  barostat diagnose http://localhost:8000                    # a running engine; default: localhost:8000, else the current namespace
  barostat diagnose deploy/vllm -n inference                 # every replica of a Deployment
  kubectl logs --previous deploy/vllm | barostat diagnose --log -   # why it restarted
  barostat diagnose incident.tar.gz -o html > report.html    # a recorded bundle, as an HTML page for a ticket

exit codes: 0 healthy; 1 a cause is named, or harm is forecast; 2 usage error or unreadable file; 3 inconclusive; 4 unreachable or not vLLM
"""


def add_parser(verbs: Any) -> None:
    """Add the verb."""
    parser = verbs.add_parser(
        "diagnose",
        usage="%(prog)s [TARGET ...] [OPTIONS]",
        help="find out why an engine is slow or down, with the evidence",
        description=(
            "Find out why a vLLM engine is slow or down: name the cause, show the evidence for it and "
            "against other causes, and rank the next steps. Reads a running engine, a cluster, "
            "files or a bundle. Changes nothing."
        ),
        epilog=EPILOG,
    )
    add_targets(
        parser,
        "a URL (http://host:8000); deploy/NAME, sts/NAME, lws/NAME or pod/NAME; a bundle; or files "
        "of one engine: its log, metrics, nvidia-smi output, kubectl describe output",
    )
    read = parser.add_argument_group("what to read")
    read.add_argument("--bundle", metavar="PATH", help="read a bundle: a directory or a .tar.gz")
    add_local_engine_flags(read)
    read.add_argument(
        "--describe",
        metavar="FILE",
        help="read the output of `kubectl describe pod` or `kubectl get pod -o yaml`",
    )
    look = parser.add_argument_group("how long to observe")
    look.add_argument("--for", dest="for_s", type=parse_duration, metavar="TIME", help=FOR_HELP)
    add_interval(look)
    look.add_argument(
        "--watch",
        action="store_true",
        help="report after every interval until interrupted; each report covers the last --for",
    )
    shown = parser.add_argument_group("output")
    shown.add_argument(
        "-o",
        "--output",
        choices=FORMATS,
        default="table",
        help="format of the report (default table)",
    )
    shown.add_argument(
        "--no-trials",
        action="store_true",
        help="do not simulate the next steps (implied by --watch)",
    )
    shown.add_argument(
        "--exit-zero", action="store_true", help="exit 0 instead of 1 if a cause is named"
    )
    add_cluster_flags(parser)
    add_prometheus_flags(parser, selector=False).add_argument(
        "--at",
        metavar="TIME",
        help="with --prometheus: the time to diagnose, e.g. 02:10 or '90m ago' (default now)",
    )
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Gather, judge, print; answer the exit code of the report."""
    from barostat.shells.cli.diagnose.gathering import piped_log
    from barostat.shells.cli.diagnose.named_file import take_named_files, take_printed_log

    take_named_files(arguments)
    with piped_log(arguments):
        take_printed_log(arguments)
        return _run(arguments)


def _run(arguments: argparse.Namespace) -> int:
    from barostat.core.errors import InputError
    from barostat.judge.diagnosis.diagnose import examine
    from barostat.shells.cli.diagnose.gathering import gather, gather_forever
    from barostat.shells.cli.diagnose.named_file import recorded_files

    if arguments.prometheus is not None:
        from barostat.shells.cli.diagnose.past import past

        found = examine(past(arguments))
        _printer(arguments)(found)
        return _code(found.report, arguments)
    _check(arguments)
    show = _printer(arguments)
    if files := recorded_files(arguments):
        from barostat.io.bundles import bundle

        found = _examined(bundle.read(*files), arguments)
        show(found)
        return _code(found.report, arguments)
    code = 0
    if arguments.watch:
        try:
            for turn, recording in enumerate(gather_forever(arguments)):
                if turn == 0 and _is_first_look(recording):
                    print(
                        "one scrape is there; what is wrong is said from the second one on",
                        file=sys.stderr,
                    )
                    continue
                found = examine(recording)
                show(found)
                sys.stdout.flush()
                code = _code(found.report, arguments)
        except KeyboardInterrupt:
            return code
        return code
    recording = gather(arguments).recording
    if not recording.replicas:
        raise InputError("nothing to look at: give a URL, a --log or a --bundle")
    found = _examined(recording, arguments)
    show(found)
    return _code(found.report, arguments)


def _examined(recording: Recording, arguments: argparse.Namespace) -> Examination:
    """The examination, its next steps tried on the twin unless that is not wanted."""
    if arguments.no_trials:
        from barostat.judge.diagnosis.diagnose import examine

        return examine(recording)
    from barostat.judge.advice.tried_steps import advised, with_source
    from barostat.shells.cli.diagnose.cluster_limits import service_level_of
    from barostat.twin.summary import Slo

    slo = service_level_of(arguments)
    found = advised(recording, Slo(slo.ttft_p99_seconds, slo.itl_p99_seconds))
    return with_source(found, _what_if_source(arguments))


def _what_if_source(arguments: argparse.Namespace) -> tuple[str, ...]:
    """The arguments with which `what-if` looks at the same engine; empty unless there is one
    target.
    """
    from barostat.io.kubernetes.recording.target import is_workload
    from barostat.shells.cli.diagnose.named_file import recorded_files

    files = [str(path) for path in recorded_files(arguments)]
    targets = files or arguments.target
    if len(targets) != 1 or arguments.selector or arguments.all_namespaces:
        return ()
    given = (
        ("-n", arguments.namespace),
        ("--context", arguments.context),
        ("--kubeconfig", arguments.kubeconfig),
        ("--log", None if files or arguments.log == "-" else arguments.log),
    )
    flags = [word for name, value in given if value for word in (name, str(value))]
    plain = not files and "://" not in targets[0] and not is_workload(targets[0])
    return ("--from", f"http://{targets[0]}" if plain else targets[0], *flags)


def _is_first_look(recording: Recording) -> bool:
    """True if servers responded, each at most once: rates are not known yet."""
    looks = [len(replica.scrapes) for replica in recording.replicas]
    return any(looks) and max(looks) < 2


def default_for_s(arguments: argparse.Namespace) -> float:
    """Return the default observation time; shorter for a fleet."""
    return FLEET_FOR_S if arguments.all_namespaces else FOR_S


def exit_code(report: Report) -> int:
    """0 healthy, 1 any other cause or a forecast of harm, 3 unknown, 4 unreachable; of several the
    first that occurs of 1, 4, 3, 0.
    """
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
    from barostat.shells.cli.diagnose.named_file import recorded_files

    if arguments.at is not None:
        raise InputError("is an instant of the past: it goes with --prometheus URL", "--at")
    if arguments.for_s is None:
        arguments.for_s = default_for_s(arguments)
    cluster = bool(
        arguments.selector
        or arguments.all_namespaces
        or arguments.namespace
        or arguments.context
        or arguments.kubeconfig
    )
    live = bool(arguments.target) or arguments.pid is not None or cluster
    recorded = bool(recorded_files(arguments))
    if recorded and (live or arguments.watch or arguments.probe):
        raise InputError(
            "a recording (--bundle, --describe or a file) goes with no running target, --pid, "
            "--probe or --watch"
        )
    if not recorded and not live and arguments.log is None:
        from barostat.shells.cli.diagnose.default_target import fill_in

        fill_in(arguments, reads_recordings=True)
    if arguments.output == "html" and arguments.watch:
        raise InputError("-o html is one page: it goes without --watch")
    if len(arguments.target) > 1 and (arguments.log is not None or arguments.pid is not None):
        raise InputError("--log and --pid belong to one engine: give one URL with them")


def _printer(arguments: argparse.Namespace) -> Callable[[Examination], None]:
    if arguments.watch and arguments.output in ("table", "wide"):
        from barostat.shells.reports.diagnosis.watched import Watched

        return Watched(_console(), wide=arguments.output == "wide").show
    if arguments.output in ("json", "yaml"):
        return _data_printer(arguments)
    from barostat.shells.reports.diagnosis.document import report_document
    from barostat.shells.reports.sheet.forms import print_document, shown

    if arguments.output in ("html", "md"):
        return lambda found: print(
            shown(report_document(found.report, found.shown), arguments.output), end=""
        )
    console, short = _console(), arguments.output != "wide"
    return lambda found: print_document(report_document(found.report, short=short), console)


def _data_printer(arguments: argparse.Namespace) -> Callable[[Examination], None]:
    from barostat.shells.reports.diagnosis.data import report_json
    from barostat.shells.reports.json_text import finite, json_text

    if arguments.output == "json":
        indent = None if arguments.watch else 2
        return lambda found: print(json_text(report_json(found.report), indent))
    import yaml

    start = "---\n" if arguments.watch else ""
    return lambda found: print(
        start
        + yaml.safe_dump(
            finite(report_json(found.report)), sort_keys=False, allow_unicode=True, width=120
        ),
        end="",
    )


def _console() -> Console:
    """Return the console for reports: no padding unless it is a terminal, plain text with NO_COLOR."""
    from rich.console import Console

    from barostat.shells.cli.gated_streams import own
    from barostat.shells.reports.aligned import Unpadded
    from barostat.shells.reports.wrapped import terminal_width

    width = terminal_width()
    file = cast("TextIO", Unpadded(own(sys.stdout)))
    return Console(
        file=file,
        width=width,
        color_system=None if os.environ.get("NO_COLOR") else "auto",
        highlight=False,
        markup=False,
        emoji=False,
        soft_wrap=False,
    )
