"""When a replica that left the rotation is drained: not at a moment without a request, and what is
said of clients that keep their connections.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
from tests.support.remedy_runs import ACCESS, Scene, by, on_a_little_kubernetes

from barostat.io.clock import SteadyClock
from barostat.io.kubernetes.client.cluster import Cluster
from barostat.io.mitigation.act_context import ActContext
from barostat.io.mitigation.pod_scrapes import requests_cut
from barostat.io.mitigation.rotation import await_drained
from barostat.remedy.acts import AwaitDrained, Done, PodRef
from barostat.remedy.journal import cut_sentence
from barostat.remedy.state import Do

LABELS = '{engine="0",model_name="m"}'


def page(running: float, ended: float) -> str:
    return (
        f"# TYPE vllm:num_requests_running gauge\nvllm:num_requests_running{LABELS} {running}\n"
        f"# TYPE vllm:num_requests_waiting gauge\nvllm:num_requests_waiting{LABELS} 0.0\n"
        "# TYPE vllm:request_success counter\n"
        f'vllm:request_success_total{{engine="0",finished_reason="stop",model_name="m"}} {ended}\n'
    )


def drained(
    page_at: Callable[[float], str],
) -> tuple[Done, float, list[str], str]:
    """The answer of AwaitDrained for a pod whose page is that after so many seconds, how long it
    took, what was told, and what its end would cut.
    """
    ends: list[tuple[Done, float, list[str], str]] = []

    async def go(found: Scene) -> None:
        clock = SteadyClock()
        began = clock.now()

        def metrics(_: Any) -> str:
            return page_at(clock.now() - began)

        vars(found.kube)["metrics"] = metrics
        (pod,) = found.kube.all("pods")
        found.kube.home["metadata"].setdefault("annotations", {})["barostat.dev/claim"] = "i1#1#a"
        ground = ActContext(
            by(Cluster(ACCESS), found.api), found.plan(), clock, tell=found.told.append
        )
        ref = PodRef(pod["metadata"]["name"], pod["metadata"]["uid"])
        do = Do("i1/1/f9", "i1#1#a", AwaitDrained("home-0"), "planned", ref, began + 300.0)
        async with asyncio.timeout(300.0):
            answer = await await_drained(ground, do)
        took = clock.now() - began
        cut, said = await requests_cut(ground, pod)
        ends.append((answer, took, found.told, f"{cut_sentence(cut)}; {said}" if said else ""))

    on_a_little_kubernetes(go)
    return ends[0]


def test_a_moment_without_a_request_between_those_of_pooled_clients_is_not_drained() -> None:
    """Two looks in a row saw none under way, and yet 5 requests/s came and went."""
    answer, took, _, cut = drained(
        lambda at: page(0.0, 5.0 * min(at, 30.0)) if at < 30.0 else page(0.0, 150.0)
    )
    assert 30.0 + 6.0 <= took <= 40.0
    assert (answer.note, cut) == ("", "")


def test_one_whose_requests_have_ended_is_drained_after_the_grace_period() -> None:
    _, took, _, _ = drained(lambda at: page(3.0 if at < 10.0 else 0.0, 7.0 if at < 10.0 else 10.0))
    assert 16.0 <= took <= 20.0


def test_clients_that_keep_their_connections_are_told_and_not_waited_for_in_vain() -> None:
    answer, took, told, cut = drained(lambda at: page(24.0, 5.0 * at))
    assert 60.0 <= took <= 65.0
    assert "not drained" in answer.note
    assert "requests in the 6" in answer.note
    assert "barostat gateway" in answer.note
    assert told == []
    assert cut.startswith("at most 24 requests were cut; its clients still sent 5 requests/s")


@pytest.mark.parametrize("long_s", [100.0, 200.0])
def test_a_long_answer_is_waited_for(long_s: float) -> None:
    answer, took, told, _ = drained(
        lambda at: page(1.0 if at < long_s else 0.0, 7.0 if at < long_s else 8.0)
    )
    assert took >= long_s
    assert (answer.note, told) == ("", [])


def test_no_request_at_an_instant_is_no_sign_that_pooled_clients_have_gone() -> None:
    """Answers shorter than the time between two looks: none is ever seen under way."""
    _, _, _, cut = drained(lambda at: page(0.0, 5.0 * at))
    assert cut.startswith("at most 5 requests were cut; its clients still sent 5 requests/s")
