"""Pods and the container in them that runs vLLM.

Source: core/v1 PodSpec; images and charts of vLLM, production-stack, llm-d and KServe.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from barostat.platform.objects import (
    Object,
    condition,
    count,
    instant,
    items,
    mapping,
    name_of,
    objects,
    quantity,
    sequence,
    text,
    value,
)

DEFAULT_SHM_BYTES = 64.0 * 2**20
"""Default size of /dev/shm in container runtimes."""
RAY_CLUSTER = "ray.io/cluster"
"""KubeRay's label of a cluster's pods: the cluster's name."""

_LONGEST_START_S = 7200.0
"""A pod that became Ready later than this was Ready before and recovered."""
_COMMAND = re.compile(
    r"\bvllm\s+serve\b|vllm[./]entrypoints|\bvllm-(?:openai|serve)\b|api_server\.py"
)
_RAY = re.compile(r"\bray\s+start\b|multi-node-serving\.sh\s+worker")
_ROUTER = re.compile(r"router|gateway|proxy|exporter|metrics|sidecar", re.IGNORECASE)
_OWN_IMAGE = re.compile(r"(?:^|/)vllm/vllm-[a-z-]+:v?(\d+\.\d+\.\d+)")
_NO_COMPUTE = re.compile(
    r"rdma|roce|infiniband|hca|efa|sriov|hostdev|fuse|^eni|^tun|kvm|vpc|netdev|network|shared-memory",
    re.IGNORECASE,
)
"""Devices other than accelerators that an engine's container may request."""
_VARIABLE = re.compile(r"\$(\$\([^)]*\))|\$\(([A-Za-z_][A-Za-z0-9_.-]*)\)")


@dataclass(frozen=True, slots=True)
class Container:
    """One container of a pod spec.

    Shapes: `args` is command and args together, with `$(NAME)` expanded from literal environment
    values. `env` holds literal values only.

    Units: `shm_bytes` is None if the spec does not bound it (the node's memory, or the host's
    /dev/shm).
    """

    name: str
    image: str = ""
    args: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict)
    env_names: tuple[str, ...] = ()
    limits: Mapping[str, str] = field(default_factory=dict)
    requests: Mapping[str, str] = field(default_factory=dict)
    ports: tuple[int, ...] = ()
    probes: Mapping[str, Object] = field(default_factory=dict)
    shm_bytes: float | None = DEFAULT_SHM_BYTES

    @property
    def memory_limit_bytes(self) -> float | None:
        return quantity(self.limits.get("memory"))

    @property
    def cpu_limit_cores(self) -> float | None:
        return quantity(self.limits.get("cpu"))

    @property
    def gpus(self) -> float:
        """GPUs in the limits."""
        return sum(
            quantity(amount) or 0.0 for name, amount in self.limits.items() if is_gpu_resource(name)
        )


@dataclass(frozen=True, slots=True)
class Pod:
    """One replica, from its pod; `document` is the whole object."""

    name: str
    namespace: str
    node: str | None
    args: tuple[str, ...]
    env: Mapping[str, str]
    image: str
    document: Object


def is_gpu_resource(name: str) -> bool:
    """True for `nvidia.com/gpu`, `nvidia.com/mig-1g.10gb`, `amd.com/gpu` and their like."""
    vendor, _, what = name.partition("/")
    return vendor.endswith((".com", ".ai", ".org")) and (
        what.startswith(("gpu", "mig-")) or what.endswith("gpu")
    )


def is_other_device(name: str) -> bool:
    """True for an extended resource that is no GPU by name and no network or file device:
    `google.com/tpu`, `habana.ai/gaudi`.
    """
    domain, _, what = name.partition("/")
    own = domain.endswith(("kubernetes.io", "k8s.io", "openshift.io")) or domain in (
        "rdma",
        "smarter-devices",
    )
    return bool(what) and not own and not is_gpu_resource(name) and _NO_COMPUTE.search(what) is None


