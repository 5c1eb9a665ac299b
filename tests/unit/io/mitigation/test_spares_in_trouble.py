"""Pods that are not as a remedy would have them: evicted ones that stay on the list, companions and
preparations that end.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping

import pytest
from tests.support.little_kubernetes import NEW, Object
from tests.support.remedy_runs import ACCESS, Scene, by, on_a_little_kubernetes

from barostat.core.change import ConfigChange
from barostat.io.clock import SteadyClock
from barostat.io.kubernetes.client.cluster import Cluster
from barostat.io.mitigation.act_context import ActContext
from barostat.io.mitigation.pod_scrapes import resolved
from barostat.remedy.plan import Strategy
from barostat.remedy.state import State


@pytest.mark.parametrize("strategy", ["spare", "in-place"])
def test_a_replica_that_was_evicted_is_not_among_those_that_are_replaced(
    strategy: Strategy,
) -> None:
    """Its ReplicaSet neither counts nor releases it: it would be waited for, and home would never
    be without a pod.
    """

    async def go(found: Scene) -> None:
        evicted = found.kube.evicted(found.kube.all("pods")[0])
        state = await found.run(
            State(found.plan(strategy, floor=0 if strategy == "in-place" else 1))
        )
        assert state is not None
        assert (state.phase, found.value) == ("Done", NEW), found.told
        assert [pod for pod in found.kube.all("pods") if pod["status"]["phase"] == "Failed"] == [
            evicted
        ]
        assert not [line for line in found.api.writes if line.endswith("-evicted")]

    on_a_little_kubernetes(go)


LOOPS: Object = {
    "restartCount": 3,
    "state": {"waiting": {"reason": "CrashLoopBackOff"}},
    "lastState": {"terminated": {"reason": "Error", "exitCode": 1}},
}


def starting_with(found: Scene, statuses: Mapping[str, list[Object]], for_s: float) -> None:
    """Pods of spares have these statuses for so long, and are Ready then."""
    ready = found.kube._ready

    def later(pod: Object) -> None:
        if "barostat.dev/spare" not in pod["metadata"]["labels"]:
            ready(pod)
            return
        pod["status"] |= {"phase": "Pending", **statuses}
        found.kube.touch(pod)
        asyncio.get_running_loop().call_later(for_s, ready, pod)

    found.kube._ready = later  # type: ignore[method-assign]


def test_a_companion_that_ends_until_the_engine_is_there_is_not_the_changes_doing() -> None:
    async def go(found: Scene) -> None:
        starting_with(found, {"containerStatuses": [{"name": "exporter", **LOOPS}]}, 120.0)
        state = await found.run(State(found.plan()))
        assert state is not None
        assert (state.phase, state.verified, found.value) == ("Done", "better", NEW), found.told

    on_a_little_kubernetes(go)


@pytest.mark.parametrize(
    ("statuses", "verified", "why", "within_s"),
    [
        (
            {"containerStatuses": [{"name": "vllm", **LOOPS}]},
            "worse",
            "ends again and again (Error, exit code 1)",
            60.0,
        ),
        (
            {"containerStatuses": [{"name": "exporter", **LOOPS}]},
            None,
            ", container exporter, ends again and again",
            960.0,
        ),
        (
            {"initContainerStatuses": [{"name": "model", **LOOPS}]},
            None,
            ", container model, ends again and again",
            60.0,
        ),
        (
            {
                "initContainerStatuses": [
                    {
                        "name": "model",
                        "state": {
                            "waiting": {"reason": "ImagePullBackOff", "message": "no such tag"}
                        },
                    }
                ]
            },
            None,
            "ImagePullBackOff no such tag",
            60.0,
        ),
    ],
)
def test_what_keeps_a_spare_from_starting_is_told_soon_and_the_change_is_blamed_for_its_own_engine_alone(
    statuses: Mapping[str, list[Object]], verified: str | None, why: str, within_s: float
) -> None:
    async def go(found: Scene) -> None:
        starting_with(found, statuses, 5000.0)
        began = time.monotonic()
        state = await found.run(State(found.plan()))
        assert state is not None
        assert (state.phase, state.verified) == ("RolledBack", verified), found.told
        assert why in state.why
        assert time.monotonic() - began < within_s
        assert (found.kube.broken, await found.left()) == ([], [])

    on_a_little_kubernetes(go)


@pytest.mark.parametrize(
    "log",
    [
        "",
        (
            "INFO 07-01 10:00:00 [kv_cache_utils.py:1] Auto-fit max_model_len: reduced from "
            "40960 to 8192 to fit\n"
        ),
    ],
)
@pytest.mark.parametrize("value", ["auto", "-1"])
def test_a_length_that_the_engine_finds_by_itself_is_taken_whatever_it_is(
    value: str, log: str
) -> None:
    async def go(found: Scene) -> None:
        (pod,) = found.kube.all("pods")
        pod["spec"]["containers"][0]["args"] += ["--max-model-len", value]
        answer = found.api.answer
        found.api.answer = lambda *asked: (200, log) if "/log" in asked[1] else answer(*asked)  # type: ignore[method-assign]
        plan = found.plan(change=ConfigChange("argument", "--max-model-len", None, value))
        assert (
            await resolved(ActContext(by(Cluster(ACCESS), found.api), plan, SteadyClock()), pod)
            is None
        )
        other = found.plan(change=ConfigChange("argument", "--max-model-len", None, "4096"))
        assert "max-model-len is" in str(
            await resolved(ActContext(by(Cluster(ACCESS), found.api), other, SteadyClock()), pod)
        )

    on_a_little_kubernetes(go)


CONFIG = (
    "INFO 07-01 10:00:00 [core.py:77] Initializing a V1 LLM engine (v0.32.0) with config: "
    "model='m', dtype=torch.float16, "
)
CONFIG += (
    "max_seq_len=4096, quantization=awq_marlin, kv_cache_dtype=fp8_e4m3, enforce_eager=False\n"
)


@pytest.mark.parametrize(
    ("name", "value", "taken"),
    [
        ("--dtype", "float16", True),
        ("--dtype", "half", True),
        ("--dtype", "auto", True),
        ("--dtype", "bfloat16", False),
        ("--quantization", "awq", True),
        ("--quantization", "gptq", False),
        ("--kv-cache-dtype", "fp8", True),
        ("--kv-cache-dtype", "fp8_e5m2", False),
    ],
)
def test_a_value_that_the_engine_calls_otherwise_is_taken(
    name: str, value: str, taken: bool
) -> None:
    async def go(found: Scene) -> None:
        (pod,) = found.kube.all("pods")
        pod["spec"]["containers"][0]["args"] += [name, value]
        answer = found.api.answer
        found.api.answer = lambda *asked: (200, CONFIG) if "/log" in asked[1] else answer(*asked)  # type: ignore[method-assign]
        plan = found.plan(change=ConfigChange("argument", name, None, value))
        other = await resolved(ActContext(by(Cluster(ACCESS), found.api), plan, SteadyClock()), pod)
        assert (other is None) is taken, other

    on_a_little_kubernetes(go)
