"""Two operators in `act` on the real cluster, in trouble: each is killed at the acts of its remedy,
the API server is away for two minutes, requests fail, watches expire, the lease is stolen, the CRD is
deleted. The remedy comes to its end, the laws hold by a guard that looks all the while, and the audit
log has no write but to what the chart's rights are for.
"""

from __future__ import annotations

import contextlib
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TextIO

import pytest
import yaml
from dev import chart
from dev.cluster import chaos, workloads
from dev.cluster.chaos import Choose, Kind, Trouble
from dev.cluster.client import Cluster, Workspace
from dev.cluster.identities import write_kubeconfig
from dev.cluster.kubectl import KubectlError
from dev.load import Background, Load
from tests.cluster.guard import Guard
from tests.cluster.kinds import BURST, DEPLOYMENT, TIPPING, TIPPING_RATE_PER_S
from tests.cluster.release import ACTUATOR, OWN, RELEASE, pressure_incidents, written_by
from tests.cluster.test_mitigate import SERVE, incidents, nothing_of_ours_is_left, preempted

pytestmark = pytest.mark.long
_RIGHTS = ("Role", "RoleBinding", "ClusterRole", "ClusterRoleBinding", "ServiceAccount")
_CRD = "CustomResourceDefinition"
_AWAY_S, _WITHIN_S, _DEATHS = 120.0, 1800.0, 8
_RESTARTED_AFTER_S = 2.0
_START_S = "60"
"""As slowly as engines: what Kubernetes makes in place of a detached pod does not serve before the
next operator goes on.
"""


@dataclass(slots=True)
class Away:
    """Seeded trouble, and an API server that is away on demand."""

    rest: Choose
    until: float = 0.0

    def __call__(self, method: str, path: str) -> Kind | None:
        """What befalls the request."""
        return "reset-before" if time.monotonic() < self.until else self.rest(method, path)


@dataclass(slots=True)
class Operators:
    """`barostat operator`, twice, as processes that can be killed. `deaths`: the act that was under
    way at each.
    """

    space: Workspace
    kubeconfig: Path
    folder: Path
    running: dict[int, subprocess.Popen[bytes]] = field(default_factory=dict)
    deaths: list[str] = field(default_factory=list)

    def start(self, number: int) -> None:
        """One of them runs."""
        words = ["operator", "-n", self.space.namespace, "--home", self.space.namespace]
        words += ["--kubeconfig", str(self.kubeconfig), "--via", "api-server", "--interval", "5s"]
        words += ["--autonomy", "act", "--port", str(18_082 + number)]
        with self.log(number).open("a", encoding="utf-8") as told:
            self.running[number] = _run(words, told)

    def log(self, number: int) -> Path:
        """What that one told."""
        return self.folder / f"operator-{number}.log"

    def kill(self, act: str) -> None:
        """Both are killed at once: whichever of them was acting; and run again."""
        self.deaths.append(act)
        for one in self.running.values():
            one.send_signal(signal.SIGKILL)
            one.wait(10)
        time.sleep(_RESTARTED_AFTER_S)
        for number in list(self.running):
            self.start(number)

    def ended(self) -> list[int]:
        """Those that ended by themselves."""
        return [number for number, one in self.running.items() if one.poll() is not None]

    def stop(self) -> None:
        """None of them runs."""
        for one in self.running.values():
            one.kill()
            one.wait(10)


def _run(words: list[str], told: TextIO) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "barostat.shells.cli.main", *words]
    return subprocess.Popen(command, stdout=told, stderr=subprocess.STDOUT)


@contextlib.contextmanager
def _account(cluster: Cluster, space: Workspace, folder: Path) -> Iterator[Path]:
    """The kubeconfig of the chart's actuator, with the rights that the chart gives it in the
    namespace.
    """
    values = {"watchNamespace": space.namespace, "actuator": {"enabled": True}}
    made = [one for one in chart.documents(values, RELEASE) if one["kind"] in (*_RIGHTS, _CRD)]
    rights = [one for one in made if one["kind"] != _CRD]
    for one in rights:
        for subject in one.get("subjects", ()):
            subject["namespace"] = space.namespace
    space.kubectl("apply", "--server-side", "-f", "-", stdin=yaml.safe_dump_all(made))
    view = cluster.admin.json("config", "view", "--raw", "--minify", "--flatten")
    token = space.kubectl("create", "token", ACTUATOR, "--duration=2h").strip()
    file = folder / "actuator"
    write_kubeconfig(file, view["clusters"][0]["cluster"], "actuator", token)
    try:
        yield file
    finally:
        remove = ("delete", "--ignore-not-found", "--wait=false", "-f", "-")
        space.kubectl(*remove, stdin=yaml.safe_dump_all(rights))


