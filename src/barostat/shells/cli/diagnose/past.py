"""The flags that name a Prometheus, and the recording of what it remembers."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from barostat.core.visible import one_line
from barostat.shells.cli.gated_streams import own

if TYPE_CHECKING:
    from barostat.io.prometheus.access import PrometheusAccess
    from barostat.judge.evidence.recording import Recording

FOR_S = 600.0
"""Default window before the instant: rates need more scrapes than a live run's 30 seconds."""


def add_prometheus_flags(
    parser: argparse.ArgumentParser,
    *,
    selector: bool = True,
    title: str = "history from Prometheus, Thanos, Mimir or VictoriaMetrics (read-only)",
) -> argparse._ArgumentGroup:
    """Add them and return their group. `selector`: not where the verb has such a flag already."""
    group = parser.add_argument_group(title)
    group.add_argument(
        "--prometheus", metavar="URL", help="base URL of the HTTP API, including any path prefix"
    )
    group.add_argument(
        "--prometheus-auth",
        type=Path,
        metavar="FILE",
        help="file with one line: user:password, or a bearer token",
    )
    group.add_argument(
        "--prometheus-ca",
        type=Path,
        metavar="FILE",
        help="CA certificates (PEM) to verify the server with",
    )
    group.add_argument(
        "--prometheus-tenant",
        default="",
        metavar="ID",
        help="tenant to query: Mimir's X-Scope-OrgID or the Thanos tenant",
    )
    if selector:
        group.add_argument(
            "-l",
            "--selector",
            metavar="MATCHERS",
            help='which series: namespace="x",pod=~"vllm-.*"',
        )
    return group


def server_of(arguments: argparse.Namespace) -> PrometheusAccess:
    """Where the Prometheus is, with what lets one in.

    Errors: InputError.
    """
    from barostat.io.prometheus.access import access

    return access(
        arguments.prometheus,
        arguments.prometheus_auth,
        arguments.prometheus_ca,
        arguments.prometheus_tenant,
    )


def past(arguments: argparse.Namespace) -> Recording:
    """What Prometheus remembers of the time up to `--at`, with progress on stderr where that is a
    terminal.

    Errors: InputError for flags that do not go with it; OutsideError as the server's.
    """
    from barostat.core.errors import InputError
    from barostat.io.prometheus.client import Prometheus
    from barostat.io.prometheus.recording import Moment, remembered
    from barostat.io.prometheus.selector import matchers
    from barostat.shells.cli.instants import parse_instant

    live = (
        "bundle",
        "log",
        "pid",
        "probe",
        "watch",
        "all_namespaces",
        "context",
        "kubeconfig",
        "exec_gpu_tools",
    )
    if odd := [name for name in live if getattr(arguments, name, None)]:
        raise InputError(
            "looks at the present; it does not go with --prometheus",
            f"--{odd[0].replace('_', '-')}",
        )
    now = time.time()
    try:
        at = parse_instant(arguments.at, now) if arguments.at is not None else now
    except argparse.ArgumentTypeError as error:
        raise InputError(str(error), "--at") from None
    for_s = arguments.for_s if arguments.for_s is not None else FOR_S
    if for_s < 1:
        raise InputError(
            "one look at a time that is over shows nothing: give --for 10m or so", "--for"
        )
    chosen = matchers(arguments.selector or "", arguments.namespace or "", arguments.target)
    server = Prometheus(server_of(arguments))

    async def ask(tell: Callable[[str], None]) -> Recording:
        try:
            return await remembered(server, Moment(at, for_s, chosen), tell)
        finally:
            await server.close()

    import asyncio

    with progress() as tell:
        return asyncio.run(ask(tell))


@contextmanager
def progress() -> Iterator[Callable[[str], None]]:
    """Yield a function that shows progress on stderr in place; it does nothing unless stderr is a
    terminal.
    """
    if not sys.stderr.isatty():
        yield lambda _: None
        return
    try:
        yield lambda words: print(
            f"\r\x1b[K{one_line(words)}", end="", file=own(sys.stderr), flush=True
        )
    finally:
        print("\r\x1b[K", end="", file=own(sys.stderr), flush=True)
