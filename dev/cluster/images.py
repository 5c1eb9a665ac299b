"""Images without a registry: OCI archives of five small files, under the names that production
uses.

An image here is nearly empty: directories, a few links, an entrypoint. What it runs comes from this
machine by the read-only mounts of `mounts()`, which containerd's base specification gives to every
container. So the pod specs look exactly like production's.

    docker.io/vllm/vllm-openai:v0.32.0    entrypoint `vllm serve`, with the model at /models/tiny (and /models/small, /models/feather)
    docker.io/barostat/twin:dev           entrypoint `barostat twin`, from this checkout
    docker.io/rayproject/ray-llm:2.60.0   Ray, with this checkout for the application (ray_llm.py); KubeRay says what starts
    registry.k8s.io/pause:3.10            a static busybox named sleep: the base specification does not reach this container

Source: OCI image specification 1.0, image layout.
"""

from __future__ import annotations

import hashlib
import io
import json
import sys
import tarfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from dev import engine, setup_ray
from dev.cluster.layout import ROOT
from dev.setup_vllm import VLLM_VERSION

VLLM_IMAGE = f"docker.io/vllm/vllm-openai:v{VLLM_VERSION}"
TWIN_IMAGE = "docker.io/barostat/twin:dev"
RAY_IMAGE = f"docker.io/rayproject/ray-llm:{setup_ray.VERSION}"
PAUSE_IMAGE = "registry.k8s.io/pause:3.10"
SYSTEM_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

_FOLDERS = {
    "etc": 0o755,
    "models": 0o755,
    "root": 0o711,  # a pod that is not root runs a Python that lies below it
    "tmp": 0o1777,
    "usr": 0o755,
    "var": 0o755,
    "var/tmp": 0o1777,
}
_LINKS = {"bin": "usr/bin", "lib": "usr/lib", "lib64": "usr/lib64", "sbin": "usr/sbin"}
_FILES = {
    "etc/passwd": b"root:x:0:0:root:/root:/bin/sh\nnobody:x:65534:65534:nobody:/nonexistent:/bin/false\n",
    "etc/group": b"root:x:0:\nnogroup:x:65534:\n",
    "etc/nsswitch.conf": b"passwd: files\ngroup: files\nhosts: files dns\n",
}


# As dev/engine.py has them (and why): no network, no colours, the worker in the core's process.
_ENGINE = {
    "VLLM_CPU_KVCACHE_SPACE": "1",
    "VLLM_ENABLE_V1_MULTIPROCESSING": "01",
    "OMP_NUM_THREADS": "1",
    "HF_HUB_OFFLINE": "1",
    "VLLM_NO_USAGE_STATS": "1",
    "NO_COLOR": "1",
    "PYTHONUNBUFFERED": "1",
}


_RAY = {"PYTHONPATH": str(ROOT), "RAY_USAGE_STATS_ENABLED": "0", "PYTHONUNBUFFERED": "1"}


@dataclass(frozen=True, slots=True)
class Image:
    """An image before it is written: its name, what starts in it, and the files of its one
    layer.
    """

    name: str
    entrypoint: Sequence[str]
    env: Mapping[str, str] = field(default_factory=dict)
    files: Mapping[str, bytes] = field(default_factory=lambda: dict(_FILES))


def all_images(busybox: Path) -> list[Image]:
    """The images that the cluster has; vLLM's only after `make vllm`, Ray's after `make ray`."""
    system = {"PATH": SYSTEM_PATH, "HOME": "/root", "LANG": "C.UTF-8"}
    images = [
        Image(PAUSE_IMAGE, ["/sleep", "2147483647"], files={"sleep": busybox.read_bytes()}),
        Image(
            TWIN_IMAGE,
            ["barostat", "twin"],
            {**system, "PATH": f"{ROOT / '.venv' / 'bin'}:{SYSTEM_PATH}", "PYTHONUNBUFFERED": "1"},
        ),
    ]
    if engine.is_installed():
        path = f"{engine.ENVIRONMENT.resolve() / 'bin'}:{SYSTEM_PATH}"
        images.append(Image(VLLM_IMAGE, ["vllm", "serve"], {**system, **_ENGINE, "PATH": path}))
    if setup_ray.is_installed():
        path = f"{setup_ray.TARGET.resolve() / 'bin'}:{ROOT / '.venv' / 'bin'}:{SYSTEM_PATH}"
        images.append(Image(RAY_IMAGE, ["bash"], {**system, **_RAY, "PATH": path}))
    return images


