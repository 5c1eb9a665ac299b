"""The former version stays warm after a rollout, and a rollback serves with it without a start: the
real Job controller ends it, the real kube-proxy routes to it.
"""

from __future__ import annotations

import time

import pytest
from dev.cluster.client import Pod, Workspace
from tests.cluster.test_mitigate import (
    LEVER,
    PRESSED,
    QUICK,
    incidents,
    mitigate,
    nothing_of_ours_is_left,
    preempted,
    pressed_twins,
)

START_S = 15.0
SLOW = (*PRESSED[:-1], f"{START_S:g}")


def kept(space: Workspace) -> list[Pod]:
    return space.pods("barostat.dev/previous")


def mitigated(space: Workspace, *words: str) -> None:
    space.until("both are preempting", lambda: min(preempted(space).values()) > 40, within_s=150)
    assert mitigate(space, "--autonomy", "act", *LEVER, *QUICK, *words, person="operator") == 0


def seconds_until_it_serves(space: Workspace) -> float:
    """Seconds from the command until a replica of the former version is in rotation."""
    began = time.time()
    words = ("--yes", "--for", "5s", "--sustained", "10s")
    assert mitigate(space, *words, verb="rollback", person="operator") == 0
    newest = max(incidents(space), key=lambda found: found["plan"]["madeAt"])
    assert (newest["plan"]["lever"], newest["phase"]) == ("rollback", "Done")
    joined = next(entry["at"] for entry in newest["timeline"] if entry["event"] == "JoinRotation")
    return float(joined) - began


@pytest.mark.long
def test_a_rollback_within_the_time_needs_no_start(
    space: Workspace, capsys: pytest.CaptureFixture[str]
) -> None:
    with pressed_twins(space, rate_per_s=4.0, gpus=1, flags=SLOW) as load:
        mitigated(space, "--keep-previous", "15m")
        (pod,) = kept(space)
        assert len(space.ready_addresses("twin")) == 2
        assert pod.ip not in space.ready_addresses("twin")
        assert "app" not in pod.object["metadata"]["labels"]
        capsys.readouterr()
        assert mitigate(space, verb="diagnose", person="observer") in (0, 1)
        assert "stays warm" in capsys.readouterr().out
        space.until("it is Ready", lambda: kept(space)[0].is_ready, within_s=120)
        with_it_s = seconds_until_it_serves(space)
        assert space.get("jobs") == []
        nothing_of_ours_is_left(space)
        mitigated(space, "--keep-previous", "45s")
        assert len(kept(space)) == 1
        space.until("its time ends it", lambda: not (kept(space) or space.get("jobs")), 120)
        without_s = seconds_until_it_serves(space)
        nothing_of_ours_is_left(space)
        assert load.counts.failed == {}
    with capsys.disabled():
        print(f"seconds until the former version serves: {with_it_s:.1f}, {without_s:.1f} without")
    assert without_s - with_it_s > START_S * 0.7
