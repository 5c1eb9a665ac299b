"""The controllers of other projects, compiled from their Go modules and run against the cluster.

    <cache>/controller-<name>-<version>-<key>/
        controller        the program
        manifests.yaml    what its project installs: CRDs, rights, webhooks (Kustomize output)
        READY             written last: present = complete

A controller runs on this machine, outside of the cluster, with the admin's kubeconfig. The API server
reaches its webhooks at this machine's end of the veth pair, by a certificate of ours.

    with controllers.running(cluster, "lws"):
        ...

Needs Go as `binaries` does. Compiling all of them takes two cores about twenty minutes, once.
"""

from __future__ import annotations

import base64
import contextlib
import fcntl
import hashlib
import json
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml
from dev.cluster.binaries import folder as kubernetes_folder
from dev.cluster.binaries import go_compiler, run, say
from dev.cluster.client import Cluster
from dev.cluster.kubectl import KubectlError
from dev.cluster.layout import HOST_ADDRESS, RUN
from dev.setup_vllm import cache_dir

READY_WITHIN_S = 120.0
_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
"""A megabyte of schemas takes the other one ten times as long."""
_SERVING = "k8s-webhook-server/serving-certs"
"""Where controller-runtime looks for its certificate, below the temporary folder."""
_NOT_OURS = ("Deployment", "Certificate", "Issuer", "Service", "ServiceMonitor", "Secret")
"""Kinds of manifests that are for a controller within the cluster."""
_LATER = ("ClusterStorageContainer", "LLMInferenceServiceConfig")
"""Objects of the controller's own kinds: its webhooks have to answer first."""


@dataclass(frozen=True, slots=True)
class Controller:
    """One program. `manifests`: folders for Kustomize, or files, below the module; `other`: the same
    of another module. `flags`: with `{probes}` and `{hooks}` for ports and `{config}` for the file of
    `config`, which may name the folder of `{certificates}`. `ready`: the path that answers 200 when it runs.
    """

    module: str
    version: str
    package: str
    manifests: tuple[str, ...]
    flags: tuple[str, ...]
    other: tuple[tuple[str, str], ...] = ()
    config: str = ""
    ready: str = "/readyz"
    environment: Mapping[str, str] = field(default_factory=dict)


_LWS_CONFIG = """\
apiVersion: config.lws.x-k8s.io/v1alpha1
kind: Configuration
health: {{healthProbeBindAddress: "127.0.0.1:{probes}"}}
metrics: {{bindAddress: "0"}}
webhook: {{port: {hooks}, certDir: "{certificates}"}}
leaderElection: {{leaderElect: false}}
internalCertManagement: {{enable: false}}
"""
_RAY_KINDS = ("rayclusters", "rayservices", "rayjobs")
_KSERVE = ("github.com/kserve/kserve", "v0.20.0")
CONTROLLERS: dict[str, Controller] = {
    "lws": Controller(
        "sigs.k8s.io/lws",
        "v0.9.0",
        "/cmd",
        ("config/default",),
        ("--config={config}",),
        config=_LWS_CONFIG,
    ),
    "kuberay": Controller(
        "github.com/ray-project/kuberay/ray-operator",
        "v1.6.0",
        "",
        # Of every kind that it watches: without one the operator ends after two minutes.
        tuple(f"config/crd/bases/ray.io_{kind}.yaml" for kind in _RAY_KINDS),
        (
            "--metrics-addr=0",
            "--health-probe-bind-address=127.0.0.1:{probes}",
            "--enable-leader-election=false",
            "--use-kubernetes-proxy",
        ),
        # Without DNS no init container finds the head; its Service needs an address.
        environment={
            "ENABLE_INIT_CONTAINER_INJECTION": "false",
            "ENABLE_RAY_HEAD_CLUSTER_IP_SERVICE": "true",
        },
    ),
    "kserve": Controller(
        *_KSERVE,
        "/cmd/manager",
        ("config/overlays/standalone/kserve",),
        ("--metrics-addr=0", "--health-probe-addr=127.0.0.1:{probes}", "--webhook-port={hooks}"),
        environment={"POD_NAMESPACE": "kserve"},
    ),
    "kserve-llmisvc": Controller(
        *_KSERVE,
        "/cmd/llmisvc",
        ("config/overlays/standalone/llmisvc", "config/llmisvcconfig"),
        (
            "--metrics-addr=0",
            "--metrics-secure=false",
            "--health-probe-addr=127.0.0.1:{probes}",
            "--webhook-port={hooks}",
        ),
        other=(("sigs.k8s.io/gateway-api", "config/crd"),),
        environment={"POD_NAMESPACE": "kserve"},
    ),
    "rollouts": Controller(
        "github.com/argoproj/argo-rollouts",
        "v1.9.1",
        "/cmd/rollouts-controller",
        ("manifests/crds",),
        ("--leader-elect=false", "--metricsPort={hooks}", "--healthzPort={probes}"),
        ready="/healthz",
    ),
}