def mounts() -> list[dict[str, Any]]:
    """The read-only bind mounts of every container: the system's programs, Python, this checkout,
    vLLM's and Ray's environments and the models.
    """
    folders: dict[str, Path] = {
        str(path): path
        for path in map(Path, ("/usr", "/etc/alternatives", "/etc/ssl", "/etc/ld.so.cache"))
    }
    folders[str(ROOT)] = ROOT
    pythons = {Path(sys.base_prefix).resolve()}
    if engine.is_installed():
        environment = engine.ENVIRONMENT.resolve()
        folders[str(environment)] = environment
        pythons.add((environment / "bin" / "python3").resolve().parent.parent)
        folders |= {f"/models/{shape}": engine.model_folder(shape) for shape in engine.SHAPES}
    if setup_ray.is_installed():
        environment = setup_ray.TARGET.resolve()
        folders[str(environment)] = environment
    folders |= {str(python): python for python in pythons if not python.is_relative_to("/usr")}
    return [
        {"destination": inside, "type": "bind", "source": str(outside), "options": ["rbind", "ro"]}
        for inside, outside in sorted(folders.items())
        if outside.exists()
    ]


def write_archive(image: Image, path: Path) -> None:
    """An OCI archive of the image lies at path; the same image gives the same bytes."""
    layer = _layer(image)
    configuration = _json(
        {
            "architecture": "amd64",
            "os": "linux",
            "config": {
                "Entrypoint": list(image.entrypoint),
                "Env": [f"{key}={value}" for key, value in image.env.items()],
                "WorkingDir": "/",
            },
            "rootfs": {"type": "layers", "diff_ids": [_digest(layer)]},
        }
    )
    kind = "application/vnd.oci.image."
    manifest = _json(
        {
            "schemaVersion": 2,
            "mediaType": kind + "manifest.v1+json",
            "config": _descriptor(kind + "config.v1+json", configuration),
            "layers": [_descriptor(kind + "layer.v1.tar", layer)],
        }
    )
    named = {
        **_descriptor(kind + "manifest.v1+json", manifest),
        "annotations": {"io.containerd.image.name": image.name},
    }
    with tarfile.open(path, "w") as archive:
        _add(archive, "oci-layout", _json({"imageLayoutVersion": "1.0.0"}))
        _add(archive, "index.json", _json({"schemaVersion": 2, "manifests": [named]}))
        for blob in (layer, configuration, manifest):
            _add(archive, "blobs/sha256/" + _digest(blob).removeprefix("sha256:"), blob)


def _layer(image: Image) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as layer:
        for name, mode in sorted(_FOLDERS.items()):
            entry = tarfile.TarInfo(name)
            entry.type, entry.mode = tarfile.DIRTYPE, mode
            layer.addfile(entry)
        for name, target in sorted(_LINKS.items()):
            entry = tarfile.TarInfo(name)
            entry.type, entry.linkname = tarfile.SYMTYPE, target
            layer.addfile(entry)
        for name, content in sorted(image.files.items()):
            _add(layer, name, content, mode=0o755)
    return buffer.getvalue()


def _add(archive: tarfile.TarFile, name: str, content: bytes, mode: int = 0o644) -> None:
    entry = tarfile.TarInfo(name)
    entry.size, entry.mode = len(content), mode
    archive.addfile(entry, io.BytesIO(content))


def _descriptor(media_type: str, blob: bytes) -> dict[str, Any]:
    return {"mediaType": media_type, "digest": _digest(blob), "size": len(blob)}


def _digest(blob: bytes) -> str:
    return "sha256:" + hashlib.sha256(blob).hexdigest()


def _json(value: object) -> bytes:
    return json.dumps(value, separators=(",", ":")).encode()
