"""What the external processor costs behind a real Envoy: deploy/gateway/envoy/envoy.yaml beside the
same without the filter.

    make compiled gateway-peers && python bench/gateway_ext_proc.py [--rounds 3] [--seconds 3]

`ours us`: the processor's time for a request of which headers and body come to it
(response_header_mode: SKIP); `shown us`: the answer's headers as well, as the configuration ships;
`bare us`: of a processor that decides nothing (gateway_peers/bare_processor.py). The processor has
one core; Envoy, the load and the upstream in C share the other. Exits 1 where a promise is missed.
"""

from __future__ import annotations

import argparse
import os
import signal
import statistics
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import yaml

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from bench.gateway_peers import configurations
from bench.gateway_peers.measure import (
    LOAD_CORE,
    PROXY_CORE,
    Load,
    Served,
    built,
    chat,
    client,
    wrk,
)
from bench.gateway_peers.proxies import COMPILED
from dev import setup_envoy, setup_gateway_peers
from dev.envoy import bootstrap, processing_mode

UPSTREAM, GATEWAY, ADMIN, PROCESSOR, WITH, WITHOUT, SHOWN, BARE, WITH_BARE = range(21650, 21659)
BARE_PROCESSOR = Path(__file__).resolve().parent / "gateway_peers" / "bare_processor.py"
PACED_PER_S = 500.0
Row = dict[str, float]


def promises(row: Row) -> Iterator[tuple[str, bool]]:
    """What has to hold."""
    yield "at least 4,000 decisions/s on one core, bodies of 1 kB", row["decisions/s"] >= 4000
    yield "p50 at most 0.5 ms above Envoy alone", row["p50 added"] <= 0.5
    yield "at most 6 ms of processor for a body of 400 kB", row["400k ms"] <= 6
    yield "nothing failed", row["failed"] == 0


def _configuration(
    folder: Path,
    port: int,
    admin: int,
    *,
    filtered: bool,
    answers: bool = False,
    processor: int = PROCESSOR,
) -> str:
    document: dict[str, Any] = bootstrap(port, processor, admin)
    processing_mode(document)["response_header_mode"] = "SEND" if answers else "SKIP"
    if not filtered:  # the same Envoy, its one engine named by the configuration
        resources = document["static_resources"]
        resources["listeners"][0]["filter_chains"][0]["filters"][0]["typed_config"][
            "http_filters"
        ].pop(0)
        address = {"address": {"socket_address": {"address": "127.0.0.1", "port_value": UPSTREAM}}}
        engines = resources["clusters"][0]
        engines.update(type="STATIC", lb_policy="ROUND_ROBIN")
        del engines["original_dst_lb_config"]
        engines["load_assignment"] = {
            "cluster_name": "engines",
            "endpoints": [{"lb_endpoints": [{"endpoint": address}]}],
        }
    written = folder / f"envoy-{port}.yaml"
    written.write_text(yaml.safe_dump(document))
    return str(written)


