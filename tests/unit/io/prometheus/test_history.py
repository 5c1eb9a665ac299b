"""A server that answers with what is no number has kept nothing."""

from __future__ import annotations

import asyncio
import socket

import pytest
from tests.support.small_servers import always, answer, serving

from barostat.core.errors import OutsideError
from barostat.io.prometheus.access import PrometheusAccess
from barostat.io.prometheus.client import Prometheus
from barostat.io.prometheus.history import kept, worst_instant
from barostat.judge.history.review import Kept

NO_NUMBERS = (
    b'{"status":"success","data":{"result":[{"metric":{},"values":[[1,"NaN"],[2,"+Inf"]]}]}}'
)


async def asked(port: int) -> None:
    server = Prometheus(PrometheusAccess(f"http://127.0.0.1:{port}"))
    try:
        await kept(server, "", 86_400.0, 1_795_252_969.0)
    finally:
        await server.close()


def test_where_ray_keeps_the_metrics_they_are_asked_for_by_its_names() -> None:
    told = b'{"status":"success","data":{"result":[{"metric":{},"values":[[1795250000,"3"]]}]}}'
    nothing = b'{"status":"success","data":{"result":[]}}'

    def handle(connection: socket.socket, request: str) -> None:
        connection.sendall(
            answer(told if "ray_vllm_" in request else nothing, kind="application/json")
        )

    async def asked() -> tuple[Kept, float]:
        server = Prometheus(PrometheusAccess(f"http://127.0.0.1:{port}"))
        try:
            found = await kept(server, "", 86_400.0, 1_795_252_969.0)
            return found, await worst_instant(server, "", 1_795_250_100.0, 300.0, found.prefix)
        finally:
            await server.close()

    with serving(handle) as (port, _):
        found, at = asyncio.run(asked())
    assert found.prefix == "ray_vllm_"
    assert [point.value for point in found.line("preemptions")] == [3.0]
    assert at == 1_795_250_000.0


def test_a_history_without_a_number_is_none() -> None:
    with (
        serving(always(answer(NO_NUMBERS, kind="application/json"))) as (port, _),
        pytest.raises(OutsideError, match="keeps no series"),
    ):
        asyncio.run(asked(port))
