"""A cluster as tests and benchmarks use it: three people's kubectl, and a namespace of one's own
with waiting and reading.

with cluster.workspace("surge") as space:
    space.apply(workloads.vllm(replicas=2))
    space.wait_ready("deploy/vllm", within_s=180)
    space.metrics(space.pods("app=vllm")[0].name)
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import socket
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from dev.cluster.control_plane import AUDIT_LOG
from dev.cluster.kubectl import Kubectl, KubectlError
from dev.cluster.layout import RUN
from dev.cluster.workloads import PORT, Manifest, as_list

Seen = TypeVar("Seen")
_OF_CONTROLLERS = (
    "leaderworkersets.leaderworkerset.x-k8s.io",
    "inferenceservices.serving.kserve.io",
    "llminferenceservices.serving.kserve.io",
    "rayservices.ray.io",
    "rayclusters.ray.io",
    "rollouts.argoproj.io",
)
"""Workloads of other projects' controllers, which have to be running when these are deleted."""
POLL_S = 0.5
# On a namespace: the process that uses it.
OWNER_LABEL = "barostat.dev/used-by-process"
READY_WITHIN_S = 240.0


@dataclass(frozen=True, slots=True)
class Cluster:
    """A reachable cluster: a folder with a kubeconfig for admin, observer and operator each."""

    folder: Path

    def kubeconfig(self, person: str) -> Path:
        """The kubeconfig of admin, observer or operator."""
        return self.folder / person

    def kubectl(self, person: str, namespace: str | None = None) -> Kubectl:
        """kubectl as that person."""
        return Kubectl(self.kubeconfig(person), namespace)

    @property
    def admin(self) -> Kubectl:
        """kubectl with all rights."""
        return self.kubectl("admin")

    @contextlib.contextmanager
    def workspace(self, name: str) -> Iterator[Workspace]:
        """A namespace of that name (made fit for one), gone afterwards with all its pods."""
        namespace = (
            re.sub(r"[^a-z0-9-]+", "-", name.lower()).strip("-")[:50] + f"-{os.urandom(2).hex()}"
        )
        self.admin("create", "namespace", namespace)
        self.admin("label", "namespace", namespace, f"{OWNER_LABEL}={os.getpid()}")
        space = Workspace(self, namespace)
        try:
            yield space
        finally:
            space.remove()

    def remove_orphans(self) -> None:
        """No workspace is left whose process has ended without removing it."""
        for namespace in self.admin.json("get", "namespaces", "-l", OWNER_LABEL)["items"]:
            if not (Path("/proc") / namespace["metadata"]["labels"][OWNER_LABEL]).exists():
                Workspace(self, namespace["metadata"]["name"]).remove()


@dataclass(frozen=True, slots=True)
class Pod:
    """A pod as `kubectl get -o json` shows it, with what is asked of it most."""

    object: dict[str, Any]

    @property
    def name(self) -> str:
        """metadata.name."""
        return str(self.object["metadata"]["name"])

    @property
    def ip(self) -> str:
        """status.podIP, or "" before there is one. On our cluster this machine reaches it."""
        return str(self.object["status"].get("podIP", ""))

    @property
    def is_ready(self) -> bool:
        """The condition Ready is True and nobody has asked for its end."""
        conditions = self.object["status"].get("conditions", [])
        return "deletionTimestamp" not in self.object["metadata"] and any(
            c["type"] == "Ready" and c["status"] == "True" for c in conditions
        )

    @property
    def status(self) -> dict[str, Any]:
        """Status of its first container; empty before there is one."""
        return next(iter(self.object["status"].get("containerStatuses", [])), {})

    @property
    def restarts(self) -> int:
        """How often its first container was started again."""
        return int(self.status.get("restartCount", 0))

    @property
    def waits_for(self) -> str:
        """Why its first container does not run ("CrashLoopBackOff"), or why it has no node
        ("Unschedulable"), or "".
        """
        scheduled: dict[str, Any] = next(
            (c for c in self.object["status"].get("conditions", []) if c["type"] == "PodScheduled"),
            {},
        )
        return str(
            self.status.get("state", {}).get("waiting", {}).get("reason", "")
            or scheduled.get("reason", "")
        )

    @property
    def last_end(self) -> dict[str, Any]:
        """How its first container ended last: {reason, exitCode, ...}, now or the time before;
        empty if it never did.
        """
        state = self.status.get("state", {}).get("terminated") or self.status.get(
            "lastState", {}
        ).get("terminated")
        return dict(state or {})


