"""`barostat mitigate` on what is no pressure: crash loops, OOM kills, bad deploys; and on a spare
that finds no place.
"""

from __future__ import annotations

import fcntl
import json
import os
import pty
import subprocess
import sys
import termios
from typing import Any

import pytest
from dev.cluster import workloads
from dev.cluster.client import Pod, Workspace
from dev.load import Background, Load
from tests.cluster.test_mitigate import (
    PRESSED,
    QUICK,
    SERVE,
    incidents,
    mitigate,
    nothing_of_ours_is_left,
    preempted,
    pressed_twins,
)

from barostat.shells.cli.main import main

REAL = ("--for", "10s", "--sustained", "15s", "--drain", "1m")


def loops(pod: Pod) -> bool:
    return pod.restarts >= 1 and pod.waits_for == "CrashLoopBackOff"


def engine(space: Workspace, name: str = "vllm") -> dict[str, Any]:
    found: dict[str, Any] = space.get(f"deploy/{name}")["spec"]["template"]["spec"]["containers"][0]
    return found


def the_one(space: Workspace) -> dict[str, Any]:
    (incident,) = incidents(space)
    return incident


@pytest.mark.long
@pytest.mark.usefixtures("real_vllm")
def test_a_crash_loop_on_a_removed_argument_is_mended(space: Workspace) -> None:
    space.apply(workloads.vllm(flags=[*workloads.SIZE_FLAGS, "--swap-space", "4"]))
    space.pod("app=vllm", loops, within_s=150)
    assert mitigate(space, "--autonomy", "act", *REAL, target="deploy/vllm") == 0
    incident = the_one(space)
    assert (incident["phase"], incident["cause"], incident["plan"]["lever"]) == (
        "Done",
        "bad-config",
        "remove-argument",
    )
    assert "--swap-space" not in engine(space)["args"]
    space.wait_ready("deploy/vllm")


@pytest.mark.long
@pytest.mark.usefixtures("real_vllm")
def test_a_shared_memory_of_64_mib_is_mended(space: Workspace) -> None:
    space.apply(
        workloads.vllm(
            shm=None, flags=[*workloads.SIZE_FLAGS, "--distributed-executor-backend", "mp"]
        )
    )
    space.pod("app=vllm", lambda pod: bool(pod.last_end), within_s=300)
    assert mitigate(space, "--autonomy", "act", *REAL, target="deploy/vllm") == 0
    incident = the_one(space)
    assert (incident["phase"], incident["cause"], incident["plan"]["lever"]) == (
        "Done",
        "bad-config",
        "shm-size",
    )
    assert engine(space)["volumeMounts"] == [{"name": "shm", "mountPath": "/dev/shm"}]
    space.wait_ready("deploy/vllm")


@pytest.mark.long
@pytest.mark.usefixtures("real_vllm")
def test_a_host_memory_limit_that_kills_is_raised(
    space: Workspace, capsys: pytest.CaptureFixture[str]
) -> None:
    space.apply(workloads.vllm(memory="700Mi"))
    before = engine(space)["resources"]
    space.pod("app=vllm", loops, within_s=150)
    # Half as much again is enough for what was killed. This engine keeps its pool in host memory,
    # too, and then says what it lacks.
    assert mitigate(space, "--autonomy", "act", *REAL, target="deploy/vllm") == 1
    first = the_one(space)
    assert (first["phase"], first["cause"], first["plan"]["change"]["value"]) == (
        "RolledBack",
        "host-oom",
        "2Gi",
    )
    assert "kv-pool-too-small" in first["why"]
    assert engine(space)["resources"] == before
    # What was worse is not tried again by itself; a person may ask for another value.
    assert mitigate(space, "--autonomy", "act", *REAL, target="deploy/vllm") == 5
    assert "took it back" in capsys.readouterr().err
    assert (
        mitigate(
            space,
            "--autonomy",
            "act",
            "--lever",
            "host-memory-limit=3Gi",
            *REAL,
            target="deploy/vllm",
        )
        == 0
    )
    assert engine(space)["resources"]["limits"]["memory"] == "3Gi"
    space.wait_ready("deploy/vllm")
    assert space.pods("app=vllm")[0].restarts == 0
    # Back to what killed it: the spare shows that it would, and the workload stays as it is.
    place = ["-n", space.namespace, "--kubeconfig", str(space.cluster.kubeconfig("admin"))]
    assert (
        main(["rollback", "deploy/vllm", "--yes", "--for", "5s", "--sustained", "10s", *place]) == 1
    )
    assert "OOMKilled" in incidents(space)[0]["why"] + incidents(space)[-1]["why"]
    assert engine(space)["resources"]["limits"]["memory"] == "3Gi"


