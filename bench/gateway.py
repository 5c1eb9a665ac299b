"""What the gateway costs: ours beside haproxy, nginx, Envoy, vllm-router, two proxies in Python
(bare, aiohttp), LiteLLM's, and none.

    make compiled gateway-peers && python bench/gateway.py [--only barostat,nginx] [--rounds 3]
    [--seconds 2] [--json FILE]

One upstream in C for all (gateway_peers/upstream.c), on the core of the load; each proxy on a core
of its own, the others stopped meanwhile. Rounds are interleaved, medians told. Ours runs with every
feature on, its hot half compiled; `pure` is the same without that. Exits 1 where ours misses what
it promises; a peer that cannot run is said. `bare` (gateway_peers/bare_proxy.py) passes bytes on
with the same libraries and decides nothing: how fast this machine runs Python, of which the
promises in absolute figures know nothing. A distribution's Python may be a fifth quicker: `make
compiled COMPILED_PYTHON=/usr/bin/python3.11`.

    requests/s   as many as go through on 64 connections, bodies of 1 kB, answers of 1 kB (wrk)
    cpu us       the proxy's processor time for one of them (/proc/PID/stat)
    +p50 +p99    milliseconds above direct, at 2,000 requests/s at fixed instants (LiteLLM: 20/s), from the instant that was meant
    chunks/s     events through 512 streams that are sent 82,000 a second; `gap p99`: between two events of one stream, ms
    2k MB        resident memory with 2,000 streams open, 10,000 events/s in all
    128k us      processor time for a request with a body of 128 kB
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import signal
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from bench.gateway_peers.measure import LOAD_CORE, PROXY_CORE, Served, built, chat, client, wrk
from bench.gateway_peers.proxies import COMPILED, Proxy, environment, proxies
from dev import setup_gateway_peers

UPSTREAM_PORT, FIRST_PORT = 21600, 21610
STREAMS, GAP_US, OPEN_STREAMS, OPEN_GAP_US = 512, 6240, 2000, 200_000
COLUMNS = (
    "requests/s",
    "cpu us",
    "+p50",
    "+p99",
    "chunks/s",
    "cpu us/chunk",
    "gap p99",
    "2k MB",
    "128k us",
    "failed",
)
_WHICH = "import platform; print(platform.python_version(), platform.python_compiler(), sep=', ')"
Row = dict[str, float]


def promises(ours: Row, envoy: Row | None) -> Iterator[tuple[str, bool]]:
    """What ours has to keep, and whether it did."""
    least = max(25_000.0, envoy["requests/s"] if envoy else 0.0)
    yield f"at least {least:,.0f} requests/s (25,000, and Envoy's)", ours["requests/s"] >= least
    yield "at most 40 us of processor for a request", ours["cpu us"] <= 40
    yield "p50 at most 0.12 ms above direct", ours["+p50"] <= 0.12
    yield "p99 at most 0.4 ms above direct", ours["+p99"] <= 0.4
    yield "80,000 chunks/s at 512 streams", ours["chunks/s"] >= 80_000
    yield "gap p99 under 10 ms at 512 streams", ours["gap p99"] < 10
    yield "2,000 open streams in at most 100 MB", ours["2k MB"] <= 100
    yield "at most 150 us for a body of 128 kB", ours["128k us"] <= 150
    yield "nothing failed", ours["failed"] == 0


def measured(served: Served, folder: Path, rate: float, slow: bool, seconds: float) -> Row:
    """One round of one subject."""
    small, large = chat(1000, max_tokens=128), chat(128_000, max_tokens=128)
    most = wrk(served, folder, small, 8 if slow else 64, max(2 * seconds, 4) if slow else seconds)
    paced, _ = client(served, folder, "paced", small, rate, seconds)
    heavy = wrk(served, folder, large, 4 if slow else 16, seconds)
    streams, gap_us = (8, 100_000) if slow else (STREAMS, GAP_US)
    # Streams are longer than the measurement: none ends while the gaps are taken.
    told = chat(600, stream=True, max_tokens=int((seconds + 3) * 1e6 / gap_us), seed=gap_us)
    chunks, _ = client(served, folder, "streams", told, streams, seconds + 1)
    failed = most.failed + paced.failed + heavy.failed + chunks.failed
    values = (
        most.per_s,
        most.cpu_us,
        paced.p50_ms,
        paced.p99_ms,
        chunks.per_s,
        chunks.cpu_us,
        chunks.p99_ms,
        heavy.cpu_us,
        failed,
    )
    return dict(
        zip(
            (
                "requests/s",
                "cpu us",
                "+p50",
                "+p99",
                "chunks/s",
                "cpu us/chunk",
                "gap p99",
                "128k us",
                "failed",
            ),
            values,
            strict=True,
        )
    )


def open_streams_mb(served: Served, folder: Path) -> float:
    """Resident megabytes with 2,000 streams open."""
    body = chat(600, stream=True, max_tokens=60, seed=OPEN_GAP_US)
    _, resident = client(served, folder, "streams", body, OPEN_STREAMS, 5.0)
    return resident


def main() -> int:
    """The table, and whether the promises hold."""
    arguments = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    arguments.add_argument("--only", default="", help="names, with commas between them")
    arguments.add_argument("--rounds", type=int, default=3)
    arguments.add_argument("--seconds", type=float, default=2.0)
    arguments.add_argument("--json", type=Path)
    asked = arguments.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that what was started is stopped
    if not setup_gateway_peers.is_installed() or not COMPILED.exists():
        print(
            "bench/gateway.py: not everything is set up here: run `make compiled gateway-peers`",
            file=sys.stderr,
        )
        return 4
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(most, 65536) if most > 0 else 65536, most))
    with tempfile.TemporaryDirectory() as made, ExitStack() as stack:
        folder = Path(made)
        built(folder)
        upstream = Served(
            [str(folder / "upstream"), str(UPSTREAM_PORT)],
            UPSTREAM_PORT,
            folder / "upstream.log",
            LOAD_CORE,
        )
        stack.callback(upstream.close)
        if why := upstream.wait(5):
            print(f"upstream: {why}", file=sys.stderr)
            return 4
        chosen = [
            proxy for proxy in proxies() if not asked.only or proxy.name in asked.only.split(",")
        ]
        subjects = dict(started(chosen, folder, stack))
        rows = rounds(upstream, subjects, folder, asked.rounds, asked.seconds)
    table = {
        name: {key: statistics.median(row[key] for row in taken) for key in taken[0]}
        for name, taken in rows.items()
    }
    shown(table)
    if asked.json:
        asked.json.write_text(json.dumps(table, indent=1))
    if "barostat" not in table:
        return 0
    kept = list(promises(table["barostat"], table.get("envoy")))
    for sentence, holds in kept:
        print(f"  {'kept  ' if holds else 'MISSED'} {sentence}")
    return 0 if all(holds for _, holds in kept) else 1


def started(
    chosen: list[Proxy], folder: Path, stack: ExitStack
) -> Iterator[tuple[str, tuple[Proxy, Served]]]:
    """Those that run, each asleep; why another does not is said."""
    for index, proxy in enumerate(chosen):
        place = folder / proxy.name
        place.mkdir()
        port = FIRST_PORT + index
        served = Served(
            proxy.command(port, UPSTREAM_PORT, place),
            port,
            place / "log",
            PROXY_CORE,
            environment(proxy),
        )
        stack.callback(served.close)
        if why := served.wait(proxy.startup_s):
            print(f"{proxy.name}: not measured: {why}", file=sys.stderr)
            served.close()
            continue
        with served.awake():
            pass
        yield proxy.name, (proxy, served)


def rounds(
    upstream: Served,
    subjects: dict[str, tuple[Proxy, Served]],
    folder: Path,
    count: int,
    seconds: float,
) -> dict[str, list[Row]]:
    """All rows, by subject; latencies as they are above direct in the same round."""
    rows: dict[str, list[Row]] = {}
    for turn in range(count):
        said(f"round {turn + 1} of {count}: direct")
        fast = measured(upstream, folder, 2000.0, False, seconds)
        direct = {
            False: fast,
            True: measured(upstream, folder, 20.0, True, seconds)
            if any(p.slow for p, _ in subjects.values())
            else fast,
        }
        rows.setdefault("direct", []).append(
            {**fast, "2k MB": 0.0, "cpu us": 0.0, "cpu us/chunk": 0.0, "128k us": 0.0}
        )
        for name, (proxy, served) in subjects.items():
            said(f"round {turn + 1} of {count}: {name}")
            with served.awake():
                row = measured(served, folder, proxy.rate, proxy.slow, seconds)
                row["2k MB"] = (
                    rows[name][0]["2k MB"]
                    if turn
                    else float("nan")
                    if proxy.slow
                    else open_streams_mb(served, folder)
                )
            above = direct[proxy.slow]
            rows.setdefault(name, []).append(
                {**row, "+p50": row["+p50"] - above["+p50"], "+p99": row["+p99"] - above["+p99"]}
            )
    return rows


def shown(table: dict[str, Row]) -> None:
    """The table, with our ratio to each."""
    print(f"{'':<12}" + "".join(f"{name:>13}" for name in COLUMNS) + f"{'ours/it':>9}")
    ours = table.get("barostat", {}).get("requests/s", float("nan"))
    for name, row in table.items():
        cells = "".join(
            f"{row[column]:>13,.{0 if abs(row[column]) >= 1000 else 3 if abs(row[column]) < 10 else 1}f}"
            for column in COLUMNS
        )
        print(f"{name:<12}{cells}{ours / row['requests/s']:>9.2f}")
    for peer in ("envoy", "bare"):
        if peer in table and "barostat" in table:
            ratios = ", ".join(
                f"{column} {table['barostat'][column] / table[peer][column]:.2f}"
                for column in ("requests/s", "cpu us", "+p50", "+p99", "chunks/s", "gap p99")
                if table[peer][column]
            )
            print(f"(ours over {peer}: {ratios})")
    print(
        "(direct: its own p50 and p99; litellm: 8 connections, 8 streams; direct is bound "
        "by the load's own core)"
    )
    for names, python in (("barostat, bare", str(COMPILED)), ("pure", sys.executable)):
        print(
            f"({names}: Python "
            f"{subprocess.run([python, '-c', _WHICH], capture_output=True, text=True, check=True).stdout.strip()})"
        )


def said(text: str) -> None:
    """Tell a person what goes on."""
    if os.isatty(sys.stderr.fileno()):
        print(f"\r{text:<60}", end="", file=sys.stderr, flush=True)


if __name__ == "__main__":
    raise SystemExit(main())
