"""By which name the API server is asked."""

from __future__ import annotations

import asyncio
import socket
from concurrent.futures import ThreadPoolExecutor

from tests.support.small_servers import serving

from barostat.io.kubernetes.client.cluster import Cluster
from barostat.io.kubernetes.client.failures import RequestFailed
from barostat.io.kubernetes.client.kubeconfig import ClusterAccess
from barostat.io.kubernetes.client.resources import PODS


async def _fails_to_list(access: ClusterAccess) -> None:
    cluster = Cluster(access)
    assert isinstance(await cluster.list(PODS, "x", within_s=2.0), RequestFailed)
    await cluster.close()


def test_a_name_of_its_own_is_asked_for() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener, ThreadPoolExecutor(1) as pool:

        def hello() -> bytes:
            connection, _ = listener.accept()
            with connection:
                return connection.recv(4096)

        heard = pool.submit(hello)
        access = ClusterAccess(
            f"https://localhost:{listener.getsockname()[1]}",
            tls_server_name="by.its.name",
            insecure=True,
        )
        asyncio.run(_fails_to_list(access))
        assert b"by.its.name" in heard.result()
        assert b"localhost" not in heard.result()


def test_a_name_of_its_own_is_asked_for_through_a_proxy_too() -> None:
    hellos: list[bytes] = []

    def proxy(connection: socket.socket, request: str) -> None:
        assert request.startswith("CONNECT api.example:6443")
        connection.sendall(b"HTTP/1.1 200 Connection established\r\n\r\n")
        hellos.append(connection.recv(4096))

    with serving(proxy) as (port, _):
        access = ClusterAccess(
            "https://api.example:6443",
            tls_server_name="by.its.name",
            proxy=f"http://127.0.0.1:{port}",
            insecure=True,
        )
        asyncio.run(_fails_to_list(access))
    assert b"by.its.name" in hellos[0]
    assert b"api.example" not in hellos[0]