def bad_twins(space: Workspace, *bad: str, good: tuple[str, ...] = (), gpus: int = 0) -> None:
    """A rollout of two twins that was good, and the one after it."""
    space.apply(workloads.twin(replicas=2, flags=PRESSED, serve=(*SERVE, *good)))
    space.wait_ready("deploy/twin")
    space.apply(workloads.twin(replicas=2, flags=PRESSED, serve=(*SERVE, *bad), gpus=gpus))


@pytest.mark.long
def test_a_bad_deploy_is_rolled_back(space: Workspace) -> None:
    bad_twins(space, good=("--max-num-active-seqs", "8"))
    space.wait_ready("deploy/twin")
    space.until("only the bad ones are there", lambda: len(space.pods()) == 2)
    load = Load(prompt_tokens=(20, 45), output_tokens=(100, 190), rate_per_s=4.0)
    with Background(space.url("twin"), load) as traffic:
        space.until(
            "both are preempting", lambda: min(preempted(space).values()) > 40, within_s=150
        )
        # Another change is refused while the deploy is young.
        assert mitigate(space, "--autonomy", "act", "--lever", "watermark=0.05", *QUICK) == 5
        assert mitigate(space, "--autonomy", "act", *QUICK) == 0
        incident = next(found for found in incidents(space) if found["phase"] == "Done")
        assert (incident["plan"]["lever"], incident["plan"]["change"]["value"]) == (
            "undo-rollout",
            "1",
        )
        assert engine(space, "twin")["args"][-2:] == ["--max-num-active-seqs", "8"]
        nothing_of_ours_is_left(space)
        assert traffic.counts.failed == {}


@pytest.mark.long
@pytest.mark.parametrize(
    "bad", ["an argument that the version lacks", "more cards than a node has"]
)
def test_a_deploy_that_is_stuck_is_undone_and_nobody_who_serves_is_touched(
    space: Workspace, capsys: pytest.CaptureFixture[str], bad: str
) -> None:
    bad_twins(
        space,
        *(("--swap-space", "4") if "argument" in bad else ()),
        gpus=0 if "argument" in bad else 8,
    )
    space.pod("app=twin", lambda pod: loops(pod) or pod.waits_for == "Unschedulable", within_s=150)
    serve = {pod.name for pod in space.pods() if pod.is_ready}
    with Background(
        space.url("twin"), Load(prompt_tokens=(20, 45), output_tokens=(20, 40), rate_per_s=2.0)
    ) as traffic:
        assert mitigate(space, "--dry-run", *QUICK) == 0
        assert "no replica of the rollout serves" in capsys.readouterr().out
        assert mitigate(space, "--autonomy", "act", *QUICK) == 0
        assert (the_one(space)["phase"], the_one(space)["plan"]["strategy"]) == (
            "Done",
            "stuck-rollout",
        )
        space.until(
            "only those that served",
            lambda: {pod.name for pod in space.pods()} == serve,
            within_s=60,
        )
        assert "--swap-space" not in engine(space, "twin")["args"]
        assert "nvidia.com/gpu" not in engine(space, "twin")["resources"]["limits"]
        space.wait_ready("deploy/twin")
        nothing_of_ours_is_left(space)
        assert traffic.counts.failed == {}


@pytest.mark.long
def test_a_pool_that_is_too_small_to_start_gets_a_length_that_fits(space: Workspace) -> None:
    flags = ("--gpu", "L4", "--step-time", "0.02", "--start-time", "2")
    space.apply(workloads.twin(replicas=2, flags=flags, serve=("--max-model-len", "40960")))
    space.until("both loop", lambda: sum(map(loops, space.pods("app=twin"))) == 2, within_s=150)
    assert mitigate(space, "--autonomy", "act", *QUICK) == 0
    incident = the_one(space)
    assert (incident["cause"], incident["plan"]["change"]["name"]) == (
        "kv-pool-too-small",
        "--max-model-len",
    )
    assert engine(space, "twin")["args"][-2:] == ["--max-model-len", "26944"]
    space.wait_ready("deploy/twin")
    nothing_of_ours_is_left(space)


