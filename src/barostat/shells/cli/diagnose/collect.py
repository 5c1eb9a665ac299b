"""`barostat collect`: record what a vLLM shows, redacted, to be diagnosed elsewhere or later."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

from barostat.catalog.polling import FLEET_FOR_S, FOR_S
from barostat.shells.cli.cluster_flags import (
    FOR_HELP,
    add_cluster_flags,
    add_local_engine_flags,
    add_targets,
)
from barostat.shells.cli.durations import add_interval, parse_duration

EPILOG = """\
examples:
  barostat collect http://localhost:8000 --out incident.tar.gz
  barostat collect deploy/vllm -n inference --out incident.tar.gz   # with logs, events, nodes and rollouts
  barostat diagnose incident.tar.gz                                 # judge it later, anywhere

Removed or redacted: prompts and answers, tokens, passwords, API keys, callers, and environment variables not known to be harmless.

exit codes: 0 written; 2 usage error, or the output exists; 4 unreachable or not vLLM
"""


def add_parser(verbs: Any) -> None:
    """Add the verb."""
    parser = verbs.add_parser(
        "collect",
        usage="%(prog)s [TARGET ...] --out PATH [OPTIONS]",
        help="record a redacted bundle to diagnose elsewhere or later",
        description=(
            "Observe running engines and write metrics, logs and cluster objects to a bundle, "
            "without prompts and secrets. Changes nothing on the engines."
        ),
        epilog=EPILOG,
    )
    add_targets(parser)
    out = parser.add_argument_group("output")
    out.add_argument(
        "--out",
        required=True,
        metavar="PATH",
        help="write the bundle to this NAME.tar.gz or directory (required)",
    )
    out.add_argument("--force", action="store_true", help="overwrite an existing bundle")
    look = parser.add_argument_group("how long to observe")
    look.add_argument("--for", dest="for_s", type=parse_duration, metavar="TIME", help=FOR_HELP)
    add_interval(look)
    add_local_engine_flags(parser.add_argument_group("engine on this machine"))
    add_cluster_flags(parser)
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Gather, write, and say what was written and what was left out."""
    from barostat.shells.cli.diagnose.gathering import piped_log

    with piped_log(arguments):
        return _run(arguments)


def _run(arguments: argparse.Namespace) -> int:
    import tempfile

    from barostat.core.errors import InputError
    from barostat.io.bundles import bundle_writer
    from barostat.shells.cli.diagnose.gathering import gather

    in_cluster = arguments.selector or arguments.all_namespaces or arguments.namespace
    if not arguments.target and arguments.log is None and arguments.pid is None and not in_cluster:
        raise InputError(
            "nothing to look at: give a URL such as http://localhost:8000, deploy/NAME -n "
            "NAMESPACE, or a --log FILE"
        )
    if len(arguments.target) > 1 and (arguments.log is not None or arguments.pid is not None):
        raise InputError("--log and --pid belong to one engine: give one URL with them")
    if arguments.for_s is None:
        arguments.for_s = FLEET_FOR_S if arguments.all_namespaces else FOR_S
    out = Path(arguments.out)
    bundle_writer.check(out, force=arguments.force)
    with tempfile.TemporaryDirectory(prefix="barostat-logs-") as folder:
        recorded = gather(arguments, Path(folder))
        recording = recorded.recording
        counts = bundle_writer.write(recording, out, recorded.logs, force=arguments.force)
    for problem in recording.problems:
        print(f"note: {problem}", file=sys.stderr)
    for right in recording.missing:
        print(f"note: {right}", file=sys.stderr)
    held = ", ".join(
        f"{count} {kind.removesuffix('s') if count == 1 else kind}"
        for kind, count in counts.items()
        if kind != "bundle.yaml"
    )
    print(f"wrote {out}: {held or 'no readings'}", file=sys.stderr)
    print(
        "left out: prompts and answers, credentials, variables that are not known to be "
        "harmless, callers",
        file=sys.stderr,
    )
    print(f"next: barostat diagnose --bundle {out}", file=sys.stderr)
    return 0
