"""A target whose own manifest gives its pods longer to start or to end is given as long, and a drain
as long as its requests take.
"""

from __future__ import annotations

from typing import Any

import pytest

from barostat.catalog.signals import signal
from barostat.core.window import Window
from barostat.judge.mitigation.pod_times import drain_s_of, with_times_of
from barostat.platform.workloads.deployment import KIND as DEPLOYMENT
from barostat.remedy.plan import StepLimits


def home(*, deadline_s: Any = 600, grace_s: Any = None, probe: Any = None) -> dict[str, Any]:
    container = {"name": "vllm", "image": "vllm/vllm-openai:v0.32.0"} | (
        {"startupProbe": probe} if probe is not None else {}
    )
    spec = {"containers": [container]} | (
        {"terminationGracePeriodSeconds": grace_s} if grace_s is not None else {}
    )
    return {"spec": {"progressDeadlineSeconds": deadline_s, "template": {"spec": spec}}}


@pytest.mark.parametrize(
    ("deployment", "ready_s"),
    [
        (home(), 900.0),
        (home(deadline_s=1800), 1800.0),
        (
            home(
                probe={
                    "httpGet": {"path": "/health"},
                    "failureThreshold": 240,
                    "periodSeconds": 10,
                    "initialDelaySeconds": 60,
                }
            ),
            2460.0,
        ),
        (home(probe={"httpGet": {"path": "/health"}, "failureThreshold": 120}), 1200.0),
        (home(deadline_s=2147483647), 3600.0),
        (home(deadline_s="soon", probe=[]), 900.0),
        ({}, 900.0),
    ],
)
def test_a_start_is_waited_for_as_long_as_the_deployment_itself_waits(
    deployment: dict[str, Any], ready_s: float
) -> None:
    assert (
        with_times_of(deployment, DEPLOYMENT.template(deployment), StepLimits()).ready_s == ready_s
    )


@pytest.mark.parametrize(("grace_s", "end_s"), [(None, 30.0), (0, 0.0), (900, 900.0), (-1, 0.0)])
def test_an_end_is_waited_for_as_long_as_the_grace_period_grants(
    grace_s: Any, end_s: float
) -> None:
    found = home(grace_s=grace_s)
    assert with_times_of(found, DEPLOYMENT.template(found), StepLimits()).end_s == end_s


def window(**now: float) -> Window:
    made = (signal(name, [(0.0, found), (10.0, found)], "test") for name, found in now.items())
    return Window("engine", 10.0, {found.name: found for found in made if found is not None})


@pytest.mark.parametrize(
    ("windows", "drain_s"),
    [
        ([], 0.0),
        ([window()], 0.0),
        ([window(e2e_p99_s=40.0), window(e2e_p99_s=90.0)], 180.0),
        ([window(running_requests=10.0, waiting_requests=290.0, finished_per_s=2.0)], 300.0),
        ([window(e2e_p99_s=100.0, running_requests=10.0, finished_per_s=0.0)], 200.0),
        ([window(e2e_p99_s=7200.0)], 3600.0),
        # 0.5 requests/s more come than finish: 300 more wait when the proof is over
        ([window(running_requests=100.0, finished_per_s=2.0, arrivals_per_s=2.5)], 400.0),
    ],
)
def test_a_drain_may_last_twice_as_long_as_requests_take_now(
    windows: list[Window], drain_s: float
) -> None:
    assert drain_s_of(windows, 600.0) == drain_s