@pytest.mark.long
def test_a_spare_that_stays_pending_ends_the_plan(
    space: Workspace, capsys: pytest.CaptureFixture[str]
) -> None:
    manifests = workloads.twin(flags=PRESSED, serve=SERVE, labels={"tier": "alone"})
    deployment = workloads.only(manifests, "Deployment")
    workloads.only(manifests, "Service")["spec"]["selector"] = {"app": "twin"}
    # What is beside a pod is not looked at before: only the scheduler tells that no second one of
    # these finds a place.
    apart = {
        "labelSelector": {"matchLabels": {"tier": "alone"}},
        "topologyKey": "kubernetes.io/hostname",
    }
    deployment["spec"]["template"]["spec"]["affinity"] = {
        "podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [apart]}
    }
    space.apply(manifests)
    space.wait_ready("deploy/twin")
    before = space.get("deploy/twin")["spec"]
    with Background(
        space.url("twin"), Load(prompt_tokens=(20, 45), output_tokens=(100, 190), rate_per_s=2.0)
    ) as load:
        space.until("it is preempting", lambda: min(preempted(space).values()) > 40, within_s=150)
        assert mitigate(space, "--autonomy", "act", *QUICK) == 1
        incident = the_one(space)
        assert (incident["phase"], incident["undo"]) == ("RolledBack", [])
        assert "stays Pending" in incident["why"]
        assert "anti-affinity" in incident["why"]
        assert space.get("deploy/twin")["spec"] == before
        nothing_of_ours_is_left(space)
        place = ["-n", space.namespace, "--kubeconfig", str(space.cluster.kubeconfig("admin"))]
        command = [
            sys.executable,
            "-m",
            "barostat.shells.cli.main",
            "mitigate",
            "deploy/twin",
            "--autonomy",
            "act",
            *QUICK,
            *place,
        ]
        run = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
        assert run.stderr is not None
        assert any(line.startswith("CreateSpare") for line in run.stderr)
        (again,) = [found["id"] for found in incidents(space) if found["phase"] == "Preparing"]
        assert main(["rollback", again, *place]) == 5  # nobody is there to say yes
        assert [found["id"] for found in incidents(space) if found["phase"] == "Preparing"] == [
            again
        ]
        assert main(["incident", "abort", again, *place]) == 1
        assert "another run goes on with it" in "".join(run.stderr) or run.wait(30) == 3
        nothing_of_ours_is_left(space)
        assert load.counts.failed == {}
    told(space, incident["id"], capsys)


