"""The cluster's life: up within seconds, and gone without a trace.

One `unshare` holds the namespaces in which all of it lives (node.py). Ending it ends everything;
what is left to do from outside is the veth pair, made before and gone with the network namespace,
the cgroups and the folder of the run.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from dev.cluster import binaries, control_plane, identities
from dev.cluster.client import Cluster
from dev.cluster.kubectl import Kubectl, KubectlError
from dev.cluster.layout import (
    CGROUP,
    GPUS,
    HOST_ADDRESS,
    HOST_LINK,
    KUBERNETES_VERSION,
    NODE_ADDRESS,
    NODE_NAME,
    PREFIX_LENGTH,
    ROOT,
    RUN,
    SERVICE_RANGE,
)
from dev.cluster.node import UPLINK, cgroup_hierarchies

PROGRAMS = ("unshare", "ip", "openssl", "mount")
READY_WITHIN_S = 90.0
GONE_WITHIN_S = 20.0


def why_not() -> str | None:
    """Why this machine cannot bring a cluster up, or None if it can (perhaps after a build)."""
    if os.geteuid() != 0:
        return "it needs root: its namespaces, mounts and network are real"
    missing = [name for name in PROGRAMS if shutil.which(name) is None]
    return f"{', '.join(missing)} is not installed" if missing else None


def up(*, keep: bool = True) -> Cluster:
    """A running cluster with a Ready node and its GPUs; the one that runs already, if one does.
    Errors: SystemExit says what is missing.
    """
    if reason := why_not():
        raise SystemExit(f"cluster: {reason}; or point BAROSTAT_KUBECONFIG at kind or k3d")
    target = binaries.build()
    with _alone():
        if cluster := running():
            if keep:
                (RUN / "keep").touch()
                say(f"runs already (of {(RUN / 'checkout').read_text()})")
            return cluster
        _sweep()
        began = time.monotonic()
        etc = RUN / "etc"
        for folder in (RUN, etc, RUN / "kubeconfig", RUN / "daemons"):
            folder.mkdir(mode=0o700, exist_ok=True)
        (RUN / "checkout").write_text(str(ROOT))
        if keep:
            (RUN / "keep").touch()
        identities.write_tokens(etc)
        control_plane.write_keys(etc)
        holder = _start_node(target)
        try:
            admin = Kubectl(etc / "admin.kubeconfig")
            _until_ready(holder, lambda: _node_is_ready(admin))
            count_gpus(admin, NODE_NAME)
            identities.private_text(
                RUN / "kubeconfig" / "admin", admin("config", "view", "--raw", "--flatten")
            )
            identities.admit_people(admin, RUN / "kubeconfig")
        except BaseException:
            _end(holder.pid)
            say(f"it did not come up; its logs are in {RUN / 'daemons'}")
            raise
        say(f"Kubernetes {KUBERNETES_VERSION} is Ready after {time.monotonic() - began:.1f} s")
    return Cluster(RUN / "kubeconfig")


@contextlib.contextmanager
def in_use() -> Iterator[Cluster]:
    """The cluster, up for as long as anyone uses it: the last to leave takes it away, unless `make
    cluster` brought it up.

    Errors: SystemExit as of `up`.
    """
    RUN.parent.mkdir(parents=True, exist_ok=True)
    with (RUN.parent / f"{RUN.name}.users").open("w") as users:
        fcntl.flock(users, fcntl.LOCK_SH)
        try:
            cluster = up(keep=False)
            cluster.remove_orphans()
            yield cluster
        finally:
            with contextlib.suppress(BlockingIOError):
                fcntl.flock(users, fcntl.LOCK_EX | fcntl.LOCK_NB)
                if not (RUN / "keep").exists():
                    down()


def running() -> Cluster | None:
    """The cluster that runs on this machine, if one does."""
    pid = _holder()
    return (
        Cluster(RUN / "kubeconfig") if pid and (RUN / "kubeconfig" / "operator").exists() else None
    )


def down() -> bool:
    """Nothing of a cluster is left on this machine; True if there was something."""
    if os.geteuid() != 0:
        raise SystemExit("cluster: taking it away needs root, as bringing it up did")
    with _alone():
        there = RUN.exists() or any(
            (hierarchy / CGROUP).exists() for hierarchy in cgroup_hierarchies()
        )
        if pid := _holder():
            _end(pid)
        _sweep()
    return there


def adopt(kubeconfig: Path, folder: Path) -> Cluster:
    """A cluster of somebody else's (kind, k3d) with our people in it and, where no node has GPUs,
    three to count on the first one.

    The images are that cluster's business: BAROSTAT_VLLM_IMAGE names one that serves /models/tiny.
    """
    admin = Kubectl(kubeconfig)
    identities.private_text(
        folder / "admin", admin("config", "view", "--raw", "--minify", "--flatten")
    )
    identities.admit_people(admin, folder)
    nodes = admin.json("get", "nodes")["items"]
    if not any("nvidia.com/gpu" in node["status"].get("allocatable", {}) for node in nodes):
        count_gpus(admin, nodes[0]["metadata"]["name"])
    return Cluster(folder)


def count_gpus(admin: Kubectl, node: str, gpus: int = GPUS) -> None:
    """The scheduler counts so many GPUs on the node; allocatable too, or the first seconds would
    have none.
    """
    places = ("capacity", "allocatable")
    patch = ",".join(
        f'{{"op":"add","path":"/status/{place}/nvidia.com~1gpu","value":"{gpus}"}}'
        for place in places
    )
    admin("patch", "node", node, "--subresource=status", "--type=json", "-p", f"[{patch}]")


def _start_node(target: Path) -> subprocess.Popen[bytes]:
    """The started holder of the namespaces, linked with this machine's network."""
    kept = ("HOME", "PATH", "BAROSTAT_CACHE", "XDG_CACHE_HOME")
    environment = {
        **{name: os.environ[name] for name in kept if name in os.environ},
        "PYTHONPATH": str(ROOT),
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    namespaces = ["unshare", "--fork", "--kill-child", "--pid", "--mount", "--net", "--mount-proc"]
    with (RUN / "daemons" / "node.log").open("wb") as log:
        holder = subprocess.Popen(
            [*namespaces, sys.executable, "-m", "dev.cluster.node", str(target)],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            env=environment,
            cwd="/",
            start_new_session=True,
        )
    (RUN / "pid").write_text(str(holder.pid))
    _until_ready(
        holder, lambda: bool(_children(holder.pid)) and _in_own_network(_children(holder.pid)[0])
    )
    first = str(_children(holder.pid)[0])
    _run("ip", "link", "add", HOST_LINK, "type", "veth", "peer", "name", UPLINK, "netns", first)
    _run("ip", "address", "add", f"{HOST_ADDRESS}/{PREFIX_LENGTH}", "dev", HOST_LINK)
    _run("ip", "link", "set", HOST_LINK, "up")
    _run("ip", "route", "add", SERVICE_RANGE, "via", NODE_ADDRESS)
    return holder


def _node_is_ready(admin: Kubectl) -> bool:
    if not (RUN / "etc" / "api" / "apiserver.crt").exists():
        return False
    try:
        nodes = admin.json("get", "nodes")["items"]
        admin("get", "serviceaccount", "default", "-n", "default")
    except KubectlError:
        return False
    return any(
        c["type"] == "Ready" and c["status"] == "True"
        for node in nodes
        for c in node["status"].get("conditions", [])
    )


def _until_ready(holder: subprocess.Popen[bytes], is_so: Callable[[], bool]) -> None:
    deadline = time.monotonic() + READY_WITHIN_S
    while not is_so():
        if holder.poll() is not None or time.monotonic() > deadline:
            raise SystemExit(
                "cluster: it did not come up: "
                f"{(RUN / 'daemons' / 'node.log').read_text().strip() or 'not Ready in time'}"
            )
        time.sleep(0.1)


def _end(holder: int) -> None:
    """No process of the namespaces is left: their first one ends, and the kernel ends the
    others.
    """
    for child in _children(holder):
        with contextlib.suppress(ProcessLookupError):
            os.kill(child, signal.SIGKILL)
    deadline = time.monotonic() + GONE_WITHIN_S
    while _is_alive(holder):
        with contextlib.suppress(ChildProcessError):
            os.waitpid(holder, os.WNOHANG)
        if time.monotonic() > deadline:
            raise SystemExit(f"cluster: process {holder} does not end")
        time.sleep(0.05)


def _sweep() -> None:
    """No link, cgroup or file of a cluster is left; no process of one runs any more."""
    # Gone with the namespace, which the kernel takes apart a moment after its last process.
    subprocess.run(["ip", "link", "delete", HOST_LINK], capture_output=True)
    deadline = time.monotonic() + GONE_WITHIN_S
    groups = [hierarchy / CGROUP for hierarchy in cgroup_hierarchies()]
    while any(group.exists() for group in groups):
        for group in groups:
            for folder, _, _ in os.walk(group, topdown=False):
                with contextlib.suppress(OSError):
                    Path(folder).rmdir()
        if time.monotonic() > deadline:
            raise SystemExit(
                f"cluster: cgroups are left: {[str(group) for group in groups if group.exists()]}"
            )
        time.sleep(0.05)
    shutil.rmtree(RUN, ignore_errors=True)


def _holder() -> int | None:
    """Process id of the running `unshare`, or None. A number that another process has by now is not
    one.
    """
    try:
        pid = int((RUN / "pid").read_text())
        return (
            pid
            if b"dev.cluster.node" in (Path("/proc") / str(pid) / "cmdline").read_bytes()
            else None
        )
    except (OSError, ValueError):
        return None


def _is_alive(pid: int) -> bool:
    try:
        return (Path("/proc") / str(pid) / "stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False


def _children(pid: int) -> list[int]:
    try:
        return [
            int(word)
            for word in (Path("/proc") / str(pid) / "task" / str(pid) / "children")
            .read_text()
            .split()
        ]
    except OSError:
        return []


def _in_own_network(pid: int) -> bool:
    try:
        return (Path("/proc") / str(pid) / "ns" / "net").readlink() != Path(
            "/proc/self/ns/net"
        ).readlink()
    except OSError:
        return False


@contextlib.contextmanager
def _alone() -> Iterator[None]:
    """Nobody else brings a cluster up or down meanwhile."""
    RUN.parent.mkdir(parents=True, exist_ok=True)
    with (RUN.parent / f"{RUN.name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _run(*command: str) -> None:
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(
            f"cluster: `{' '.join(command)}` ended with {done.returncode}: {done.stderr.strip()}"
        )


def say(text: str) -> None:
    """Tell a person what goes on."""
    print(f"cluster: {text}", file=sys.stderr, flush=True)