def pods(documents: Mapping[str, Any]) -> list[Pod]:
    """Return the pods that run vLLM; all pods if none seems to."""
    found = [_pod(item) for item in items(documents.get("pods"))]
    ours = [pod for pod in found if looks_like_vllm(pod.document)]
    return ours or found


def _pod(item: Object) -> Pod:
    container = engine_container(item)
    return Pod(
        name=name_of(item),
        namespace=text(item, "metadata", "namespace"),
        node=text(item, "spec", "nodeName") or None,
        args=container.args if container else (),
        env=container.env if container else {},
        image=container.image if container else "",
        document=item,
    )


def find_pod(documents: Mapping[str, Any], name: str) -> Object | None:
    """Return the pod of that name, in any form that `pod_place` accepts; else the only vLLM-like
    pod; else None.
    """
    found = items(documents.get("pods"))
    place, bare = pod_place(name)
    for item in found:
        namespace, cluster = (
            text(item, "metadata", "namespace"),
            text(item, "metadata", "clusterName").replace("_", "/"),
        )
        if name_of(item) == bare and place in ("", namespace, cluster, f"{cluster}/{namespace}"):
            return item
    ours = [item for item in found if looks_like_vllm(item)]
    return ours[0] if len(ours) == 1 else None


def pod_finder(documents: Mapping[str, Any]) -> Callable[[str], Object | None]:
    """Return a `find_pod` for many names that indexes pods by full name."""
    by_full_name: dict[str, Object] = {}
    for item in items(documents.get("pods")):
        namespace = text(item, "metadata", "namespace")
        by_full_name.setdefault(f"{namespace}/{name_of(item)}", item)
    return lambda name: by_full_name.get(name) or find_pod(documents, name)


def last_start_s(documents: Mapping[str, Any], name: str) -> float | None:
    """Return the seconds from the start of the engine container until the pod was Ready; None if it
    is not Ready, became Ready again later, or is a node of Ray, which starts engines when it runs.
    """
    pod = find_pod(documents, name)
    container = engine_container(pod) if pod is not None else None
    if pod is None or container is None or _is_of_ray(pod):
        return None
    ready = condition(pod, "Ready")
    at = instant(ready, "lastTransitionTime") if ready.get("status") == "True" else None
    for status in objects(pod, "status", "containerStatuses"):
        began = instant(status, "state", "running", "startedAt")
        if text(status, "name") == container.name and began is not None and at is not None:
            return at - began if 0 < at - began <= _LONGEST_START_S else None
    return None


def engines_in(documents: Mapping[str, Any], name: str) -> str:
    """Return what several engines behind the pod's endpoint are called: on a node of Ray each is a
    replica of its own.
    """
    pod = find_pod(documents, name)
    of_ray = pod is not None and _is_of_ray(pod)
    return "Ray Serve replicas" if of_ray else "data-parallel engines"


def _is_of_ray(pod: Object) -> bool:
    return bool(text(pod, "metadata", "labels", RAY_CLUSTER))


def pod_place(name: str) -> tuple[str, str]:
    """Return (namespace, cluster/namespace or nothing) and the pod's name.

    Accepts `vllm-0`, `inference/vllm-0`, the file-name form `inference_vllm-0`, and the forms of
    Prometheus replicas `west/inference/vllm-0`, `vllm-0:8001`, `vllm-0@10.0.0.7:8000`.
    """
    place, _, bare = (
        name.partition("@")[0].replace("_", "/").rpartition("/")
    )  # names of pods and namespaces contain neither @ nor _
    return place, bare.partition(":")[0]


def image_version(pod: Object | None) -> str | None:
    """Return the version in the tag of vLLM's official image (`vllm/vllm-openai:v0.32.0`); None for
    other images.
    """
    container = engine_container(pod) if pod is not None else None
    found = _OWN_IMAGE.search(container.image) if container is not None else None
    return found[1] if found else None


def looks_like_vllm(pod: Object) -> bool:
    """True if one of its containers runs vLLM by its command, image or name."""
    return any(_likeness(container) > 2 for container in objects(pod, "spec", "containers"))


