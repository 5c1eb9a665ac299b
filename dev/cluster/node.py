"""The node: process 1 of the cluster's own namespaces (pid, mount, network), started by `up` and
ended by `down`.

    python -m dev.cluster.node FOLDER_OF_BINARIES        only within `unshare --pid --mount --net`

Everything that the cluster makes is made in here: /run, /var/lib and /var/log are its own, so are
the bridge, the rules of kube-proxy and every process. When this process ends the kernel ends all of
them and takes all of it away. What lies outside of namespaces, cgroups and the folder of the run,
`down` removes.

A daemon that ends by itself ends the cluster: its log says why.
"""

from __future__ import annotations

import json
import os
import resource
import signal
import socket
import ssl
import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path
from typing import NoReturn

from dev.cluster import binaries, control_plane, images
from dev.cluster.control_plane import Daemon
from dev.cluster.layout import (
    API_PORT,
    API_URL,
    BRIDGE,
    CGROUP,
    CGROUPS,
    NODE_ADDRESS,
    PREFIX_LENGTH,
    RUN,
)

UPLINK = "uplink"
BRIDGE_HARDWARE_ADDRESS = "02:00:c6:12:00:01"
STARTED_WITHIN_S = 60.0
# The kubelet sets these; they belong to the whole machine, so it gets copies to write to.
MACHINE_SYSCTLS = (
    "vm/overcommit_memory",
    "vm/panic_on_oom",
    "kernel/panic",
    "kernel/panic_on_oops",
    "kernel/keys/root_maxkeys",
    "kernel/keys/root_maxbytes",
)
# Against one busy process outside of the cluster, all pods together weigh four.
CPU_SHARES = 4096


def main(target: Path) -> NoReturn:
    """The node runs until SIGTERM or until a daemon ends."""
    if os.getpid() != 1:
        sys.exit("node: is to be process 1 of namespaces of its own; `make cluster` starts it")
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    etc = RUN / "etc"
    mount_own_folders()
    raise_network()
    make_cgroups()
    control_plane.write_configuration(etc, target / "debian" / "usr" / "lib" / "cni")
    environment = binaries.environment(target)
    write_base_spec(etc, environment)
    daemons = {start(daemon, environment): daemon.name for daemon in control_plane.foundation(etc)}
    _until("etcd listens", lambda: _listens("127.0.0.1", 2379))
    daemons[start(control_plane.api_server(etc), environment)] = "kube-apiserver"
    import_images(target, environment)
    _until("the API server is ready", _api_is_ready)
    daemons |= {start(daemon, environment): daemon.name for daemon in control_plane.the_rest(etc)}
    supervise(daemons)


def mount_own_folders() -> None:
    """/run, /var/lib and /var/log belong to the node, and so do the sysctls that the kubelet wants
    to set.
    """
    _run("mount", "--make-rshared", "/")
    for place in ("lib", "log"):
        (RUN / place).mkdir(exist_ok=True)
        _run("mount", "--bind", str(RUN / place), f"/var/{place}")
    _run("mount", "-t", "tmpfs", "-o", "mode=755", "tmpfs", "/run")
    copies = RUN / "sysctls"
    for name in MACHINE_SYSCTLS:
        copy = copies / name
        copy.parent.mkdir(parents=True, exist_ok=True)
        copy.write_text((Path("/proc/sys") / name).read_text())
        _run("mount", "--bind", str(copy), f"/proc/sys/{name}")


def raise_network() -> None:
    """The bridge has the node's address, and this machine's end of the veth pair is on it."""
    _until(
        "the link to the machine is there",
        lambda: UPLINK in {name for _, name in socket.if_nameindex()},
    )
    _run("ip", "link", "set", "lo", "up")
    # An address of its own: else it takes the lowest of its ports', and with each new pod the
    # machine may look for the node in vain.
    _run("ip", "link", "add", BRIDGE, "address", BRIDGE_HARDWARE_ADDRESS, "type", "bridge")
    _run("ip", "address", "add", f"{NODE_ADDRESS}/{PREFIX_LENGTH}", "dev", BRIDGE)
    _run("ip", "link", "set", UPLINK, "master", BRIDGE)
    for link in (BRIDGE, UPLINK):
        _run("ip", "link", "set", link, "up")
    Path("/proc/sys/net/ipv4/ip_forward").write_text("1")


