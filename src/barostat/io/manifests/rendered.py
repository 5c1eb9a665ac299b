"""Charts and overlays rendered with their own tool, and each place of the output traced back to the file that a person edits.

`helm template` and `kustomize build` (or `kubectl kustomize`) run with a time limit, without a cluster, in the folder's own place.
A value of the output is looked for at the same key in the sources: values first, then the template or patch that it came from; of several
the one whose way there is the most alike. Where several could be meant, the file alone is named, at its first line. An image that a
kustomization puts in is traced to its tag there.
"""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from barostat.io.manifests.read import KUSTOMIZATIONS
from barostat.io.manifests.yaml_tree import read_yaml
from barostat.lint.document import Document, Node, Place

TIME_LIMIT_S = 60.0
_SOURCE = re.compile(r"^# Source: [^/\n]+/(.+)$", re.MULTILINE)


@dataclass(slots=True)
class Rendered:
    """The output, or `why` there is none. `sources`: the files that it is made of, those that decide first."""

    document: Document
    folder: Path
    why: str = ""
    sources: list[Document] = field(default_factory=list)
    kustomizations: list[Document] = field(default_factory=list)

    def traced(self, place: Place) -> Place:
        """Where a person edits what stands at that place of the output; without offsets: nothing there is edited by us."""
        root = next((one for one in self.document.roots if one.start <= place.start <= one.end), None)
        found = _scalar_at(root, place) if root is not None else None
        named: Place | None = None
        for source in self.sources:
            for other in source.roots:
                if root is None or not _made_of(root, other):
                    continue
                if found is not None and (hit := _alike(other, *found)) is not None:
                    return Place(source.file, hit.line, hit.column)
                if other.get("kind") is not None:
                    at = other.get("metadata", "name") or other
                    named = named or Place(source.file, at.line, at.column)
        if found is not None and found[0][-1:] == ("image",) and (tag := self._tag(found[1])) is not None:
            return tag
        above = [match for match in _SOURCE.finditer(self.document.text) if match.start() <= max(0, place.start)]
        if above:
            return Place(str(self.folder / above[-1][1].strip()), 1, 1)
        file = next((name for name in KUSTOMIZATIONS if (self.folder / name).is_file()), "")
        return named or Place(str(self.folder / file) if file else str(self.folder), 1, 1)

    def _tag(self, image: str) -> Place | None:
        """Where a kustomization of ours gives that image its tag."""
        for kustomization in self.kustomizations:
            for root in kustomization.roots:
                for entry in root.maps_at("images"):
                    tag = entry.get("newTag")
                    if tag is not None and image == f"{entry.word('newName') or entry.word('name')}:{tag.text}":
                        return Place(kustomization.file, tag.line, tag.column)
        return None


def render_chart(folder: Path) -> Rendered:
    """The chart with its own values."""
    output, why = _run(["helm", "template", "check", "."], folder, "helm")
    document = read_yaml(output, f"{folder} (rendered)")
    values = [read_yaml(path.read_text(encoding="utf-8", errors="replace"), str(path)) for path in sorted(folder.glob("values*.yaml"))]
    return Rendered(document, folder, why, values)


def render_overlay(folder: Path) -> Rendered:
    """The overlay with its bases."""
    if shutil.which("kustomize"):
        output, why = _run(["kustomize", "build", "."], folder, "kustomize")
    else:
        output, why = _run(["kubectl", "kustomize", "."], folder, "kubectl")
        why = why.replace("kubectl is not there", "neither kustomize nor kubectl is there")
    document = read_yaml(output, f"{folder} (rendered)")
    sources = [_read(path, folder) for path in _ordered(folder)]
    return Rendered(document, folder, why, sources, [_read(path, folder) for path in _kustomizations(folder)])


def _overlays(folder: Path) -> Iterator[Path]:
    """The folder of the overlay, then those of its bases, each once: one that names itself, or is named by many, has an end."""
    seen, ahead = set[Path](), [folder]
    while ahead:
        each = ahead.pop(0)
        if each.resolve() not in seen:
            seen.add(each.resolve())
            yield each
            ahead[:0] = [path for path in sorted(sources_of_overlay(each)) if path.is_dir()]


def _ordered(folder: Path) -> Iterator[Path]:
    """The files of the overlay, its own before those of its bases."""
    for each in _overlays(folder):
        yield from (path for path in sorted(sources_of_overlay(each)) if path.is_file())


