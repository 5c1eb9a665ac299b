"""Charts and overlays rendered with their own tool, and each place of the output traced back to the
file that a person edits.

A value of the output is looked up in the sources (`origins`): first in values, then in the template
or patch that it came from. Where no line there matches, or several do, the trace ends at the
nearest key above it and names the rendered object. An image that a kustomization or two values
compose is traced to its tag.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

from barostat.io.manifests.origins import Way, in_template, in_tree, tag_of, way_to
from barostat.io.manifests.read import KUSTOMIZATIONS
from barostat.io.manifests.render_tools import Output, helm_template, kustomize_build
from barostat.io.manifests.yaml_tree import read_yaml
from barostat.lint.document import Document, Node, Place

LONG_ENOUGH = 8
"""Characters of a text that is not said by chance."""
_MISSING = re.compile(r"missing in charts/ directory: (.+)$")
_DEPENDENCIES = re.compile(r"^dependencies:[^\n]*\n(?:(?:[ \t#-][^\n]*)?\n)*", re.MULTILINE)
_REMOTE = re.compile(
    r"://|^git@|^github\.com[/:]|^bitbucket\.org/|^gitlab\.com/|\?ref=|\.git(?:/|$)"
)
_SOURCE = re.compile(r"^# Source: [^/\n]+/(.+)$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Traced:
    """A place that a person edits. `of`: the object of the output, where what was found stands
    there alone and the place is only near.
    """

    place: Place
    of: str = ""


@dataclass(slots=True)
class Rendered:
    """The rendered output, or `why` there is none. `sources`: its source files, in order of
    precedence; `without`: charts that were not available.
    """

    document: Document
    folder: Path
    why: str = ""
    sources: list[Document] = field(default_factory=list)
    kustomizations: list[Document] = field(default_factory=list)
    without: str = ""

    def edited(self) -> list[Document]:
        """The files that a person edits, for the comments in them."""
        templates = [
            path
            for path in sorted(self.folder.glob("templates/**/*"))
            if path.suffix in (".yaml", ".yml", ".tpl") and path.is_file()
        ]
        texts = [
            Document(str(path), path.read_text(encoding="utf-8", errors="replace"))
            for path in templates
        ]
        return [*self.sources, *self.kustomizations, *texts]

    def traced(self, place: Place) -> Traced:
        """Return the place where a person edits the text at this output place; without offsets,
        because Barostat does not edit there.
        """
        root = next(
            (one for one in self.document.roots if one.start <= place.start <= one.end), None
        )
        way = way_to(root, place) if root is not None else None
        named: Place | None = None
        for source in self.sources if root is not None else ():
            for other in source.roots:
                if root is None or not _made_of(root, other):
                    continue
                hit = in_tree(other, way) if way is not None else None
                if (
                    hit is None
                    and way is not None
                    and way.keys[-1:] == ("image",)
                    and other.get("kind") is None
                ):
                    hit = tag_of(other, way.text or "", root.word("metadata", "name"))
                if hit is not None:
                    return Traced(Place(source.file, hit.line, hit.column))
                if other.get("kind") is not None:
                    at = other.get("metadata", "name") or other
                    named = named or Place(source.file, at.line, at.column)
        if (
            way is not None
            and way.keys[-1:] == ("image",)
            and (tag := self._tag(way.text or "")) is not None
        ):
            return Traced(tag)
        if way is not None and (said := self._said(way.text or "")) is not None:
            return Traced(said)
        if root is not None and (found := self._in_template(place, way)) is not None:
            return found
        file = next((name for name in KUSTOMIZATIONS if (self.folder / name).is_file()), "")
        return Traced(
            named or Place(str(self.folder / file) if file else str(self.folder), 1, 1), _what(root)
        )

    def _said(self, text: str) -> Place | None:
        """Return the unique place in the kustomizations with this text, in any format: an inline
        patch.
        """
        found = [
            Place(one.file, one.text.count("\n", 0, at) + 1, at - one.text.rfind("\n", 0, at))
            for one in self.kustomizations
            if len(text) >= LONG_ENOUGH and one.text.count(text) == 1
            for at in [one.text.find(text)]
        ]
        return found[0] if len(found) == 1 else None

    def _in_template(self, place: Place, way: Way | None) -> Traced | None:
        """The place in the template that the output names above it, or in one of the chart's
        helpers.
        """
        above = [
            match
            for match in _SOURCE.finditer(self.document.text)
            if match.start() <= max(0, place.start)
        ]
        if not above:
            return None
        template = self.folder / above[-1][1].strip()
        root = next(
            (one for one in self.document.roots if one.start <= place.start <= one.end), None
        )
        second: Traced | None = None
        for file in (
            [template, *sorted(self.folder.glob("templates/**/*.tpl"))] if way is not None else ()
        ):
            hit = (
                in_template(file.read_text(encoding="utf-8", errors="replace"), way)
                if way is not None and file.is_file()
                else None
            )
            if hit is not None and hit[2]:
                return Traced(Place(str(file), hit[0], hit[1]))
            if hit is not None and file == template:
                second = Traced(Place(str(file), hit[0], hit[1]), _what(root))
        return second or Traced(Place(str(template), 1, 1), _what(root))

    def _tag(self, image: str) -> Place | None:
        """Where a kustomization of ours gives that image its tag."""
        for kustomization in self.kustomizations:
            for root in kustomization.roots:
                for entry in root.maps_at("images"):
                    tag = entry.get("newTag")
                    if (
                        tag is not None
                        and image == f"{entry.word('newName') or entry.word('name')}:{tag.text}"
                    ):
                        return Place(kustomization.file, tag.line, tag.column)
        return None


def render_chart(folder: Path) -> Rendered:
    """Render the chart with its own values; without the charts that it depends on where those are
    not in its `charts` folder.
    """
    made = helm_template(folder)
    missing = match[1].strip() if (match := _MISSING.search(made.failure)) is not None else ""
    if missing:
        with TemporaryDirectory(prefix="barostat-") as scratch:
            alone = helm_template(_without_dependencies(folder, Path(scratch)))
        made, missing = (made, "") if alone.failure else (alone, missing)
    document = read_yaml(made.text, f"{folder} (rendered)")
    values = folder / "values.yaml"
    sources = (
        [read_yaml(values.read_text(encoding="utf-8", errors="replace"), str(values))]
        if values.is_file()
        else []
    )
    return Rendered(document, folder, made.failure, sources, without=missing)


def _without_dependencies(folder: Path, beside: Path) -> Path:
    """A chart of links to that one's files, whose Chart.yaml asks for no others."""
    for file in folder.iterdir():
        if file.name not in ("Chart.yaml", "Chart.lock", "requirements.yaml", "requirements.lock"):
            (beside / file.name).symlink_to(file.resolve())
    text = (folder / "Chart.yaml").read_text(encoding="utf-8", errors="replace")
    (beside / "Chart.yaml").write_text(_DEPENDENCIES.sub("", text), encoding="utf-8")
    return beside


