"""Which ConfigMap a file in a container comes from, and the script that a container starts where it
is such a file.

Source: core/v1 Container (command, args), VolumeMount (mountPath, subPath), ConfigMapVolumeSource
(items), ProjectedVolumeSource; Kubernetes 1.27 to 1.34.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import PurePosixPath

from barostat.platform.objects import Object, mapping, objects, text
from barostat.platform.pods import command_words, container_named

_BEFORE = ("sh", "bash", "dash", "ash", "env", "tini", "dumb-init", "exec")
"""Programs that run the file behind them and their options."""
_TEXT_FOLLOWS = re.compile(r"-\w*c\w*")
_NAME_FOLLOWS = re.compile(r"[-+]\w*[oO]\w*")
"""Combined shell options such as `-euc`, and `-euo`, which is followed by another option's name:
`pipefail`.
"""


@dataclass(frozen=True, slots=True)
class Mounted:
    """A key of a ConfigMap."""

    config_map: str
    key: str


def config_map_of(pod: Object, container: str, path: str) -> Mounted | None:
    """The ConfigMap and the key that the file is, or None if it comes from elsewhere. `pod`: a
    pod, or a pod template.
    """
    file = PurePosixPath(path)
    item = container_named(pod, container)
    mounts = [
        entry
        for entry in objects(item, "volumeMounts")
        if _covers(PurePosixPath(text(entry, "mountPath") or "/-"), file)
    ]
    if not mounts or ".." in file.parts:
        return None
    mount = max(
        mounts, key=lambda entry: len(PurePosixPath(text(entry, "mountPath")).parts)
    )  # the deepest one hides the others
    inside = file.relative_to(PurePosixPath(text(mount, "mountPath")))
    below = (
        str(PurePosixPath(text(mount, "subPath")) / inside)
        if text(mount, "subPath")
        else str(inside)
    )
    volume = next(
        (
            entry
            for entry in objects(pod, "spec", "volumes")
            if text(entry, "name") == text(mount, "name")
        ),
        {},
    )
    sources = [mapping(volume, "configMap")] if "configMap" in volume else []
    sources += [
        mapping(source, "configMap")
        for source in objects(volume, "projected", "sources")
        if "configMap" in source
    ]
    for source in sources:
        items = objects(source, "items")
        key = (
            next((text(entry, "key") for entry in items if text(entry, "path") == below), "")
            if items
            else below
        )
        if key and "/" not in key and text(source, "name"):
            return Mounted(text(source, "name"), key)
    return None


def _covers(mount: PurePosixPath, file: PurePosixPath) -> bool:
    return file == mount or mount in file.parents


def script_of(pod: Object, container: str) -> Mounted | None:
    """The key of a ConfigMap that the container runs; None if it starts anything else. `pod`: a
    pod, or a pod template.
    """
    run = _run(command_words(container_named(pod, container)))
    return config_map_of(pod, container, run[0]) if run else None


def script_command(
    pod: Object, container: str, config_maps: Mapping[str, Object]
) -> list[str] | None:
    """The script with its arguments as `sh -c TEXT FILE ARGUMENTS`; None if none is run that is
    among `config_maps` (by name).
    """
    held = script_of(pod, container)
    script = (
        None
        if held is None
        else mapping(config_maps.get(held.config_map, {}), "data").get(held.key)
    )
    return (
        ["sh", "-c", script, *_run(command_words(container_named(pod, container)))]
        if isinstance(script, str)
        else None
    )


def _run(words: list[str]) -> list[str]:
    """The file that is run and its arguments; empty for a text (`-c`), and for a program that is
    found by its name.
    """
    for place, word in enumerate(words):
        if _TEXT_FOLLOWS.fullmatch(word):
            return []
        if word.startswith(("-", "+")) or (place and _NAME_FOLLOWS.fullmatch(words[place - 1])):
            continue
        if PurePosixPath(word).name not in _BEFORE:
            return words[place:] if word.startswith("/") else []
    return []
