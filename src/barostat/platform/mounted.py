"""Which ConfigMap a file in a container comes from.

Source: core/v1 VolumeMount (mountPath, subPath), ConfigMapVolumeSource (items), ProjectedVolumeSource; Kubernetes 1.27 to 1.34.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import PurePosixPath

from barostat.platform.objects import Object, mapping, objects, text


@dataclass(frozen=True, slots=True)
class Mounted:
    """A key of a ConfigMap."""

    config_map: str
    key: str


def config_map_of(pod: Object, container: str, path: str) -> Mounted | None:
    """The ConfigMap and the key that the file is, or None where it comes from elsewhere. `pod`: a pod, or a pod template."""
    file = PurePosixPath(path)
    item = next((entry for entry in objects(pod, "spec", "containers") if text(entry, "name") == container), {})
    mounts = [entry for entry in objects(item, "volumeMounts") if _covers(PurePosixPath(text(entry, "mountPath") or "/-"), file)]
    if not mounts or ".." in file.parts:
        return None
    mount = max(mounts, key=lambda entry: len(PurePosixPath(text(entry, "mountPath")).parts))  # the deepest one hides the others
    inside = file.relative_to(PurePosixPath(text(mount, "mountPath")))
    below = str(PurePosixPath(text(mount, "subPath")) / inside) if text(mount, "subPath") else str(inside)
    volume = next((entry for entry in objects(pod, "spec", "volumes") if text(entry, "name") == text(mount, "name")), {})
    sources = [mapping(volume, "configMap")] if "configMap" in volume else []
    sources += [mapping(source, "configMap") for source in objects(volume, "projected", "sources") if "configMap" in source]
    for source in sources:
        items = objects(source, "items")
        key = next((text(entry, "key") for entry in items if text(entry, "path") == below), "") if items else below
        if key and "/" not in key and text(source, "name"):
            return Mounted(text(source, "name"), key)
    return None


def _covers(mount: PurePosixPath, file: PurePosixPath) -> bool:
    return file == mount or mount in file.parents