def render_overlay(folder: Path, *, remote: bool = False) -> Rendered:
    """Render the overlay with its bases. `remote`: bases of other repositories may be fetched."""
    named = [] if remote else remote_bases(folder)
    made = (
        Output(failure=f"its base {named[0]} is remote and was not fetched (--remote)")
        if named
        else kustomize_build(folder)
    )
    document = read_yaml(made.text, f"{folder} (rendered)")
    sources = [_read(path, folder) for path in _ordered(folder)]
    return Rendered(
        document,
        folder,
        made.failure,
        sources,
        [_read(path, folder) for path in _kustomizations(folder)],
    )


def remote_bases(folder: Path) -> list[str]:
    """Return what the overlay or one of its bases names of other repositories, in order."""
    return [
        named
        for overlay in _overlays(folder)
        for named in _named(overlay)
        if _REMOTE.search(named) and not (overlay / named).exists()
    ]


def _overlays(folder: Path) -> Iterator[Path]:
    """The folder of the overlay, then those of its bases, each once: one that names itself, or is
    named by many, has an end.
    """
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
    return read_yaml(
        path.read_text(encoding="utf-8", errors="replace"), _shown(path.resolve(), folder)
    )


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


@cache  # asked for each file of a folder, and no kustomization changes while we read
def sources_of_overlay(folder: Path, *, patches_only: bool = False) -> frozenset[Path]:
    """Return the files and folders that a kustomization names and that are there. `patches_only`:
    those that are no objects of their own.
    """
    paths = (
        (folder / name).resolve()
        for name in _named(folder, patches_only=patches_only)
        if "\n" not in name and "://" not in name and len(name) < 1000
    )
    return frozenset(path for path in paths if path.exists())


def _named(folder: Path, *, patches_only: bool = False) -> list[str]:
    """Return every file, folder and address that the kustomization in the folder names."""
    file = next((folder / name for name in KUSTOMIZATIONS if (folder / name).is_file()), None)
    if file is None:
        return []
    document = read_yaml(file.read_text(encoding="utf-8", errors="replace"), str(file))
    root = document.roots[0] if document.roots else None
    if root is None or root.kind != "map":
        return []
    patches = [
        item.text
        for key in ("patchesStrategicMerge", "patchesJson6902")
        for item in root.list_at(key)
        if item.kind == "scalar"
    ]
    patches += [
        item.word("path")
        for key in ("patches", "patchesJson6902", "replacements")
        for item in root.maps_at(key)
    ]
    bases = [
        item.text
        for key in ("resources", "bases", "components", "configurations")
        for item in root.list_at(key)
    ]
    return [name for name in (patches if patches_only else patches + bases) if name]


def _made_of(root: Node, source: Node) -> bool:
    """True if the rendered object can be made of that source: the same kind and a part of the name,
    or values, which have no kind.
    """
    if source.get("kind") is None:
        return source.kind == "map"
    name, other = root.word("metadata", "name"), source.word("metadata", "name")
    return source.word("kind") == root.word("kind") and bool(other) and other in name


def _what(root: Node | None) -> str:
    """The object's kind and name."""
    return (
        f"{root.word('kind')} {root.word('metadata', 'name')}".strip() if root is not None else ""
    )