@dataclass(frozen=True, slots=True)
class Workspace:
    """A namespace of one's own."""

    cluster: Cluster
    namespace: str

    @property
    def kubectl(self) -> Kubectl:
        """kubectl as admin in this namespace."""
        return self.cluster.kubectl("admin", self.namespace)

    def as_person(self, person: str) -> Kubectl:
        """kubectl as observer or operator in this namespace."""
        return self.cluster.kubectl(person, self.namespace)

    def apply(self, manifests: Sequence[Manifest]) -> None:
        """The objects are as the manifests say."""
        self.kubectl("apply", "-f", "-", stdin=as_list(manifests))

    def get(self, what: str) -> Any:
        """An object ("deploy/vllm") or a list's items ("pods"), as JSON."""
        found = self.kubectl.json("get", what)
        return found["items"] if found.get("kind", "").endswith("List") else found

    def delete(self, what: str) -> None:
        """The object is gone, and for a pod its processes."""
        self.kubectl("delete", what, "--ignore-not-found", timeout_s=120)

    def pods(self, selector: str = "") -> list[Pod]:
        """The pods, oldest first."""
        found = self.kubectl.json("get", "pods", "-l", selector)["items"]
        return sorted(
            map(Pod, found), key=lambda pod: (pod.object["metadata"]["creationTimestamp"], pod.name)
        )

    def until(
        self,
        what: str,
        look: Callable[[], Seen | None],
        within_s: float = 120.0,
        every_s: float = POLL_S,
    ) -> Seen:
        """The first look that is neither None nor False. Repeated at once, one that asks kubectl
        takes a third of a core.

        Errors: TimeoutError that says what, and how the pods are.
        """
        deadline = time.monotonic() + within_s
        while not (seen := look()):
            if time.monotonic() > deadline:
                raise TimeoutError(
                    f"not so after {within_s:.0f} s: {what}\n"
                    + self.kubectl("get", "pods,events", "-o", "wide")
                )
            time.sleep(every_s)
        return seen

    def wait_ready(self, what: str, within_s: float = READY_WITHIN_S) -> None:
        """The rollout ("deploy/vllm") is complete: every replica is new and Ready. Errors:
        KubectlError.
        """
        self.kubectl(
            "rollout", "status", what, f"--timeout={within_s:.0f}s", timeout_s=within_s + 10
        )

    def pod(self, selector: str, is_so: Callable[[Pod], bool], within_s: float = 120.0) -> Pod:
        """The first pod of which that is so. Errors: TimeoutError."""
        return self.until(
            f"a pod of {selector}",
            lambda: next((pod for pod in self.pods(selector) if is_so(pod)), None),
            within_s,
        )

    def logs(self, pod: str, *, previous: bool = False) -> str:
        """What its container printed, or the one before printed. Errors: KubectlError."""
        return self.kubectl("logs", pod, *(["--previous"] if previous else []))

    def metrics(self, pod: str, person: str = "observer", port: int = PORT) -> str:
        """/metrics of the pod, through the API server's pod proxy. Errors: KubectlError."""
        return self.as_person(person)(
            "get", "--raw", f"/api/v1/namespaces/{self.namespace}/pods/{pod}:{port}/proxy/metrics"
        )

    def url(self, service: str) -> str:
        """Base address of a Service that has somebody Ready, once kube-proxy leads there; only our
        own cluster's can be reached from this machine. Errors: TimeoutError.
        """
        address = self.get(f"service/{service}")["spec"]["clusterIP"]

        def leads_there() -> bool:
            with (
                contextlib.suppress(OSError),
                socket.create_connection((address, PORT), timeout=2.0),
            ):
                return True
            return False

        self.until(f"Service {service} at {address} takes connections", leads_there, 30)
        return f"http://{address}:{PORT}"

    def ready_addresses(self, service: str) -> list[str]:
        """The addresses that the Service's EndpointSlices call ready."""
        slices = self.kubectl.json(
            "get", "endpointslices", "-l", f"kubernetes.io/service-name={service}"
        )["items"]
        ends = [
            end
            for one in slices
            for end in one.get("endpoints") or []
            if end.get("conditions", {}).get("ready")
        ]
        return sorted(address for end in ends for address in end["addresses"])

    def written_by(self, person: str) -> list[tuple[str, str, str]]:
        """(verb, resource, name) of each write of that person in the namespace, as the API server's
        audit log has them; only our own cluster keeps one.
        """
        found = []
        for line in (RUN / "etc" / AUDIT_LOG).read_text().splitlines():
            entry = json.loads(line)
            about = entry.get("objectRef", {})
            by = entry["user"]["username"].rpartition(":")[2]
            dry = "dryRun" in entry["requestURI"] or entry["verb"] in ("get", "list", "watch")
            if by == f"barostat-{person}" and about.get("namespace") == self.namespace and not dry:
                found.append((entry["verb"], about["resource"], about.get("name", "")))
        return found

    def remove(self) -> None:
        """No pod of it is left, and the namespace is on its way out."""
        crds = self.cluster.admin("get", "crds", "-o", "name")
        for kind in _OF_CONTROLLERS:
            if f"/{kind}" in crds:
                with contextlib.suppress(KubectlError):
                    self.kubectl("delete", kind, "--all", timeout_s=120)
        # Owners first and alone, so that nobody makes the pods anew and nobody asks them to end
        # with their own, long grace period.
        with contextlib.suppress(KubectlError):
            self.kubectl(
                "delete",
                "deployments,replicasets,statefulsets,jobs",
                "--all",
                "--cascade=orphan",
                timeout_s=120,
            )
        with contextlib.suppress(KubectlError):
            self.kubectl("delete", "pods", "--all", "--grace-period=1", timeout_s=120)
        self.cluster.admin("delete", "namespace", self.namespace, "--wait=false")