@contextlib.contextmanager
def _thrashing(space: Workspace) -> Iterator[list[Background]]:
    """Two twins under a load that they carry until a burst comes."""
    flags = (*TIPPING[:-1], _START_S)
    space.apply(workloads.twin(replicas=2, flags=flags, serve=SERVE, gpus=0))
    space.wait_ready("deploy/twin")
    lengths: dict[str, Any] = {"prompt_tokens": (20, 45), "output_tokens": (100, 190)}
    steady = Load(rate_per_s=TIPPING_RATE_PER_S, **lengths)
    url = space.url("twin")
    with Background(url, steady, for_s=2400.0) as load:
        time.sleep(10.0)
        with Background(url, BURST, for_s=2400.0) as burst:
            yield [load, burst]


def _act(space: Workspace) -> str:
    """The last act that a remedy's record tells of; empty before there is one."""
    found = incidents(space)
    return f"{found[-1]['progress']['cursor']} {found[-1]['phase']}" if found else ""


def _over(space: Workspace) -> list[dict[str, Any]]:
    """The incidents, once each has come to its end; else none."""
    with contextlib.suppress(KubectlError):
        found = pressure_incidents(space)
        if all(one.get("status", {}).get("endedAt") for one in found):
            return found
    return []


def _crd(space: Workspace) -> None:
    """The CRD of incidents, and with it every one of them, is deleted and comes back."""
    name = "pressureincidents.barostat.dev"
    space.kubectl("delete", "crd", name, timeout_s=60)
    time.sleep(10.0)
    (made,) = (
        one
        for one in chart.documents({"watchNamespace": space.namespace}, RELEASE)
        if one["metadata"]["name"] == name
    )
    space.kubectl("apply", "--server-side", "-f", "-", stdin=yaml.safe_dump(made))


def _steal(space: Workspace) -> None:
    """Somebody else holds every lease."""
    for one in space.get("leases"):
        name = one["metadata"]["name"]
        patch = '{"spec":{"holderIdentity":"a-thief"}}'
        space.kubectl("patch", "lease", name, "--type=merge", "-p", patch)


def test_two_operators_in_trouble_heal_it_once_and_do_nothing_wrong(
    cluster: Cluster, space: Workspace, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    away = Away(chaos.seeded(5))
    began = time.monotonic()
    blows = {120.0: lambda: _steal(space), 240.0: lambda: _crd(space)}
    with (
        _account(cluster, space, tmp_path) as kubeconfig,
        _thrashing(space) as loads,
        chaos.between(kubeconfig, tmp_path, away) as trouble,
        Guard(space, "twin", floor=2) as guard,
    ):
        operators = Operators(space, trouble.kubeconfig, tmp_path)
        space.until("it thrashes", lambda: min(preempted(space).values()) > 5, 240)
        operators.start(0)
        operators.start(1)
        try:
            ended = _through(space, operators, away, blows, began)
        finally:
            operators.stop()
            with capsys.disabled():
                _tell(operators, trouble, guard, [load.counts.summary() for load in loads], began)
        records = incidents(space)
        assert ended, operators.log(0).read_text()[-4000:]
        assert {one["phase"] for one in records} <= {"Done", "RolledBack"}, records
        healed = [one["status"] for one in ended if one["status"]["phase"] == "Healed"]
        done = {one["id"] for one in records if one["phase"] == "Done"}
        assert {one["plan"]["record"] for one in healed} <= done
        assert len(operators.deaths) >= _DEATHS
        assert guard.broken == []
        assert guard.looks > 100
        nothing_of_ours_is_left(space)
        assert [load.counts.failed for load in loads] == [{}, {}]
        writes = written_by(f":{space.namespace}:{ACTUATOR}", space.namespace)
        assert {resource for _, resource, _ in writes} <= DEPLOYMENT.writes | OWN, writes


def _through(
    space: Workspace,
    operators: Operators,
    away: Away,
    blows: dict[float, Any],
    began: float,
) -> list[dict[str, Any]]:
    """The incidents, each at its end, after every blow; none if it took too long."""
    seen, was_away = "", False
    while time.monotonic() - began < _WITHIN_S:
        assert operators.ended() == []
        for at in [at for at in blows if time.monotonic() - began > at]:
            blows.pop(at)()
        act = _act(space)
        if act != seen and act and len(operators.deaths) < _DEATHS:
            operators.kill(act)
        if len(operators.deaths) == _DEATHS // 2 and not was_away:
            away.until, was_away = time.monotonic() + _AWAY_S, True
        seen = act
        if not blows and was_away and (found := _over(space)):
            return found
        time.sleep(0.5)
    return []


def _tell(
    operators: Operators, trouble: Trouble, guard: Guard, loads: list[str], began: float
) -> None:
    print(f"\nkilled {len(operators.deaths)} times, both at once: {', '.join(operators.deaths)}")
    print(
        f"{trouble.summary()}; least in rotation {guard.least}, {guard.looks} looks; {', '.join(loads)}"
    )
    print(f"over after {time.monotonic() - began:.0f} s")
