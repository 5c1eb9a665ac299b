"""The operator reads engines from a real Prometheus, and asks itself only those that it lacks."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterator
from contextlib import ExitStack

import pytest
from dev.load import Background
from dev.prometheus_server import PrometheusServer, scrape
from dev.scenarios import SCENARIOS
from dev.setup_prometheus import is_installed
from dev.twin_engine import TwinEngine

from barostat.io.clock import SteadyClock
from barostat.io.kubernetes.client.cluster import Cluster
from barostat.io.kubernetes.client.kubeconfig import ClusterAccess
from barostat.io.prometheus.access import PrometheusAccess
from barostat.io.prometheus.client import Prometheus
from barostat.judge.diagnosis.diagnose import examine
from barostat.operator.engines import Engines
from barostat.operator.prometheus_pages import PrometheusPages

THRASH = next(one for one in SCENARIOS if one.name == "kv-preemption-thrash")
CLOSED = 9
"""A port on which nothing listens: who reads an engine there has it from Prometheus."""


@pytest.fixture(scope="module")
def scraped() -> Iterator[tuple[PrometheusServer, TwinEngine]]:
    """A thrashing twin, and the Prometheus that scrapes it every second as pod vllm-0."""
    if not is_installed():
        why = "the real Prometheus is not here: run `make prometheus`"
        pytest.fail(why) if os.environ.get("CI") == "true" else pytest.skip(why)
    with ExitStack() as stack:
        engine = stack.enter_context(TwinEngine(*THRASH.flags, shape=THRASH.shape))
        engine.wait_ready()
        address = engine.url.removeprefix("http://")
        server = stack.enter_context(
            PrometheusServer(
                scrape("engines", address, pod="vllm-0", namespace="x"),
                scrape("engines-again", address, pod="vllm-0", namespace="x"),
            )
        )
        assert THRASH.load is not None
        stack.enter_context(Background(engine.url, THRASH.load))
        server.wait_for("vllm:num_preemptions_total", at_least=1)
        yield server, engine


def pod(name: str, port: int) -> dict[str, object]:
    container = {
        "name": "vllm",
        "image": "vllm/vllm-openai:v0.32.0",
        "args": ["m", "--port", str(port)],
    }
    return {
        "metadata": {
            "name": name,
            "namespace": "x",
            "uid": name,
            "creationTimestamp": "2026-01-01T00:00:00Z",
            "ownerReferences": [
                {"kind": "StatefulSet", "name": name.rpartition("-")[0], "controller": True}
            ],
        },
        "spec": {"containers": [container]},
        "status": {"phase": "Running", "podIP": "127.0.0.1"},
    }


async def watched(url: str, pods: dict[str, int], rounds: int) -> tuple[Engines, list[str]]:
    told: list[str] = []
    engines = Engines(
        Cluster(ClusterAccess("http://127.0.0.1:9")),
        None,
        SteadyClock(),
        True,
        "",
        told.append,
        prometheus=PrometheusPages(Prometheus(PrometheusAccess(url)), told.append),
        _memory_at=1e18,
    )
    for name, port in pods.items():
        await engines._came(pod(name, port))
    for turn in range(rounds):
        await asyncio.sleep(3.0 if turn else 0.0)
        await engines.look(8.0)
    return engines, told


def test_an_engine_is_judged_by_what_prometheus_scraped(
    scraped: tuple[PrometheusServer, TwinEngine],
) -> None:
    async def go() -> None:
        engines, told = await watched(scraped[0].url, {"vllm-0": CLOSED}, 5)
        (engine,) = engines.engines.values()
        instants = [one.at for one in engine.scraper.scrapes]
        assert len(instants) > 10, "all that was scraped since the look before"
        assert instants == sorted(set(instants))
        assert engine.due()
        assert (engines.scrapes, engines.from_prometheus) == (0, 5)
        (key,) = engines.workloads()
        recording = engines.recording(key)
        assert recording is not None
        assert examine(recording).report.replicas[0].diagnosis.cause == "kv-preemption-thrash"
        assert told == []
        await engines.stop()

    asyncio.run(go())


def test_what_prometheus_lacks_is_asked_itself(
    scraped: tuple[PrometheusServer, TwinEngine],
) -> None:
    async def go() -> None:
        port = int(scraped[1].url.rpartition(":")[2])
        engines, told = await watched(scraped[0].url, {"vllm-0": CLOSED, "vllm-1": port}, 2)
        assert all(len(one.scraper.scrapes) >= 2 for one in engines.engines.values())
        assert (engines.scrapes, engines.from_prometheus) == (2, 2)
        assert told == []
        await engines.stop()

    asyncio.run(go())


def test_without_its_prometheus_it_asks_every_engine_and_says_so_once(
    scraped: tuple[PrometheusServer, TwinEngine],
) -> None:
    async def go() -> None:
        port = int(scraped[1].url.rpartition(":")[2])
        engines, told = await watched(f"http://127.0.0.1:{CLOSED}", {"vllm-0": port}, 2)
        (engine,) = engines.engines.values()
        assert len(engine.scraper.scrapes) == 2
        assert len(told) == 1
        assert "every engine is asked itself" in told[0]
        await engines.stop()

    asyncio.run(go())