def main() -> int:
    """The figures, and whether the promises hold."""
    arguments = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    arguments.add_argument("--rounds", type=int, default=3)
    arguments.add_argument("--seconds", type=float, default=3.0)
    asked = arguments.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that what was started is stopped
    if not (
        setup_gateway_peers.is_installed() and setup_envoy.is_installed() and COMPILED.exists()
    ):
        print(
            "bench/gateway_ext_proc.py: not everything is set up here: run `make compiled "
            "gateway-peers`",
            file=sys.stderr,
        )
        return 4
    with tempfile.TemporaryDirectory() as made, ExitStack() as stack:
        folder = Path(made)
        built(folder)
        written = folder / "limits.yaml"
        written.write_text(configurations.limits())
        barostat = [
            str(COMPILED),
            "-m",
            "barostat",
            "gateway",
            "--limits",
            str(written),
            "--upstream",
        ]
        barostat += [
            f"http://127.0.0.1:{UPSTREAM}",
            "--port",
            str(GATEWAY),
            "--admin-port",
            str(ADMIN),
            "--ext-proc",
            f"127.0.0.1:{PROCESSOR}",
        ]
        keys = folder / "keys"
        keys.write_text(configurations.keys())
        envoy = [
            str(setup_envoy.PROGRAM),
            "--concurrency",
            "1",
            "--log-level",
            "error",
            "--disable-hot-restart",
            "-c",
        ]
        served: dict[str, Served] = {}
        for name, command, port, core in (
            ("upstream", [str(folder / "upstream"), str(UPSTREAM)], UPSTREAM, LOAD_CORE),
            ("processor", [*barostat, "--keys", str(keys)], GATEWAY, PROXY_CORE),
            (
                "with",
                [*envoy, _configuration(folder, WITH, WITH + 10, filtered=True)],
                WITH,
                LOAD_CORE,
            ),
            (
                "shown",
                [*envoy, _configuration(folder, SHOWN, SHOWN + 10, filtered=True, answers=True)],
                SHOWN,
                LOAD_CORE,
            ),
            (
                "bare",
                [str(COMPILED), str(BARE_PROCESSOR), str(BARE), f"127.0.0.1:{UPSTREAM}"],
                BARE,
                PROXY_CORE,
            ),
            (
                "with bare",
                [
                    *envoy,
                    _configuration(
                        folder, WITH_BARE, WITH_BARE + 10, filtered=True, processor=BARE
                    ),
                ],
                WITH_BARE,
                LOAD_CORE,
            ),
            (
                "without",
                [*envoy, _configuration(folder, WITHOUT, WITHOUT + 10, filtered=False)],
                WITHOUT,
                LOAD_CORE,
            ),
        ):
            served[name] = Served(command, port, folder / f"{name}.log", core, dict(os.environ))
            stack.callback(served[name].close)
            # The bare one speaks gRPC alone: the Envoy before it says whether it answers.
            if name != "bare" and (why := served[name].wait(20)):
                print(f"{name}: {why}", file=sys.stderr)
                return 4
        rows = [measured(served, folder, asked.seconds) for _ in range(asked.rounds)]
    row = {key: statistics.median(one[key] for one in rows) for key in rows[0]}
    for key, value in row.items():
        print(f"{key:<14}{value:>12,.3f}")
    kept = list(promises(row))
    for sentence, holds in kept:
        print(f"  {'kept  ' if holds else 'MISSED'} {sentence}")
    return 0 if all(holds for _, holds in kept) else 1


def measured(served: dict[str, Served], folder: Path, seconds: float) -> Row:
    """One round. `decisions/s`: what the processor's core would be full with, by its time for one;
    `through/s`: what went through Envoy.
    """
    small, large = chat(1000, max_tokens=128), chat(400_000, max_tokens=128)

    def through(envoy: str, processor: str, body: str, connections: int) -> tuple[Load, float]:
        """As much as goes through that Envoy, and the processor's microseconds for one of it."""
        before = served[processor].cpu_s()
        load = wrk(served[envoy], folder, body, connections, seconds)
        return load, 1e6 * (served[processor].cpu_s() - before) / max(1.0, load.per_s * seconds)

    most, processor_us = through("with", "processor", small, 64)
    _, shown_us = through("shown", "processor", small, 64)
    _, bare_us = through("with bare", "bare", small, 64)
    alone = wrk(served["without"], folder, small, 64, seconds)
    paced, _ = client(served["with"], folder, "paced", small, PACED_PER_S, seconds)
    paced_alone, _ = client(served["without"], folder, "paced", small, PACED_PER_S, seconds)
    heavy, heavy_us = through("with", "processor", large, 4)
    return {
        "decisions/s": 1e6 / processor_us if processor_us else float("nan"),
        "through/s": most.per_s,
        "alone/s": alone.per_s,
        "ours us": processor_us,
        "shown us": shown_us,
        "bare us": bare_us,
        "Envoy's us": most.cpu_us,
        "Envoy alone us": alone.cpu_us,
        "p50 added": paced.p50_ms - paced_alone.p50_ms,
        "p99 added": paced.p99_ms - paced_alone.p99_ms,
        "400k ms": heavy_us / 1e3,
        "400k/s": heavy.per_s,
        "failed": float(most.failed + alone.failed + paced.failed + heavy.failed),
    }


if __name__ == "__main__":
    raise SystemExit(main())
