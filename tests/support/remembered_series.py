"""A server that answers Prometheus' query API from a list of series, as far as selectors with a
range go.
"""

from __future__ import annotations

import asyncio
import json
import re
import socket
from collections.abc import Sequence
from urllib.parse import parse_qs, urlsplit

from tests.support.small_servers import Handler, answer, serving

from barostat.core.signal import Point
from barostat.io.prometheus.access import PrometheusAccess
from barostat.io.prometheus.client import Prometheus
from barostat.io.prometheus.recording import Moment, remembered
from barostat.judge.evidence.recording import Recording
from barostat.judge.history.series import Series

AT = 1_800_000_000.0
_MATCHER = re.compile(r'(\w+)(=~|=)"((?:[^"\\]|\\.)*)"')


def remembering(series: Sequence[Series]) -> Handler:
    """The handler. A query that is no selector with a range is answered with nothing."""

    def handle(connection: socket.socket, request: str) -> None:
        asked = {
            name: values[0]
            for name, values in parse_qs(urlsplit(request.split(" ")[1]).query).items()
        }
        selector = re.fullmatch(r"\{(.*)\}\[(\d+)s\]", asked["query"])
        found = []
        if selector is not None:
            at, within_s = float(asked["time"]), float(selector[2])
            for one in series:
                points = [
                    [point.at, str(point.value)]
                    for point in one.points
                    if at - within_s < point.at <= at
                ]
                if points and all(
                    _fits(one, *matcher) for matcher in _MATCHER.findall(selector[1])
                ):
                    found.append({"metric": dict(one.labels), "values": points})
        document = json.dumps(
            {"status": "success", "data": {"resultType": "matrix", "result": found}}
        )
        connection.sendall(answer(document, kind="application/json"))

    return handle


def _fits(one: Series, name: str, sign: str, wanted: str) -> bool:
    text = one.labels.get(name, "")
    return re.fullmatch(wanted, text) is not None if sign == "=~" else text == wanted


def series(name: str, value: float = 1.0, **labels: str) -> Series:
    """Five minutes of it."""
    return Series(
        {"__name__": name, **labels},
        tuple(Point(AT - 15.0 * place, value) for place in reversed(range(20))),
    )


def engine(pod: str, instance: str, ranks: int = 1, **labels: str) -> list[Series]:
    """What an engine shows, a rank after the other."""
    names = ("vllm:num_requests_running", "vllm:num_requests_waiting", "vllm:kv_cache_usage_perc")
    own = [
        {"engine": str(rank), "model_name": "m", "pod": pod, "instance": instance}
        for rank in range(ranks)
    ]
    return [series(name, 0.5, **one, **labels) for name in names for one in own]


def told(pod: str, node: str, restarts: float, **labels: str) -> list[Series]:
    """What kube-state-metrics tells of the pod."""
    return [
        series("kube_pod_info", 1.0, pod=pod, node=node, **labels),
        series(
            "kube_pod_container_info",
            1.0,
            pod=pod,
            container="vllm",
            image="vllm/vllm-openai:v0.32.0",
            **labels,
        ),
        series(
            "kube_pod_container_status_restarts_total",
            restarts,
            pod=pod,
            container="vllm",
            **labels,
        ),
    ]


def recorded(*known: list[Series]) -> Recording:
    """What is remembered of the last four minutes."""

    async def ask(port: int) -> Recording:
        server = Prometheus(PrometheusAccess(f"http://127.0.0.1:{port}"))
        try:
            return await remembered(server, Moment(AT, 240.0))
        finally:
            await server.close()

    with serving(remembering([one for several in known for one in several])) as (port, _):
        return asyncio.run(ask(port))
