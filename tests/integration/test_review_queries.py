"""What the capacity review asks comes to what the fleet was, as a real Prometheus works it out."""

from __future__ import annotations

from pathlib import Path

import pytest
from dev.promtool_series import written
from tests.support.promtool import evaluated, needed

from barostat.io.prometheus.history import lines

HOUR_S, EVERY_S = 3600.0, 60.0


@pytest.fixture(scope="module", autouse=True)
def promtool() -> None:
    needed()


def running(pod: int, **more: str) -> str:
    """The gauge of one pod, in what promtool reads."""
    target = {"job": "vllm", "namespace": "a", "pod": f"vllm-{pod}", "instance": f"10.0.0.{pod}:8000", **more}
    return written("vllm:num_requests_running", {"engine": "0", "model_name": "m", **target})


def test_a_rollout_doubles_no_replicas(tmp_path: Path) -> None:
    """Three pods, one after the other replaced within the hour, each new one there for minutes beside the old one."""
    old = {running(pod): f"5x{20 + 10 * pod} stale" for pod in range(3)}
    new = {running(10 + pod): f"_x{12 + 10 * pod} 5x120" for pod in range(3)}
    assert evaluated(tmp_path, old | new, EVERY_S, lines("", HOUR_S)["replicas"], HOUR_S, 4) == ""
    assert evaluated(tmp_path, old | new, EVERY_S, lines('namespace="a"', HOUR_S)["replicas"], 2 * HOUR_S, 3) == ""