def folder(name: str) -> Path:
    """Folder of that controller as this recipe makes it."""
    found = CONTROLLERS[name]
    recipe = repr((found.module, found.version, found.package, found.manifests, found.other))
    key = hashlib.sha256(recipe.encode()).hexdigest()[:8]
    return cache_dir() / f"controller-{name}-{found.version}-{key}"


def are_built() -> bool:
    """True if no controller has to be compiled."""
    return all((folder(name) / "READY").exists() for name in CONTROLLERS)


def build(*names: str) -> None:
    """Compile what is missing. Errors: SystemExit that says what went wrong."""
    wanted = [name for name in names or CONTROLLERS if not (folder(name) / "READY").exists()]
    if not wanted:
        return
    cache_dir().mkdir(parents=True, exist_ok=True)
    with (cache_dir() / "controllers.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        caches = {
            "GOMODCACHE": str(cache_dir() / "go-modules"),
            "GOCACHE": str(cache_dir() / "go-build"),
        }
        settings = {"GOTOOLCHAIN": "local", "CGO_ENABLED": "0", "GOFLAGS": ""}
        environment = {**os.environ, **caches, **settings}
        go = go_compiler(cache_dir() / "go-compiler")
        for name in wanted:
            if not (folder(name) / "READY").exists():
                _compile(name, go, environment)
        if are_built():
            run([go, "clean", "-cache", "-modcache"], env=environment)
            for leftover in (*map(Path, caches.values()), cache_dir() / "go-compiler"):
                shutil.rmtree(leftover, ignore_errors=True)


def _compile(name: str, go: str, environment: dict[str, str]) -> None:
    """A module of our own requires the controller's: its `replace` lines then hold, too."""
    found, target = CONTROLLERS[name], folder(name)
    began = time.monotonic()
    say(f"compiling {name} {found.version}: minutes, once")
    source = Path(environment["GOMODCACHE"]) / f"{found.module}@{found.version}"
    target.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as scratch:
        run([go, "mod", "init", "barostat.test/first"], Path(scratch), environment)
        asked = [go, "mod", "download", f"{found.module}@{found.version}"]
        run(asked, Path(scratch), environment)
        for file in ("go.mod", "go.sum"):
            (Path(scratch) / file).write_bytes((source / file).read_bytes())
        require = f"-require={found.module}@{found.version}"
        run([go, "mod", "edit", "-module=barostat.test/run", require], Path(scratch), environment)
        program = str(target / "controller")
        flags = ["-mod=mod", "-trimpath", "-ldflags", "-s -w", "-o", program]
        run([go, "build", *flags, found.module + found.package], Path(scratch), environment)
        places = [source / path for path in found.manifests]
        for module, path in found.other:
            listed = [go, "list", "-mod=mod", "-m", "-f", "{{.Dir}}", module]
            where = subprocess.run(
                listed, cwd=scratch, env=environment, capture_output=True, text=True, check=True
            )
            places.append(Path(where.stdout.strip()) / path)
        (target / "manifests.yaml").write_text("\n---\n".join(map(_rendered, places)))
    (target / "READY").write_text(found.version + "\n")
    say(f"{name} {found.version} is ready after {time.monotonic() - began:.0f} s")


def _rendered(place: Path) -> str:
    if place.is_file():
        return place.read_text()
    kubectl = kubernetes_folder() / "bin" / "kubectl"
    command = [str(kubectl), "kustomize", str(place)]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


@contextlib.contextmanager
def running(cluster: Cluster, *names: str) -> Iterator[None]:
    """These controllers work on the cluster; afterwards they have ended, and their webhooks with
    them. Their CRDs stay.

    Errors: SystemExit where one is not built, or does not get ready.
    """
    with contextlib.ExitStack() as stack:
        for name in names:
            stack.enter_context(_one(cluster, name))
        yield