def told(space: Workspace, incident: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Every form in which an incident is shown, and what `rollback` says of one that left
    nothing.
    """
    place = ["-n", space.namespace, "--kubeconfig", str(space.cluster.kubeconfig("admin"))]
    capsys.readouterr()
    assert main(["incident", "list", *place]) == 0
    assert incident in capsys.readouterr().out
    assert main(["incident", "show", incident, "-o", "json", *place]) == 0
    assert json.loads(capsys.readouterr().out)["id"] == incident
    assert main(["incident", "show", incident, *place]) == 0
    assert "| RollingBack |" in capsys.readouterr().out
    assert main(["incident", "show", incident, "-o", "html", *place]) == 0
    assert "<svg role='img' aria-label='phases over time'" in capsys.readouterr().out
    assert main(["rollback", incident, *place]) == 0
    assert "changed nothing that is still there" in capsys.readouterr().out
    assert main(["incident", "abort", incident, *place]) == 1


@pytest.mark.long
def test_a_card_that_is_taken_between_plan_and_yes_ends_the_plan(space: Workspace) -> None:
    with pressed_twins(space, rate_per_s=4.0, gpus=1) as load:
        space.until(
            "both are preempting", lambda: min(preempted(space).values()) > 40, within_s=150
        )
        before = space.get("deploy/twin")["spec"]
        for key, code in (("\x04", 5), ("\x03", 130)):  # Ctrl-D is a no, Ctrl-C leaves
            run = Terminal(space, "mitigate", "deploy/twin", *QUICK)
            run.read_until("carry this out? [y/N]")
            run.type(key)
            assert run.end() == code
        assert incidents(space) == []
        run = Terminal(space, "mitigate", "deploy/twin", *QUICK)
        run.read_until("carry this out? [y/N]")
        space.apply([workloads.only(workloads.twin("blocker", gpus=1), "Deployment")])
        space.wait_ready("deploy/blocker")
        run.type("y\n")
        assert run.end() == 1
        incident = the_one(space)
        assert incident["phase"] == "RolledBack"
        assert "Insufficient nvidia.com/gpu" in incident["why"]
        assert space.get("deploy/twin")["spec"] == before
        assert load.counts.failed == {}


def _controlling() -> None:
    """The terminal that the program has becomes the one whose keys send it signals."""
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)


class Terminal:
    """A run of the command line at a terminal."""

    def __init__(self, space: Workspace, *words: str) -> None:
        self.near, far = pty.openpty()
        place = ["-n", space.namespace, "--kubeconfig", str(space.cluster.kubeconfig("admin"))]
        command = [sys.executable, "-m", "barostat.shells.cli.main", *words, *place]
        self.process = subprocess.Popen(
            command,
            stdin=far,
            stdout=far,
            stderr=far,
            start_new_session=True,
            preexec_fn=_controlling,
        )
        os.close(far)

    def read_until(self, words: str) -> str:
        """All that was shown up to these words."""
        shown = b""
        while words.encode() not in shown:
            shown += os.read(self.near, 4096)
        print(shown.decode())
        return shown.decode()

    def type(self, words: str) -> None:
        """A person types that."""
        os.write(self.near, words.encode())

    def end(self) -> int:
        """Its exit status."""
        shown = b""
        try:
            while part := os.read(self.near, 4096):
                shown += part
        except OSError:  # the far end is closed
            pass
        print(shown.decode())
        os.close(self.near)
        return self.process.wait(30)


@pytest.mark.long
def test_in_place_one_replica_goes_before_its_successor_comes(
    space: Workspace, capsys: pytest.CaptureFixture[str]
) -> None:
    with pressed_twins(space, rate_per_s=3.6, gpus=1) as load:
        space.apply([workloads.only(workloads.twin("blocker", gpus=1), "Deployment")])
        space.wait_ready("deploy/blocker")
        space.until(
            "both are preempting",
            lambda: min(preempted(space, "app=twin").values()) > 20,
            within_s=300,
        )
        # One replica has all the load meanwhile, and what waits there has to be answered before it
        # goes.
        assert mitigate(space, "--in-place", "--autonomy", "act", *QUICK[:-1], "6m") == 0
        incident = the_one(space)
        assert (incident["phase"], incident["plan"]["strategy"]) == ("Done", "in-place")
        assert "--max-num-active-seqs" in engine(space, "twin")["args"]
        place = ["-n", space.namespace, "--kubeconfig", str(space.cluster.kubeconfig("admin"))]
        capsys.readouterr()
        # By chance one replica has half as much as before for half a minute, which is too little to
        # tell.
        assert main(["verify", "deploy/twin", "--for", "90s", *place]) == 0
        assert capsys.readouterr().out.count(": better: ") == 2
        assert (
            main(
                [
                    "rollback",
                    "deploy/twin",
                    "--in-place",
                    "--yes",
                    "--for",
                    "10s",
                    "--sustained",
                    "20s",
                    *place,
                ]
            )
            == 0
        )
        assert "--max-num-active-seqs" not in engine(space, "twin")["args"]
        assert (
            main(["verify", incident["id"], "--for", "30s", *place]) == 2
        )  # it is not in force any more
        assert load.counts.failed == {}


@pytest.mark.long
def test_one_replica_more_where_a_card_is_free(
    space: Workspace, capsys: pytest.CaptureFixture[str]
) -> None:
    # What thrashes serves 1.4 of these per second: two do not come out of it, three do.
    with pressed_twins(space, rate_per_s=3.4, gpus=1) as load:
        space.until(
            "both are preempting", lambda: min(preempted(space).values()) > 20, within_s=150
        )
        assert mitigate(space, "--lever", "scale-out", "--autonomy", "act", *QUICK) == 0
        incident = the_one(space)
        assert (incident["phase"], incident["plan"]["strategy"]) == ("Done", "scale-out")
        assert space.get("deploy/twin")["spec"]["replicas"] == 3
        nothing_of_ours_is_left(space)
        place = ["-n", space.namespace, "--kubeconfig", str(space.cluster.kubeconfig("admin"))]
        assert main(["verify", "deploy/twin", "--for", "90s", *place]) == 0
        capsys.readouterr()
        assert main(["rollback", "deploy/twin", "--yes", "--for", "5s", *place]) == 5
        assert "kubectl scale" in capsys.readouterr().out
        assert load.counts.failed == {}
