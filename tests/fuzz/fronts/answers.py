"""What servers answer that we ask: engines, Prometheus, an API server, a gateway's page; over a
real socket, read by what reads them.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import socket
import threading
from functools import cache
from pathlib import Path

import h11
from tests.fuzz.front import Front, Wrong
from tests.fuzz.fronts.evidence import DATA
from tests.support.small_servers import METRICS, answer

from barostat.core.errors import InputError, OutsideError
from barostat.gateway.messages.response_framing import Framing
from barostat.gateway.messages.usage import at_its_limit, usage_in
from barostat.gateway.watching.engine_page import pool_in, read_page
from barostat.io.clock import SteadyClock
from barostat.io.engine_http.address import address
from barostat.io.engine_http.route import DirectRoute
from barostat.io.engine_http.scraper import Scraper
from barostat.io.kubernetes.client.cluster import Cluster
from barostat.io.kubernetes.client.failures import RequestFailed
from barostat.io.kubernetes.client.kubeconfig import ClusterAccess
from barostat.io.kubernetes.client.resources import PODS
from barostat.io.kubernetes.client.sockets import _Response
from barostat.io.kubernetes.client.watching import watch
from barostat.io.prometheus.access import PrometheusAccess
from barostat.io.prometheus.client import Prometheus
from barostat.io.prometheus.history import kept
from barostat.io.prometheus.recording import Moment, remembered
from barostat.judge.diagnosis.diagnose import examine
from barostat.judge.evidence.recording import Recording, ReplicaRecording
from barostat.judge.history.review import review

_AT = 1_795_252_969.0


class _Says:
    """A server that answers everything with the same bytes and closes."""

    def __init__(self) -> None:
        self.said = b""
        self.listener = socket.create_server(("127.0.0.1", 0), backlog=64)
        self.port: int = self.listener.getsockname()[1]
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self) -> None:
        while True:
            connection, _ = self.listener.accept()
            with connection, contextlib.suppress(OSError):
                connection.settimeout(1.0)
                heard = b""
                while b"\r\n\r\n" not in heard and (more := connection.recv(65_536)):
                    heard += more
                connection.sendall(self.said)
                connection.shutdown(socket.SHUT_WR)
                while connection.recv(65_536):
                    pass


@cache
def _server() -> _Says:
    return _Says()


def _spoken(raw: bytes) -> int:
    _server().said = raw
    return _server().port


def _http_seeds() -> list[bytes]:
    chunks = b"HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\ntransfer-encoding: chunked\r\n\r\n5\r\nvllm:\r\n0\r\n\r\n"
    moved = b"HTTP/1.1 307 Temporary Redirect\r\nlocation: /elsewhere\r\ncontent-length: 0\r\n\r\n"
    models = answer(
        '{"data": [{"id": "m", "max_model_len": 4096}], "version": "0.32.0"}',
        kind="application/json",
    )
    return [
        answer(METRICS),
        chunks,
        moved,
        models,
        answer("{}", "503 Service Unavailable"),
        b"HTTP/1.1 100 Continue\r\n\r\n" + answer("x"),
    ]


def _engine(data: bytes, _: Path) -> None:
    """An engine that is looked at twice, and asked for a token."""

    async def looked() -> Scraper:
        scraper = Scraper(DirectRoute(address(f"http://127.0.0.1:{_spoken(data)}")), SteadyClock())
        try:
            await scraper.look()
            await scraper.look()
            await scraper.send_token(1.0)
        finally:
            await scraper.close()
        return scraper

    found = asyncio.run(looked())
    examine(
        Recording(
            "t",
            _AT,
            (
                ReplicaRecording(
                    "r",
                    scrapes=tuple(found.scrapes),
                    failed_scrapes=tuple(found.failed),
                    probe=found.probe,
                ),
            ),
        )
    )


def _prometheus_seeds() -> list[bytes]:
    labels = {
        "instance": "10.0.0.1:8000",
        "job": "vllm",
        "namespace": "a",
        "pod": "vllm-0",
        "model_name": "m",
        "engine": "0",
    }
    names = (
        "vllm:num_requests_running",
        "vllm:num_requests_waiting",
        "vllm:kv_cache_usage_perc",
        "vllm:num_preemptions_total",
        "up",
    )
    points = [[_AT - 60 + 5 * n, str(n)] for n in range(12)]
    series: list[dict[str, object]] = [
        {"metric": {"__name__": name, **labels}, "values": points} for name in names
    ]
    buckets: list[dict[str, object]] = [
        {
            "metric": {"__name__": "vllm:time_to_first_token_seconds_bucket", "le": le, **labels},
            "values": points,
        }
        for le in ("0.1", "1", "+Inf")
    ]
    said = {
        "status": "success",
        "data": {"resultType": "matrix", "result": series + buckets},
        "warnings": ["a store did not answer"],
    }
    vector: list[dict[str, object]] = [
        {"metric": {"__name__": name, **labels}, "value": [_AT, "3"]} for name in names
    ]
    refused = {"status": "error", "errorType": "bad_data", "error": "parse error"}
    return [
        json.dumps(one).encode()
        for one in (
            said,
            {"status": "success", "data": {"resultType": "vector", "result": vector}},
            refused,
        )
    ]


def _prometheus(data: bytes, _: Path) -> None:
    """The past of an instant or of a day, by the input's length, when every question is answered
    with this.
    """
    raw = answer(data, kind="application/json")

    async def asked() -> None:
        server = Prometheus(PrometheusAccess(f"http://127.0.0.1:{_spoken(raw)}"))
        try:
            if len(data) % 2:
                examine(await remembered(server, Moment(_AT, 60.0)))
            else:
                review(await kept(server, "", 86_400.0, _AT))
        finally:
            await server.close()

    asyncio.run(asked())


def _lists() -> list[bytes]:
    pods = json.loads(
        (DATA / "clusters" / "host-oom-cgroup" / "kubernetes" / "pods.json").read_text()
    )
    pods["metadata"] = {"resourceVersion": "7", "continue": ""}
    status = {
        "kind": "Status",
        "apiVersion": "v1",
        "status": "Failure",
        "message": "no",
        "reason": "Forbidden",
        "code": 403,
    }
    event = {"type": "MODIFIED", "object": pods["items"][0]}
    error = {"type": "ERROR", "object": {**status, "code": 410, "reason": "Expired"}}
    return [
        json.dumps(pods).encode(),
        json.dumps(status).encode(),
        b"\n".join(json.dumps(one).encode() for one in (event, error, event)),
    ]


def _api_server(data: bytes, _: Path) -> None:
    """A list, an object and a watch of an API server that answers all of them with this."""
    raw = answer(data, kind="application/json")

    async def asked() -> None:
        cluster = Cluster(ClusterAccess(f"http://127.0.0.1:{_spoken(raw)}", namespace="a"))
        try:
            listed = await cluster.list(PODS, "a", within_s=0.5)
            if not isinstance(listed, RequestFailed):
                examine(
                    Recording(
                        "t",
                        _AT,
                        (ReplicaRecording("r"),),
                        kubernetes={"pods": {"kind": "PodList", "items": list(listed.items)}},
                    )
                )
            await cluster.get(PODS, "x", "a", within_s=0.5)
            async for _ in watch(cluster, PODS, "a", for_s=0.05):
                pass
        finally:
            await cluster.close()

    asyncio.run(asked())


def _pod_port(data: bytes, _: Path) -> None:
    """An engine's answer as it comes through the API server's port-forward: in two pieces, then the
    end.
    """
    wire = h11.Connection(h11.CLIENT)
    wire.send(h11.Request(method="GET", target="/metrics", headers=[("host", "x")]))
    wire.send(h11.EndOfMessage())
    response = _Response(wire, 1 << 16)
    for piece in (data[: len(data) // 2], data[len(data) // 2 :], b""):
        response.feed(piece)
    if len(response.answer("").body) > 1 << 16:
        raise Wrong("more was kept than was allowed")


def _framing(data: bytes, _: Path) -> None:
    """The gateway's reading of an engine's answer, its usage and its page."""
    framing = Framing()
    begin = framing.head_of(data, to_head_request=False)
    if begin > len(data):
        raise Wrong("a head that ends behind what came")
    if begin > 0 and framing.body(data[begin:]) > len(data) - begin:
        raise Wrong("a body that ends behind what came")
    usage_in(data)
    at_its_limit(data)
    read_page(data)
    pool_in(data, 4096)


def _usages() -> list[bytes]:
    return [
        *_http_seeds(),
        (DATA / "expositions" / "v1-0.32.0.prom").read_bytes(),
        answer(
            '{"id": "x", "choices": [{"finish_reason": "length"}], "usage": '
            '{"prompt_tokens": 5, "completion_tokens": 7}}'
        ),
        b'data: {"choices": []}\n\ndata: {"usage": {"input_tokens": 4, "output_tokens": 1}}\n\ndata: [DONE]\n\n',
    ]


_OUTSIDE = (InputError, OutsideError)
FRONTS = (
    Front("engine-http", _http_seeds, _engine, "http", ()),
    Front("prometheus", _prometheus_seeds, _prometheus, "json", _OUTSIDE),
    Front("api-server", _lists, _api_server, "json", _OUTSIDE),
    Front("port-forward", _http_seeds, _pod_port, "http", (h11.RemoteProtocolError,)),
    Front("engine-to-gateway", _usages, _framing, "http", ()),
)