@contextlib.contextmanager
def _one(cluster: Cluster, name: str) -> Iterator[None]:
    found, target = CONTROLLERS[name], folder(name)
    if not (target / "READY").exists():
        raise SystemExit(f"cluster: {name} is not built: python -m dev.cluster build")
    with tempfile.TemporaryDirectory(dir=RUN if RUN.exists() else None) as scratch:
        ports = {"probes": _free_port(), "hooks": _free_port()}
        certificate = _certificate(Path(scratch))
        documents = [
            _for_this_machine(document, ports["hooks"], certificate)
            for document in yaml.load_all((target / "manifests.yaml").read_text(), _LOADER)
            if document and document["kind"] not in _NOT_OURS
        ]
        first = [document for document in documents if document["kind"] not in _LATER]
        hooks = [
            document for document in first if document["kind"].endswith("WebhookConfiguration")
        ]
        _apply(cluster, [document for document in first if document not in hooks])
        _until_served(cluster, first)
        config = Path(scratch) / "config.yaml"
        config.write_text(found.config.format(certificates=Path(scratch) / _SERVING, **ports))
        flags = [flag.format(config=config, **ports) for flag in found.flags]
        environment = {
            "PATH": os.environ["PATH"],
            "KUBECONFIG": str(cluster.kubeconfig("admin")),
            "TMPDIR": scratch,  # webhook certificates are looked for below it
            "HOME": scratch,
            **found.environment,
        }
        log = (RUN if RUN.exists() else Path(scratch)) / f"{name}.log"
        with log.open("wb") as output:
            process = subprocess.Popen(
                [str(target / "controller"), *flags],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                env=environment,
                cwd=scratch,
                start_new_session=True,
            )
        try:
            _until_ready(process, f"http://127.0.0.1:{ports['probes']}{found.ready}", log)
            _apply(cluster, hooks)
            _apply(cluster, [document for document in documents if document["kind"] in _LATER])
            yield
        finally:
            for hook in hooks:
                with contextlib.suppress(KubectlError):
                    cluster.admin("delete", hook["kind"], hook["metadata"]["name"])
            process.send_signal(signal.SIGTERM)
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def _apply(cluster: Cluster, documents: list[dict[str, Any]]) -> None:
    if not documents:
        return
    text = json.dumps({"apiVersion": "v1", "kind": "List", "items": documents})
    command = ("apply", "--server-side", "--force-conflicts", "-f", "-")
    deadline = time.monotonic() + 30.0
    while True:  # a new CRD is served, and a webhook heard, a moment later
        try:
            cluster.admin(*command, stdin=text)
            return
        except KubectlError:
            if time.monotonic() > deadline:
                raise
            time.sleep(1.0)


def _until_served(cluster: Cluster, documents: list[dict[str, Any]]) -> None:
    """The API server answers for every new kind: a controller that starts before ends at once."""
    deadline = time.monotonic() + READY_WITHIN_S
    made = [one for one in documents if one["kind"] == "CustomResourceDefinition"]
    for name in [one["metadata"]["name"] for one in made]:
        while True:
            try:
                cluster.admin("get", name, "-A", "--chunk-size=1", "-o", "name")
                break
            except KubectlError:
                if time.monotonic() > deadline:
                    raise
                time.sleep(0.5)


def _for_this_machine(document: dict[str, Any], port: int, certificate: str) -> dict[str, Any]:
    """Its webhooks are asked at this machine."""
    clients = [hook["clientConfig"] for hook in document.get("webhooks") or ()]
    conversion = (document.get("spec") or {}).get("conversion") or {}
    if document["kind"] == "CustomResourceDefinition" and "webhook" in conversion:
        clients.append(conversion["webhook"]["clientConfig"])
    for client in clients:
        service = client.pop("service", {})
        path = service.get("path", "/convert")
        client["url"] = f"https://{HOST_ADDRESS}:{port}{path}"
        client["caBundle"] = certificate
    document["metadata"].pop("creationTimestamp", None)
    annotations = document["metadata"].get("annotations") or {}
    annotations.pop("cert-manager.io/inject-ca-from", None)
    return document


def _certificate(scratch: Path) -> str:
    """A serving certificate of this machine's address, where controller-runtime looks for one."""
    place = scratch / _SERVING
    place.mkdir(parents=True)
    curve = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256"]
    names = ["-subj", "/CN=barostat-tests", "-addext", f"subjectAltName=IP:{HOST_ADDRESS}"]
    files = ["-keyout", str(place / "tls.key"), "-out", str(place / "tls.crt")]
    command = ["openssl", "req", "-x509", *curve, "-nodes", "-days", "30", *names, *files]
    subprocess.run(command, check=True, capture_output=True)
    return base64.b64encode((place / "tls.crt").read_bytes()).decode()


def _until_ready(process: subprocess.Popen[bytes], url: str, log: Path) -> None:
    deadline = time.monotonic() + READY_WITHIN_S
    while True:
        with contextlib.suppress(urllib.error.URLError, ConnectionError, TimeoutError):
            if urllib.request.urlopen(url, timeout=2.0).status == 200:
                return
        if process.poll() is not None or time.monotonic() > deadline:
            last = log.read_text(errors="replace").strip().splitlines()[-5:]
            raise SystemExit(f"cluster: {log.stem} did not get ready: " + " | ".join(last))
        time.sleep(0.3)


def _free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("", 0))
        return int(listener.getsockname()[1])
