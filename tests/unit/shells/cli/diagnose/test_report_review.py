"""What the capacity review and the post-mortem take from the engines themselves, and what they say
where the server refuses to tell it.
"""

from __future__ import annotations

import asyncio
import json
import socket
from urllib.parse import parse_qs, urlsplit

import pytest
from tests.support.remembered_series import AT, engine, recorded, series, told
from tests.support.small_servers import answer, serving

from barostat.core.errors import OutsideError
from barostat.io.prometheus.access import PrometheusAccess
from barostat.io.prometheus.client import Prometheus
from barostat.judge.diagnosis.diagnose import examine
from barostat.shells.cli.diagnose.report_past import _steps
from barostat.shells.cli.diagnose.report_review import _asked, _fleet


@pytest.mark.parametrize(("ranks", "cards"), [(1, 8.0), (4, 2.0), (8, 1.0), (16, 1.0)])
def test_a_pods_cards_are_shared_out_among_its_ranks(ranks: int, cards: float) -> None:
    limits = series(
        "kube_pod_container_resource_limits",
        8.0,
        pod="vllm-0",
        namespace="a",
        container="vllm",
        resource="nvidia_com_gpu",
    )
    found = recorded(
        engine("vllm-0", "10.0.0.1:8000", ranks, namespace="a"),
        told("vllm-0", "n1", 0.0, namespace="a"),
        [limits],
    )
    fleet = _fleet(found, examine(found), False, AT, None)
    assert (fleet.cards_per_replica, fleet.ranks) == (cards, ranks)


def sums_only(connection: socket.socket, request: str) -> None:
    """A server that works sums out and refuses to hand out samples."""
    asked = {
        name: values[0] for name, values in parse_qs(urlsplit(request.split(" ")[1]).query).items()
    }
    if asked["query"].startswith("{"):
        refused = {
            "status": "error",
            "errorType": "execution",
            "error": "the query hit the max number of series limit (limit: 1)",
        }
        connection.sendall(
            answer(json.dumps(refused), "422 Unprocessable Entity", kind="application/json")
        )
        return
    at, end = (
        float(asked.get("start", asked.get("time", "0"))),
        float(asked.get("end", asked.get("time", "0"))),
    )
    values = []
    while at <= end:
        values.append([at, "1"])
        at += float(asked.get("step", "60"))
    found = {"status": "success", "data": {"result": [{"metric": {}, "values": values}]}}
    connection.sendall(answer(json.dumps(found), kind="application/json"))


def test_a_refusal_is_not_told_as_nothing_that_was_kept() -> None:
    with serving(sums_only) as (port, _), pytest.raises(OutsideError, match="refuses the query"):
        asyncio.run(
            _steps(
                Prometheus(PrometheusAccess(f"http://127.0.0.1:{port}")),
                "",
                AT - 600.0,
                AT,
                lambda _: None,
            )
        )


def test_a_review_of_sums_says_why_nothing_is_told_of_the_engines() -> None:
    with serving(sums_only) as (port, _):
        found, fleet = asyncio.run(
            _asked(Prometheus(PrometheusAccess(f"http://127.0.0.1:{port}")), "", 86_400.0, AT, 2.0)
        )
    assert fleet.cards_per_replica == 2.0
    assert any(
        "nothing is told of the engines themselves" in one and "refuses the query" in one
        for one in found.kept.problems
    )
