"""What surrounds an engine in its container: resources, volumes, shared memory, devices, its user.

Source: core/v1 Container, ResourceRequirements, VolumeMount, SecurityContext.
"""

from __future__ import annotations

import re

from barostat.judge.manifest_check.container_probes import probes
from barostat.judge.manifest_check.images import image_facts
from barostat.judge.manifest_check.pod_specs import PodSpec
from barostat.judge.manifest_check.written import written
from barostat.lint.document import Document, Node, Place
from barostat.lint.facts import Given, Host, Mount
from barostat.platform.objects import quantity
from barostat.platform.pods import DEFAULT_SHM_BYTES, is_gpu_resource, is_other_device

CACHE_PATHS = (
    "/root/.cache",
    "/.cache",
    "/models",
    "/model",
    "/data",
    "/mnt",
    "/huggingface",
    "/hf",
    "/cache",
    "/workspace",
    "/home",
)
_PART_OF_A_CARD = frozenset(("gpu-fraction", "gpu-memory"))
"""Annotations by which NVIDIA's Run:ai gives a pod a part of a card, without a limit."""
_RDMA = re.compile(
    r"^(?:NCCL_IB_|NCCL_NET|UCX_|NVSHMEM_|FI_)|rdma|infiniband|roce|/efa|gpudirect|tcpx"
)


def host_of(document: Document, found: PodSpec, container: Node) -> Host:
    """Return what surrounds the engine in that container."""
    limits, requests = container.get("resources", "limits"), container.get("resources", "requests")
    memory, cpu = limits and limits.get("memory"), limits and limits.get("cpu")
    disk = limits and limits.get("ephemeral-storage")
    cards = cards_of(limits)
    asked = cards_of(requests)
    shm, shm_place = _shm(document, found, container)
    place = (
        asked[0] if cards is None and asked is not None else cards[0] if cards is not None else None
    )
    return Host(
        shm_bytes=shm,
        shm_place=shm_place,
        memory=written(document, memory),
        memory_bytes=quantity(memory.text) if memory else None,
        cpu=written(document, cpu),
        cpu_cores=quantity(cpu.text) if cpu else None,
        gpus=cards[1]
        if cards is not None
        else None
        if _asks_for_other_device(found, container)
        else 0.0,
        gpu_place=document.place(place) if place is not None else None,
        gpu_requested_only=cards is None and asked is not None,
        requested=frozenset(
            name
            for node in (limits, requests)
            if node is not None and node.kind == "map"
            for name in node.entries
        ),
        probes=probes(document, container),
        privileged=_privileged(document, container),
        has_cache=any(
            mount.word("mountPath").startswith(CACHE_PATHS)
            for mount in container.maps_at("volumeMounts")
        ),
        other_device=_has_other_device(found, container),
        rdma=_uses_rdma(found, container),
        mounts=_mounts(document, found, container),
        user=written(document, _security(found, container, "runAsUser")),
        read_only_root=written(document, root)
        if (root := container.get("securityContext", "readOnlyRootFilesystem")) is not None
        and root.text.lower() == "true"
        else None,
        ephemeral=written(document, disk),
        ephemeral_bytes=quantity(disk.text) if disk else None,
    )


def _security(found: PodSpec, container: Node, key: str) -> Node | None:
    own = container.get("securityContext", key)
    return own if own is not None else found.spec.get("securityContext", key)


def _mounts(document: Document, found: PodSpec, container: Node) -> dict[str, Mount]:
    """Return the container's volumes by their path."""
    volumes = {item.word("name"): item for item in found.spec.maps_at("volumes")}
    mounts = {}
    for item in container.maps_at("volumeMounts"):
        volume = volumes.get(item.word("name"))
        path = item.word("mountPath").rstrip("/")
        keys = [key for key in volume.entries if key != "name"] if volume is not None else []
        source = {"persistentVolumeClaim": "claim"}.get(keys[0], keys[0]) if keys else ""
        limit = volume.get("emptyDir", "sizeLimit") if volume is not None else None
        mounts[path] = Mount(
            path,
            document.place(item.get("mountPath") or item),
            source,
            volume.word("persistentVolumeClaim", "claimName") if volume is not None else "",
            quantity(limit.text) if limit is not None else None,
            item.is_true("readOnly"),
        )
    return mounts


def _asks_for_other_device(found: PodSpec, container: Node) -> bool:
    """True for a resource claim, a device of another kind or a part of a card: how many cards that
    is cannot be told.
    """
    if _PART_OF_A_CARD & found.annotations.keys():
        return True
    return container.get("resources", "claims") is not None or _has_other_device(found, container)


def _has_other_device(found: PodSpec, container: Node) -> bool:
    """Return True for an accelerator that is no GPU: by a resource, the node's label or the image."""
    asked = [container.get("resources", key) for key in ("limits", "requests")]
    labels = found.spec.get("nodeSelector")
    return (
        any(is_other_device(name) for node in asked if node is not None for name in node.entries)
        or any("tpu" in key for key in (labels.entries if labels is not None else ()))
        or image_facts(container.word("image")).other_device
    )


def _uses_rdma(found: PodSpec, container: Node) -> bool:
    """Return True if the container reaches a network card directly: by a variable of NCCL, UCX
    or NVSHMEM, its device, or a resource of it.
    """
    asked = [container.get("resources", key) for key in ("limits", "requests")]
    names = [name for node in asked if node is not None for name in node.entries]
    names += [item.word("name") for item in container.maps_at("env")]
    names += [item.word("mountPath") for item in container.maps_at("volumeMounts")]
    names += found.annotations.keys()
    return any(_RDMA.search(name) for name in names)


def cards_of(resources: Node | None) -> tuple[Node, float | None] | None:
    """The key and the sum of cards asked for; None if none is, without a sum where a number
    cannot be read (`${CARDS}`).
    """
    found = (
        [(key, value) for key, value in resources.entries.items() if is_gpu_resource(key)]
        if resources is not None
        else []
    )
    if not found or resources is None:
        return None
    amounts = [quantity(value.text) for _, value in found]
    return resources.keys[found[0][0]], sum(
        amount or 0.0 for amount in amounts
    ) if None not in amounts else None


def _shm(document: Document, found: PodSpec, container: Node) -> tuple[float | None, Place | None]:
    if found.spec.is_true("hostIPC"):
        return None, None
    for mount in container.maps_at("volumeMounts"):
        if mount.word("mountPath").rstrip("/") != "/dev/shm":
            continue
        volume = next(
            (
                item
                for item in found.spec.maps_at("volumes")
                if item.word("name") == mount.word("name")
            ),
            None,
        )
        limit = volume.get("emptyDir", "sizeLimit") if volume is not None else None
        if limit is None:
            return None, document.place(mount)
        return quantity(limit.text), document.place(limit)
    return DEFAULT_SHM_BYTES, None


def _privileged(document: Document, container: Node) -> Given | None:
    node = container.get("securityContext", "privileged")
    return (
        Given(node.text, document.place(node))
        if node is not None and node.text.lower() == "true"
        else None
    )
