"""A long log comes with its beginning and its end, however long its lines are."""

from __future__ import annotations

import asyncio
from urllib.parse import parse_qs, urlsplit

import httpx
import pytest
from tests.support.remedy_runs import ACCESS

from barostat.io.kubernetes.client.cluster import Cluster
from barostat.io.kubernetes.client.login import Credential
from barostat.io.kubernetes.recording.pod_logs import read_log


class Kubelet(httpx.AsyncBaseTransport):
    """Serves one log as a kubelet does."""

    def __init__(self, lines: list[bytes]) -> None:
        self.lines = lines
        self.asked = 0

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        self.asked += 1
        query = {
            key: int(values[0])
            for key, values in parse_qs(urlsplit(str(request.url)).query).items()
            if values[0].isdigit()
        }
        body = b"".join(self.lines[-query.get("tailLines", len(self.lines)) :])
        return httpx.Response(200, content=body[: query.get("limitBytes", len(body))])


@pytest.mark.parametrize("length", [60, 1_000, 20_000])
def test_the_newest_line_is_there(length: int) -> None:
    stamped = [
        f"2026-11-24T00:{at // 60 % 60:02d}:{at % 60:02d}.{at:09d}Z {'x' * length}\n".encode()
        for at in range(3_000_000 // length)
    ]
    kubelet = Kubelet([*stamped, b"2026-11-24T23:59:59.000000000Z torch.OutOfMemoryError\n"])

    async def go() -> bytes:
        cluster = Cluster(ACCESS)
        cluster._session, cluster._credential = (
            httpx.AsyncClient(transport=kubelet, base_url="http://little"),
            Credential(),
        )
        found = await read_log(cluster, "x", "p", "vllm", most_bytes=300_000)
        assert isinstance(found, bytes)
        return found

    found = asyncio.run(go())
    assert found.endswith(b"torch.OutOfMemoryError\n")
    assert found.startswith(stamped[0][:30])
    assert len(found) <= 600_000
    assert kubelet.asked <= 8
