"""The arguments of a load -> what is aimed at, and what is sent."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from barostat.catalog.settings.defaults import BLOCK_TOKENS
from barostat.core.errors import InputError
from barostat.judge.load_test.traffic import (
    Traffic,
    allowed,
    at_rate,
    faster,
    first_at_once,
    with_clients,
    worst_mix,
)
from barostat.load.process import looked_at
from barostat.load.target import Target
from barostat.shells.cli.gated_streams import own
from barostat.twin.request import Row
from barostat.twin.summary import Slo

REFUSED = 5
_MOST_CLIENTS = 60_000
Progress = Callable[[int, int, int], None]


def traffic_of(arguments: argparse.Namespace) -> tuple[Traffic, Slo, tuple[str, ...]]:
    """What is sent, the service level that goes with it, and what is worth saying.

    Errors: InputError naming the argument.
    """
    _check(arguments)
    slo = Slo()
    notes: tuple[str, ...] = ()
    if arguments.limits is not None:
        from barostat.io.input_files.limits_file import load

        limits = load(arguments.limits)
        slo = Slo(limits.spec.slo.ttft_p99_seconds, limits.spec.slo.itl_p99_seconds)
        traffic = worst_mix(allowed(limits, str(arguments.limits)))
        if arguments.rate is not None or arguments.scale_rate is not None:
            raise InputError(
                "the worst mix of a limits file is a closed loop; give --concurrency, or a "
                "--workload",
                "--limits",
            )
    else:
        if arguments.workload is None and arguments.trace is None:
            raise InputError(
                "which traffic? give --workload poisson:rate=4,input=1000,output=200, --trace FILE "
                "or --limits FILE",
                "load",
            )
        rows, notes = rows_of(arguments.workload, arguments.trace, arguments.seed, arguments.for_s)
        traffic = first_at_once(Traffic(tuple(rows), 0, arguments.workload or arguments.trace.name))
    return _paced(traffic, arguments), slo, notes


def _paced(traffic: Traffic, arguments: argparse.Namespace) -> Traffic:
    if arguments.concurrency is not None:
        traffic = with_clients(traffic, arguments.concurrency)
        return replace(
            traffic, description=f"{traffic.description}, {arguments.concurrency} clients"
        )
    if arguments.rate is not None:
        traffic = at_rate(traffic, arguments.rate)
    elif arguments.scale_rate is not None:
        traffic = faster(traffic, arguments.scale_rate)
    rate = traffic.rate_per_s
    return (
        replace(traffic, description=f"{traffic.description}, {rate:.4g} requests/s on average")
        if rate is not None
        else traffic
    )


def rows_of(
    workload: str | None, trace: Path | None, seed: int, for_s: float | None
) -> tuple[list[Row], tuple[str, ...]]:
    """The rows of a workload or a trace. A workload that says nothing of minutes is as long as the
    load. Errors: InputError.
    """
    if workload is not None:
        from barostat.twin.workload.made import make, parse_spec

        spec = parse_spec(workload)
        if for_s is not None and "minutes=" not in workload and spec.kind != "closed":
            spec = replace(spec, minutes=for_s / 60)
        rows = make(spec, seed)
        if not rows:
            raise InputError(
                "holds no request: make it longer, or its rate higher", f"--workload {workload}"
            )
        return rows, ()
    from barostat.io.input_files.requests_file import read_requests

    assert trace is not None
    rows, problems = read_requests(trace, BLOCK_TOKENS)
    return rows, tuple(problems)


def _check(arguments: argparse.Namespace) -> None:
    for name, least, most in (
        ("rate", 1e-4, 1e5),
        ("scale_rate", 1e-3, 1e3),
        ("slo_ttft", 1e-4, 1e5),
        ("slo_itl", 1e-5, 1e4),
    ):
        value = getattr(arguments, name)
        if value is not None and not least <= value <= most:
            raise InputError(
                f"must be {least:g} to {most:g}, not {value:g}", f"--{name.replace('_', '-')}"
            )
    if arguments.concurrency is not None and not 1 <= arguments.concurrency <= _MOST_CLIENTS:
        raise InputError(
            f"must be 1 to {_MOST_CLIENTS:,}, not {arguments.concurrency}", "--concurrency"
        )
    if arguments.limits is not None and arguments.for_s is None:
        arguments.for_s = 60.0
    if arguments.for_s is not None and arguments.for_s <= 0:
        raise InputError("must be above 0", "--for")


def aimed(arguments: argparse.Namespace) -> Target:
    """The target as it answers. Errors: InputError, OutsideError."""
    from barostat.io.engine_http.address import address

    key = ""
    if arguments.key_file is not None:
        try:
            key = arguments.key_file.read_text(encoding="utf-8").strip()
        except (OSError, UnicodeDecodeError) as error:
            raise InputError(
                getattr(error, "strerror", None) or "is no text", str(arguments.key_file)
            ) from None
        if not key.isascii() or not key.isprintable() or " " in key:
            raise InputError(
                "holds no key: one line without blanks is expected", str(arguments.key_file)
            )
    return looked_at(
        address(arguments.target),
        api=arguments.api,
        model=arguments.model,
        key=key,
        aside=arguments.allow_live_traffic,
    )


def refused(target: Target) -> int:
    """Says why it is not aimed at; the exit code."""
    print(
        f"barostat: {target.where.base} has live traffic: {target.serving}. A load test "
        "would push its requests out of the cache. "
        "Use a replica without traffic, or --allow-live-traffic",
        file=sys.stderr,
    )
    return REFUSED


@contextmanager
def said_on_the_way(what: str = "") -> Iterator[Progress | None]:
    """Yield a progress display, on a terminal only; it is erased at the end."""
    if not sys.stderr.isatty():
        yield None
        return

    def progress(sent: int, ended: int, under_way: int) -> None:
        print(
            f"\r\x1b[K{what}{sent:,} sent, {ended:,} ended, {under_way:,} under way",
            end="",
            file=own(sys.stderr),
            flush=True,
        )

    try:
        yield progress
    finally:
        print("\r\x1b[K", end="", file=own(sys.stderr), flush=True)