def starts_engine(template: Object) -> bool:
    """True if the engine container's command or image starts vLLM; False for a worker that joins a
    Ray cluster.
    """
    container = engine_container(template)
    if container is None:
        return False
    words = " ".join(container.args)
    by_image = bool(_OWN_IMAGE.search(container.image)) and not _RAY.search(words)
    return bool(_COMMAND.search(words)) or by_image


def engine_container(pod: Object) -> Container | None:
    """Return the container that runs vLLM, else the first one; None if the spec has none. `pod`: a
    pod or a pod template.
    """
    found = objects(pod, "spec", "containers")
    if not found:
        return None
    return _container(max(found, key=_likeness), pod)


def _likeness(container: Object) -> int:
    words = " ".join(command_words(container))
    image, name = text(container, "image"), text(container, "name")
    asks = mapping(container, "resources", "limits")
    helper = bool(_ROUTER.search(f"{name} {image.rpartition('/')[2]}"))
    points = 8 if _COMMAND.search(words) else 0
    points += 3 if "vllm" in image.lower() and not helper else 0
    points += 3 if "vllm" in name.lower() and not helper else 0
    return points + (2 if any(isinstance(key, str) and is_gpu_resource(key) for key in asks) else 0)


def _container(item: Object, pod: Object) -> Container:
    entries = objects(item, "env")
    env = {
        text(entry, "name"): text(entry, "value")
        for entry in entries
        if text(entry, "name") and "valueFrom" not in entry
    }
    limits = _amounts(item, "limits")
    return Container(
        name=text(item, "name"),
        image=text(item, "image"),
        args=tuple(_expanded(word, env) for word in command_words(item)),
        env=env,
        env_names=tuple(text(entry, "name") for entry in entries if text(entry, "name")),
        limits=limits,
        requests=_amounts(item, "requests"),
        ports=tuple(
            port
            for entry in objects(item, "ports")
            if (port := count(entry, "containerPort")) is not None
        ),
        probes={
            kind: mapping(item, f"{kind}Probe")
            for kind in ("liveness", "readiness", "startup")
            if isinstance(item.get(f"{kind}Probe"), dict)
        },
        shm_bytes=_shm_bytes(item, pod, limits),
    )


def _amounts(item: Object, kind: str) -> dict[str, str]:
    return {
        name: str(amount)
        for name, amount in mapping(item, "resources", kind).items()
        if isinstance(name, str)
        and isinstance(amount, str | int | float)
        and not isinstance(amount, bool)
    }


def container_named(pod: Object, name: str) -> Object:
    """Return the container of that name, or an empty object. `pod`: a pod, or a pod template."""
    return next(
        (item for item in objects(pod, "spec", "containers") if text(item, "name") == name), {}
    )


def command_words(container: Object) -> list[str]:
    """Return command and args as written, with unexpanded references."""
    return [
        word
        for key in ("command", "args")
        for word in sequence(container, key)
        if isinstance(word, str)
    ]


def _expanded(word: str, env: Mapping[str, str]) -> str:
    """Expand `$(NAME)` as the kubelet does: unknown names stay, `$$(NAME)` is a literal."""
    return _VARIABLE.sub(lambda found: found[1] or env.get(found[2], found[0]), word)


def _shm_bytes(item: Object, pod: Object, limits: Mapping[str, str]) -> float | None:
    if value(pod, "spec", "hostIPC") is True:
        return None
    mount = next(
        (
            entry
            for entry in objects(item, "volumeMounts")
            if text(entry, "mountPath").rstrip("/") == "/dev/shm"
        ),
        None,
    )
    if mount is None:
        return DEFAULT_SHM_BYTES
    volume = next(
        (
            entry
            for entry in objects(pod, "spec", "volumes")
            if text(entry, "name") == text(mount, "name")
        ),
        {},
    )
    directory = volume.get("emptyDir")
    if not isinstance(directory, dict) or directory.get("medium") != "Memory":
        return None
    bounds = [
        bound
        for bound in (quantity(directory.get("sizeLimit")), quantity(limits.get("memory")))
        if bound
    ]
    return min(bounds, default=None)