def _kustomizations(folder: Path) -> Iterator[Path]:
    """The overlay's own file, then those of its bases."""
    for each in _overlays(folder):
        yield from (each / name for name in KUSTOMIZATIONS if (each / name).is_file())


def _read(path: Path, folder: Path) -> Document:
    return read_yaml(path.read_text(encoding="utf-8", errors="replace"), _shown(path.resolve(), folder))


def _shown(path: Path, folder: Path) -> str:
    """The path as the user wrote the folder's."""
    for up in range(8):
        base = folder.resolve()
        for _ in range(up):
            base = base.parent
        if base == path or base in path.parents:
            prefix = folder
            for _ in range(up):
                prefix = prefix / ".." if prefix.name in ("", "..") else prefix.parent
            return str(prefix / path.relative_to(base))
    return str(path)


def _run(command: list[str], folder: Path, tool: str) -> tuple[str, str]:
    """What the tool prints, or why it printed nothing."""
    if shutil.which(command[0]) is None:
        return "", f"{tool} is not there"
    try:
        done = subprocess.run(
            command, cwd=folder, capture_output=True, text=True, timeout=TIME_LIMIT_S, check=False, stdin=subprocess.DEVNULL
        )
    except subprocess.TimeoutExpired:
        return "", f"{tool} took longer than {TIME_LIMIT_S:.0f} s"
    except OSError as error:
        return "", f"{tool} could not be run: {error.strerror}"
    if done.returncode:
        said = next((line for line in reversed(done.stderr.splitlines()) if line.strip()), "no reason given")
        return "", f"{tool} says: {said.strip()[:300]}"
    return done.stdout, ""


@cache  # asked for each file of a folder, and no kustomization changes while we read
def sources_of_overlay(folder: Path, *, patches_only: bool = False) -> frozenset[Path]:
    """The files and folders that a kustomization names and that are there. `patches_only`: those that are no objects of their own."""
    file = next((folder / name for name in KUSTOMIZATIONS if (folder / name).is_file()), None)
    if file is None:
        return frozenset()
    document = read_yaml(file.read_text(encoding="utf-8", errors="replace"), str(file))
    root = document.roots[0] if document.roots else None
    if root is None or root.kind != "map":
        return frozenset()
    named = [item.text for key in ("patchesStrategicMerge", "patchesJson6902") for item in root.list_at(key) if item.kind == "scalar"]
    named += [item.word("path") for key in ("patches", "patchesJson6902", "replacements") for item in root.maps_at(key)]
    if not patches_only:
        named += [item.text for key in ("resources", "bases", "components", "configurations") for item in root.list_at(key)]
    paths = ((folder / name).resolve() for name in named if name and "\n" not in name and "://" not in name and len(name) < 1000)
    return frozenset(path for path in paths if path.exists())


def _made_of(root: Node, source: Node) -> bool:
    """True if the rendered object can be made of that source: the same kind and a part of the name, or values, which have no kind."""
    if source.get("kind") is None:
        return source.kind == "map"
    name, other = root.word("metadata", "name"), source.word("metadata", "name")
    return source.word("kind") == root.word("kind") and bool(other) and other in name


_Route = tuple[str, ...]


def _scalar_at(root: Node, place: Place) -> tuple[_Route, str] | None:
    """The keys down to the scalar at that place, and its text."""
    stack: list[tuple[_Route, Node]] = [((), root)]
    while stack:
        route, node = stack.pop()
        if node.kind == "scalar":
            if node.start <= place.start < max(node.end, node.start + 1):
                return route, node.text
            continue
        stack += [(route, item) for item in node.items] + [((*route, key), item) for key, item in node.entries.items()]
    return None


def _alike(source: Node, route: _Route, text: str) -> Node | None:
    """The scalar of that text under that key; of several the one whose keys before it are alike for longest, None where two are."""
    hits: list[tuple[int, Node]] = []
    stack: list[tuple[_Route, Node]] = [((), source)]
    while stack:
        at, node = stack.pop()
        if node.kind != "scalar":
            stack += [(at, item) for item in node.items] + [((*at, key), item) for key, item in node.entries.items()]
        elif node.text == text and at[-1:] == route[-1:]:
            shorter = min(len(at), len(route))
            hits.append((next((back for back in range(shorter) if at[-1 - back] != route[-1 - back]), shorter), node))
    best = max((shared for shared, _ in hits), default=0)
    of_them = [node for shared, node in hits if shared == best]
    return of_them[0] if len(of_them) == 1 else None
