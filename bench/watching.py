"""What watching costs: 1,000 healthy engines scraped every 10 s, glanced at, and judged in turn.

    python bench/watching.py --engines 1000 --for 60 [--prometheus]

Engines are ports of one process beside this one, which answer with a page of vLLM 0.32.0 whose
counters move. Measured: processor seconds of this process for each second, and its memory.
Runs of the twin and writes to a cluster are not in it. With --prometheus a real Prometheus scrapes
the engines (`make prometheus`), and they are read from it.
"""

from __future__ import annotations

import argparse
import asyncio
import re
import resource
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from dev.prometheus_server import PrometheusServer, scrape

from barostat.io.clock import SteadyClock
from barostat.io.kubernetes.client.cluster import Cluster
from barostat.io.kubernetes.client.kubeconfig import ClusterAccess
from barostat.io.prometheus.access import PrometheusAccess
from barostat.io.prometheus.client import Prometheus
from barostat.judge.diagnosis.diagnose import examine
from barostat.operator.engines import Engines
from barostat.operator.prometheus_pages import PrometheusPages
from barostat.operator.verdict import harm_of

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "tests" / "data" / "expositions" / "v1-0.32.0.prom"
FIRST_PORT = 22_000
PAGE_KB = 80
INTERVAL_S = 10.0
SERVER = """
import asyncio, re, sys, time
page = sys.stdin.buffer.read()
def moved():
    now = time.time() % 100000
    return re.sub(rb"(vllm:generation_tokens_total{[^}]*}) [0-9.e+]+", rb"\\g<1> %d" % (100 * now), page)
async def answer(reader, writer):
    try:
        while True:
            head = await reader.readuntil(b"\\r\\n\\r\\n")
            body = moved() if b"/metrics" in head else b'{"version": "0.32.0"}'
            writer.write(b"HTTP/1.1 200 OK\\r\\ncontent-length: %d\\r\\n\\r\\n" % len(body) + body)
            await writer.drain()
    except (asyncio.IncompleteReadError, ConnectionError):
        pass
    finally:
        writer.close()
async def serve(first, count):
    for port in range(first, first + count):
        await asyncio.start_server(answer, "127.0.0.1", port)
    print("ready", flush=True)
    await asyncio.Event().wait()
asyncio.run(serve(int(sys.argv[1]), int(sys.argv[2])))
"""


def page() -> bytes:
    """A page as large as those of engines with several models: the rest is families that nobody reads."""
    own = PAGE.read_bytes()
    for name, value in (("num_requests_waiting", b"0"), ("kv_cache_usage_perc", b"0.3")):
        pattern = rb"(vllm:%s(?:_by_reason)?\{[^}]*\}) \S+" % name.encode()
        own = re.sub(pattern, rb"\g<1> " + value, own)
    rest = b"".join(
        b"# HELP other_%d text\n# TYPE other_%d counter\nother_%d_total 3.0\n" % (n, n, n)
        for n in range((PAGE_KB * 1024 - len(own)) // 62)
    )
    return own + rest


def pod(index: int) -> dict[str, Any]:
    """A pod of a workload of ten."""
    container = {
        "name": "vllm",
        "image": "vllm/vllm-openai:v0.32.0",
        "args": ["m", "--port", str(FIRST_PORT + index)],
    }
    return {
        "metadata": {
            "name": f"vllm-{index // 10}-{index % 10}",
            "namespace": "x",
            "uid": f"u{index}",
            "creationTimestamp": "2026-01-01T00:00:00Z",
            "ownerReferences": [
                {"kind": "StatefulSet", "name": f"vllm-{index // 10}", "controller": True}
            ],
        },
        "spec": {"containers": [container], "nodeName": "n0"},
        "status": {"phase": "Running", "podIP": "127.0.0.1"},
    }


def targets(count: int) -> Iterator[dict[str, Any]]:
    """What a Prometheus scrapes: each engine as the pod that it stands for."""
    for index in range(count):
        name = str(pod(index)["metadata"]["name"])
        yield scrape(name, f"127.0.0.1:{FIRST_PORT + index}", pod=name, namespace="x")


async def measured(count: int, for_s: float, url: str = "") -> None:
    """Print what it cost. `url`: of the Prometheus that knows the engines."""
    engines = Engines(
        Cluster(ClusterAccess("http://127.0.0.1:9")),
        None,
        SteadyClock(),
        True,
        "",
        print,
        prometheus=PrometheusPages(Prometheus(PrometheusAccess(url)), print) if url else None,
        _memory_at=1e18,
    )
    for index in range(count):
        await engines._came(pod(index))
    judged = harmed = 0
    judging_s = 0.0
    await engines.look(INTERVAL_S * 0.8)  # connections are made once
    began, used, turns = time.monotonic(), time.process_time(), 0
    while time.monotonic() - began < for_s:
        turn = time.monotonic()
        await engines.look(INTERVAL_S * 0.8)
        for key in engines.due((), (), engines.clock.now()):
            engines.schedule.judged(key, engines.clock.now())
            at = time.process_time()
            recording = engines.recording(key)
            if recording is not None:
                judged += 1
                harmed += harm_of(examine(recording)) is not None
            judging_s += time.process_time() - at
        turns += 1
        await asyncio.sleep(max(0.0, INTERVAL_S - (time.monotonic() - turn)))
    wall_s, used_s = time.monotonic() - began, time.process_time() - used
    rss = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    read = sum(1 for one in engines.engines.values() if one.scraper.scrapes)
    print(
        f"{count} engines, {read} read, a page of {len(page()) / 1024:.0f} kB, {turns} rounds in "
        f"{wall_s:.0f} s: {used_s / wall_s:.2f} cores, of which judging {judging_s / wall_s:.2f} "
        f"({judged} workloads of ten, {harmed} harmed); {rss:.0f} MiB"
    )
    await engines.stop()


def main() -> int:
    """Run it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--engines", type=int, default=1000)
    parser.add_argument("--prometheus", action="store_true")
    parser.add_argument("--for", dest="for_s", type=float, default=60.0)
    arguments = parser.parse_args()
    resource.setrlimit(
        resource.RLIMIT_NOFILE, (8192, resource.getrlimit(resource.RLIMIT_NOFILE)[1])
    )
    command = [sys.executable, "-c", SERVER, str(FIRST_PORT), str(arguments.engines)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as server:
        assert server.stdin is not None
        assert server.stdout is not None
        server.stdin.write(page())
        server.stdin.close()
        server.stdout.readline()
        try:
            if not arguments.prometheus:
                asyncio.run(measured(arguments.engines, arguments.for_s))
                return 0
            with PrometheusServer(*targets(arguments.engines), interval="10s") as prometheus:
                prometheus.wait_for("up", at_least=1, within_s=60)
                time.sleep(15.0)
                asyncio.run(measured(arguments.engines, arguments.for_s, prometheus.url))
        finally:
            server.kill()
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