def make_cgroups() -> None:
    """Every hierarchy of cgroup v1 (or the one of v2) has our group, within which the kubelet makes
    its own.
    """
    for hierarchy in cgroup_hierarchies():
        group = hierarchy / CGROUP
        group.mkdir(exist_ok=True)
        for name in ("cpuset.cpus", "cpuset.mems"):
            if (group / name).exists() and hierarchy.name == "cpuset":
                (group / name).write_text((hierarchy / name).read_text())
        if (group / "cpu.shares").exists():
            (group / "cpu.shares").write_text(str(CPU_SHARES))


def cgroup_hierarchies() -> list[Path]:
    """The mounted hierarchies."""
    if (CGROUPS / "cgroup.controllers").exists():
        return [CGROUPS]
    return sorted(
        path for path in CGROUPS.iterdir() if path.is_dir() and (path / "cgroup.procs").exists()
    )


def write_base_spec(etc: Path, environment: dict[str, str]) -> None:
    """Under etc lies the specification of every container: containerd's own, with this machine's
    programs mounted.
    """
    spec = json.loads(_run("ctr", "oci", "spec", environment=environment))
    spec["mounts"] += images.mounts()
    # The default would be 1,024 open files: too few for hundreds of streams.
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    spec["process"]["rlimits"] = [{"type": "RLIMIT_NOFILE", "hard": most, "soft": most}]
    (etc / "base-spec.json").write_text(json.dumps(spec))


def import_images(target: Path, environment: dict[str, str]) -> None:
    """containerd has the images."""
    folder = RUN / "images"
    folder.mkdir(exist_ok=True)
    _until("containerd listens", lambda: Path(control_plane.CONTAINERD_SOCKET).exists())
    for number, image in enumerate(images.all_images(target / "bin" / "busybox")):
        archive = folder / f"{number}.tar"
        images.write_archive(image, archive)
        _run("ctr", "-n", "k8s.io", "images", "import", str(archive), environment=environment)


def start(daemon: Daemon, environment: dict[str, str]) -> int:
    """Process id of the started daemon."""
    logs = RUN / "daemons"
    logs.mkdir(exist_ok=True)
    with (logs / f"{daemon.name}.log").open("wb") as log:
        program = binaries.folder() / "bin" / daemon.command[0]
        process = subprocess.Popen(
            [str(program), *daemon.command[1:]],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            env=environment,
            cwd="/",
        )
    process.returncode = (
        0  # supervise() reaps it: a Popen that is forgotten would wait for it and warn
    )
    return process.pid


def supervise(daemons: dict[int, str]) -> NoReturn:
    """Reaps whoever ends, until a daemon does."""
    while True:
        pid, status = os.wait()
        if pid in daemons:
            sys.exit(
                f"node: {daemons[pid]} ended with {os.waitstatus_to_exitcode(status)}; "
                f"{RUN / 'daemons' / daemons[pid]}.log says why"
            )


def _listens(host: str, port: int) -> bool:
    with socket.socket() as client:
        client.settimeout(0.2)
        return client.connect_ex((host, port)) == 0


def _api_is_ready() -> bool:
    if not _listens(NODE_ADDRESS, API_PORT):
        return False
    # The certificate is not looked at: /readyz is asked without a token, over the node's own
    # bridge.
    context = ssl._create_unverified_context()
    try:
        with urllib.request.urlopen(f"{API_URL}/readyz", timeout=2, context=context) as answer:
            return int(answer.status) == 200
    except (urllib.error.URLError, OSError):
        return False


def _until(what: str, is_so: object) -> None:
    assert callable(is_so)
    deadline = time.monotonic() + STARTED_WITHIN_S
    while not is_so():
        if time.monotonic() > deadline:
            sys.exit(f"node: not so after {STARTED_WITHIN_S:.0f} s: {what}")
        time.sleep(0.05)


def _run(*command: str, environment: dict[str, str] | None = None) -> str:
    done = subprocess.run(command, capture_output=True, text=True, env=environment)
    if done.returncode:
        sys.exit(f"node: `{' '.join(command)}` ended with {done.returncode}: {done.stderr.strip()}")
    return done.stdout


if __name__ == "__main__":
    main(Path(sys.argv[1]))
