"""The layout of a bundle: which of its files is what, by name alone.

bundle.yaml
metrics/<replica>/<unix seconds>.prom
logs/<replica>.log  logs/<replica>.previous.log  logs/<node>.kernel.log
gpu/<replica>/<unix seconds>.<kind>
host/<replica>/<unix seconds>.json
kubernetes/<kind>.json
gateway/<any>.log
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Literal

from barostat.gpus import KINDS as GPU_KINDS
from barostat.io.bundles.folder import MANIFESTS
from barostat.platform.workloads import kinds

Role = Literal[
    "manifest",
    "scrape",
    "log",
    "previous-log",
    "kernel-log",
    "gpu",
    "host",
    "kubernetes",
    "gateway",
    "printed",
]
KINDS = {
    "Pod": "pods",
    "Event": "events",
    "Node": "nodes",
    "HorizontalPodAutoscaler": "hpas",
    **{kind.api.kind: kind.api.plural for kind in kinds()},
}
KUBERNETES_KINDS = tuple(KINDS.values())
_INSTANT = re.compile(r"^(\d{1,16}(?:\.\d{1,9})?)\.(.+)$")
_MILLISECONDS = 1e11
"""A number from here on is a date in milliseconds: as seconds it would lie three thousand years
ahead.
"""


@dataclass(frozen=True, slots=True)
class Place:
    """The role of one file in a bundle. `owner`: replica, node or kind of object. `at`: unix
    seconds, 0 if the name has none.

    `printed` is a separate file of Kubernetes objects; `kind` is its format.
    """

    role: Role
    owner: str
    at: float = 0.0
    kind: str = ""


@dataclass(frozen=True, slots=True)
class Misplaced:
    """A file in a bundle's folder whose name does not identify it."""

    why: str


def place(name: str) -> tuple[str, Place | Misplaced] | None:
    """The folder that holds the bundle (`""` for the top) and what the file is in it; None for a
    file that is no part of a bundle.

    `name` is relative, with slashes. Hidden files (what an editor or a Mac leaves behind) are no
    part of it.
    """
    parts = PurePosixPath(name).parts
    if not parts or any(part.startswith(".") for part in parts[-3:]):
        return None
    if parts[-1] in MANIFESTS:
        return "/".join(parts[:-1]), Place("manifest", "")
    if len(parts) >= 3 and parts[-3] in ("metrics", "gpu", "host"):
        return "/".join(parts[:-3]), _timed(parts[-3], parts[-2], parts[-1])
    if len(parts) >= 2 and parts[-2] in ("logs", "kubernetes", "gateway"):
        return "/".join(parts[:-2]), _flat(parts[-2], parts[-1])
    return None


def _timed(folder: str, replica: str, file: str) -> Place | Misplaced:
    found = _INSTANT.match(file)
    if not found:
        return Misplaced("its name is no unix time in seconds, as in 1763713200.prom")
    at, suffix = float(found[1]), found[2]
    if at >= _MILLISECONDS:
        return Misplaced("the number in its name is too large for unix seconds (milliseconds?)")
    if folder == "metrics" and suffix in ("prom", "txt", "metrics"):
        return Place("scrape", replica, at)
    if folder == "host" and suffix == "json":
        return Place("host", replica, at)
    if folder == "gpu" and suffix in GPU_KINDS:
        return Place("gpu", replica, at, suffix)
    wanted = {
        "metrics": ".prom",
        "host": ".json",
        "gpu": " or ".join(f".{kind}" for kind in GPU_KINDS),
    }[folder]
    return Misplaced(f"its name should end in {wanted}")


def _flat(folder: str, file: str) -> Place | Misplaced:
    if folder == "kubernetes":
        kind = file.removesuffix(".json")
        if kind in KUBERNETES_KINDS and kind != file:
            return Place("kubernetes", kind)
        return Misplaced(
            f"only {', '.join(f'{kind}.json' for kind in KUBERNETES_KINDS)} are read there"
        )
    stem = file.removesuffix(".log")
    if stem == file or not stem:
        return Misplaced("its name should end in .log")
    if folder == "gateway":
        return Place("gateway", stem)
    if stem.endswith(".previous"):
        return Place("previous-log", stem.removesuffix(".previous"))
    if stem.endswith(".kernel"):
        return Place("kernel-log", stem.removesuffix(".kernel"))
    return Place("log", stem)
