"""Records the servers, pods, log or process that the arguments name. Used by every verb that
observes engines.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from barostat.core.visible import one_line
from barostat.shells.cli.cluster_flags import wanted
from barostat.shells.cli.durations import brief
from barostat.shells.cli.gated_streams import own

if TYPE_CHECKING:
    from barostat.io.bundles.bundle_writer import Recorded
    from barostat.io.kubernetes.recording.target import Wanted
    from barostat.io.local_host.recording import Sources
    from barostat.judge.evidence.recording import Recording


def gather(arguments: argparse.Namespace, keep_logs: Path | None = None) -> Recorded:
    """Record the targets, the log and the process for `--for` seconds, with progress on stderr (in
    place on a terminal, else as lines).

    `keep_logs`: folder for the pods' logs, for a bundle.
    """
    cluster = _cluster(arguments)
    looks, terminal = bool(arguments.target or cluster) and arguments.for_s > 0, sys.stderr.isatty()
    if looks and terminal:
        print(
            f"looking for {brief(arguments.for_s)}, every {brief(arguments.interval_s)} "
            "(Ctrl-C ends it early)",
            file=sys.stderr,
        )
    told = ""

    def tell(progress: str) -> None:
        nonlocal told
        if looks and not terminal and not told:
            print(
                f"looking for {brief(arguments.for_s)}, every {brief(arguments.interval_s)}",
                file=sys.stderr,
            )
        told = progress
        if terminal:
            print(f"\r\x1b[K{one_line(progress)}", end="", file=own(sys.stderr), flush=True)

    try:
        if cluster is not None:
            from barostat.io.kubernetes.recording import live

            return live.record_pods(cluster, _options(arguments, keep_logs), on_progress=tell)
        from barostat.io.bundles.bundle_writer import Logs, Recorded
        from barostat.io.local_host.recording import record_engines

        recording = record_engines(
            _sources(arguments), arguments.for_s, arguments.interval_s, on_progress=tell
        )
        logs = Logs(
            current={recording.replicas[0].name: Path(arguments.log)}
            if arguments.log is not None
            else {}
        )
        return Recorded(recording, logs)
    finally:
        if terminal:
            print("\r\x1b[K", end="", file=own(sys.stderr), flush=True)
        elif looks and told:
            print(told, file=sys.stderr)


def gather_forever(arguments: argparse.Namespace) -> Iterator[Recording]:
    """Yield a recording of the last `--for` seconds after every `--interval`."""
    cluster = _cluster(arguments)
    if cluster is not None:
        from barostat.io.kubernetes.recording import live

        return live.follow(cluster, _options(arguments, None))
    from barostat.io.local_host.recording import follow

    return follow(_sources(arguments), arguments.for_s, arguments.interval_s)


def _cluster(arguments: argparse.Namespace) -> Wanted | None:
    """Return the target in a cluster, if it is one.

    Errors: InputError if a local file or process is given as well.
    """
    from barostat.core.errors import InputError

    found = wanted(arguments, arguments.target)
    if found is not None and (arguments.log is not None or arguments.pid is not None):
        raise InputError(
            "--log and --pid belong to an engine on this machine; pods' logs are read automatically"
        )
    return found


def _options(arguments: argparse.Namespace, keep_logs: Path | None) -> Any:
    from barostat.io.kubernetes.recording.live import Options

    return Options(
        arguments.for_s,
        arguments.interval_s,
        getattr(arguments, "probe", False),
        getattr(arguments, "exec_gpu_tools", False),
        keep_logs,
        only_sick_logs=getattr(arguments, "only_sick_logs", False),
    )


def _sources(arguments: argparse.Namespace) -> Sources:
    from barostat.io.local_host.recording import Sources

    log = Path(arguments.log) if arguments.log is not None else None
    return Sources(
        tuple(arguments.target),
        log,
        arguments.pid,
        getattr(arguments, "probe", False),
        getattr(arguments, "log_name", ""),
    )


@contextmanager
def piped_log(arguments: argparse.Namespace) -> Iterator[None]:
    """Make `--log` a file that can be read repeatedly, even if it is `-` or a pipe."""
    if arguments.log is None:
        yield
        return
    from barostat.io.input_files.piped import NAME, as_file

    given = arguments.log
    with as_file(given) as path:
        if str(path) != given:
            arguments.log, arguments.log_name = str(path), NAME
        yield
