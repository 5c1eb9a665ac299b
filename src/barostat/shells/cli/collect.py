"""`barostat collect`: record what a vLLM shows, redacted, to be diagnosed elsewhere or later."""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from barostat.shells.cli.cluster_flags import FLEET_FOR_S, FOR_S, add_cluster_flags, wanted
from barostat.shells.cli.durations import brief, interval, seconds

if TYPE_CHECKING:
    from barostat.io.kubernetes.live import LiveRecording
    from barostat.io.kubernetes.target import Wanted
    from barostat.io.record import Sources
    from barostat.judge.recording import Recording

EPILOG = """\
examples:
  barostat collect http://localhost:8000 --out incident.tar.gz
  barostat collect http://a:8000 http://b:8000 --for 2m --interval 10s --out incident/
  barostat collect http://localhost:8000 --log vllm.log --pid 4711 --out incident.tar.gz
  barostat collect deploy/vllm -n inference --out incident.tar.gz     with logs, events, nodes and rollouts
  barostat diagnose --bundle incident.tar.gz

Left out or blackened: prompts and answers, tokens, passwords and API keys, variables that are not known to be harmless, callers.

exit codes: 0 written, 2 usage or something is there already, 4 unreachable or not vLLM
"""


def add_parser(verbs: Any) -> None:
    """Add the verb."""
    parser = verbs.add_parser(
        "collect",
        help="record a bundle, redacted, to be diagnosed elsewhere or later",
        description="Look at running vLLM engines for a while and write what they show as a bundle, without secrets and prompts.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("target", nargs="*", metavar="TARGET", help="http://host:8000, or deploy/NAME, sts/NAME, pod/NAME in a cluster")
    parser.add_argument("--for", dest="for_s", type=seconds, metavar="TIME", help="how long to look (default 30s, 5s with -A)")
    parser.add_argument(
        "--interval", dest="interval_s", type=interval, default=5.0, metavar="TIME", help="time between scrapes (default 5s)"
    )
    parser.add_argument("--log", metavar="FILE", help="log of a local engine, also of one that never came up")
    parser.add_argument("--pid", type=int, metavar="N", help="process of a local engine: reads CPU per process, memory and limits")
    parser.add_argument("--probe", action="store_true", help="may send one request of one token, to tell a hung engine from an idle one")
    add_cluster_flags(parser)
    parser.add_argument("--out", required=True, metavar="PATH", help="where to write it: NAME.tar.gz, or a directory")
    parser.add_argument("--force", action="store_true", help="replace what is there")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Gather, write, and say what was written and what was left out."""
    from barostat.core.errors import InputError
    from barostat.io import bundle_writer

    in_cluster = arguments.selector or arguments.all_namespaces or arguments.namespace
    if not arguments.target and arguments.log is None and arguments.pid is None and not in_cluster:
        raise InputError("nothing to look at: give a URL such as http://localhost:8000, deploy/NAME -n NAMESPACE, or a --log FILE")
    if len(arguments.target) > 1 and (arguments.log is not None or arguments.pid is not None):
        raise InputError("--log and --pid belong to one engine: give one URL with them")
    if arguments.for_s is None:
        arguments.for_s = FLEET_FOR_S if arguments.all_namespaces else FOR_S
    out = Path(arguments.out)
    bundle_writer.check(out, force=arguments.force)
    with tempfile.TemporaryDirectory(prefix="barostat-logs-") as folder:
        live = gather_with_logs(arguments, Path(folder))
        recording = live.recording
        counts = bundle_writer.write(recording, out, live.logs, force=arguments.force)
    for problem in recording.problems:
        print(f"note: {problem}", file=sys.stderr)
    for right in recording.missing:
        print(f"note: {right}", file=sys.stderr)
    held = ", ".join(f"{count} {kind.removesuffix('s') if count == 1 else kind}" for kind, count in counts.items() if kind != "bundle.yaml")
    print(f"wrote {out}: {held or 'no readings'}", file=sys.stderr)
    print("left out: prompts and answers, credentials, variables that are not known to be harmless, callers", file=sys.stderr)
    print(f"next: barostat diagnose --bundle {out}", file=sys.stderr)
    return 0


def gather(arguments: argparse.Namespace) -> Recording:
    """What the targets, the log and the process show within `--for`."""
    return gather_with_logs(arguments, None).recording


def gather_with_logs(arguments: argparse.Namespace, keep_logs: Path | None) -> LiveRecording:
    """The same with the files of its logs (those of pods in `keep_logs`), with progress on stderr where that is a terminal."""
    cluster = _cluster(arguments)
    shown = sys.stderr.isatty()
    if shown and (arguments.target or cluster) and arguments.for_s > 0:
        print(f"looking for {brief(arguments.for_s)}, every {brief(arguments.interval_s)} (Ctrl-C ends it early)", file=sys.stderr)

    def tell(progress: str) -> None:
        if shown:
            print(f"\r\x1b[K{progress}", end="", file=sys.stderr, flush=True)

    try:
        if cluster is not None:
            from barostat.io.kubernetes import live

            return live.record(cluster, _options(arguments, keep_logs), on_progress=tell)
        from barostat.io.bundle_writer import Logs
        from barostat.io.kubernetes.live import LiveRecording
        from barostat.io.record import record

        recording = record(_sources(arguments), arguments.for_s, arguments.interval_s, on_progress=tell)
        logs = Logs(current={recording.replicas[0].name: Path(arguments.log)} if arguments.log is not None else {})
        return LiveRecording(recording, logs)
    finally:
        if shown:
            print("\r\x1b[K", end="", file=sys.stderr, flush=True)


def gather_forever(arguments: argparse.Namespace) -> Iterator[Recording]:
    """A recording after every `--interval`, over the last `--for`."""
    cluster = _cluster(arguments)
    if cluster is not None:
        from barostat.io.kubernetes import live

        return live.follow(cluster, _options(arguments, None))
    from barostat.io.record import follow

    return follow(_sources(arguments), arguments.for_s, arguments.interval_s)


def _cluster(arguments: argparse.Namespace) -> Wanted | None:
    """The target in a cluster, if it is one.

    Errors: InputError where a file or process of this machine is to be read beside it.
    """
    from barostat.core.errors import InputError

    found = wanted(arguments, arguments.target)
    if found is not None and (arguments.log is not None or arguments.pid is not None):
        raise InputError("--log and --pid belong to an engine on this machine; the logs of pods are read by themselves")
    return found


def _options(arguments: argparse.Namespace, keep_logs: Path | None) -> Any:
    from barostat.io.kubernetes.live import Options

    return Options(
        arguments.for_s, arguments.interval_s, getattr(arguments, "probe", False), getattr(arguments, "exec_gpu_tools", False), keep_logs
    )


def _sources(arguments: argparse.Namespace) -> Sources:
    from barostat.io.record import Sources

    log = Path(arguments.log) if arguments.log is not None else None
    return Sources(tuple(arguments.target), log, arguments.pid, getattr(arguments, "probe", False))
