"""What a person names on the command line -> documents: files, folders, stdin; charts and overlays
rendered where their tool is there.

    FILE            read as it is; of a chart's templates, its values.yaml, a kustomization or its patch: the chart or the overlay
    DIR             every manifest below it; a chart (Chart.yaml) and an overlay (kustomization.yaml) are rendered, and the files that they
                    are made of are not read a second time
    -               one document stream from stdin

Values files of a chart are read beside it. What could not be rendered is said in `notes`, and its
sources are read as far as they can be.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from barostat.core.errors import InputError
from barostat.io.input_files.piped import piped_in
from barostat.io.manifests.read import (
    KUSTOMIZATIONS,
    TEXT_ENDINGS,
    YAML_ENDINGS,
    document_of,
    read_file,
)
from barostat.io.manifests.yaml_tree import LARGEST_BYTES
from barostat.lint.document import Document, Place

if TYPE_CHECKING:
    from barostat.io.manifests.rendered import Rendered

_SKIPPED = frozenset(
    {
        ".git",
        ".hg",
        "node_modules",
        ".venv",
        "venv",
        "__pycache__",
        ".terraform",
        ".tox",
        ".mypy_cache",
    }
)
_OURS = ("vllm", "servinglimits", "barostat")
_WATCHING = ("horizontalpodautoscaler", "scaledobject", "huggingface")
_SMALL_BYTES = 64 << 10
MOST_FILES = 20_000


@dataclass(slots=True)
class Gathered:
    """What was read. `unreadable`: a sentence each; `notes`: what was not looked at, and why;
    `origins`: of rendered documents.
    """

    documents: list[Document] = field(default_factory=list)
    unreadable: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    origins: dict[str, Rendered] = field(default_factory=dict)
    files: int = 0

    def edited_at(self, place: Place) -> Place:
        """Where a person edits what stands at that place of a document."""
        origin = self.origins.get(place.file)
        return place if origin is None else origin.traced(place).place

    def sources(self) -> list[Document]:
        """What was rendered to documents and is none itself."""
        read = {document.file for document in self.documents}
        return [
            source
            for origin in self.origins.values()
            for source in origin.edited()
            if source.file not in read
        ]


def gather(named: Sequence[str], *, render: bool = True, lenient: bool = False) -> Gathered:
    """Everything that was named: files by themselves before folders, in which they may lie and be
    passed over.

    `lenient`: a file that was named and cannot be read counts as one that was found. Errors:
    InputError for a path that is not there.
    """
    found = Gathered()
    seen: set[str] = set()
    whole: set[Path] = set()
    for name in sorted(named, key=lambda name: name != "-" and Path(name).is_dir()):
        if name == "-":
            _take(found, document_of(_stdin(), "<stdin>"), asked=True)
            continue
        path = Path(name)
        if path.is_dir():
            _folder(found, path, seen, render=render)
        elif path.is_file() and render and (folder := _made_with(path)) is not None:
            if folder not in whole:
                whole.add(folder)
                _folder(found, folder, seen, render=render)
        elif path.is_file() or path.is_fifo():
            if str(path) not in seen:
                seen.add(str(path))
                _take(found, read_file(path), asked=not lenient)
        else:
            raise InputError("there is no such file or folder", name)
    return found


def _made_with(file: Path) -> Path | None:
    """The chart or the overlay that has to be rendered for what stands in that file; None for one
    that stands for itself.
    """
    charts = [
        folder
        for folder in file.parents
        if (folder / "Chart.yaml").is_file() and _is_of_chart(file, folder)
    ]
    if charts:
        return charts[-1]
    if not any((file.parent / name).is_file() for name in KUSTOMIZATIONS):
        return None
    from barostat.io.manifests.rendered import sources_of_overlay

    own = file.name in KUSTOMIZATIONS or file.resolve() in sources_of_overlay(
        file.parent, patches_only=True
    )
    return file.parent if own else None


def _is_of_chart(file: Path, folder: Path) -> bool:
    within = file.relative_to(folder)
    return within.parts[0] in ("templates", "charts") or str(within) in (
        "values.yaml",
        "Chart.yaml",
    )


def _stdin() -> str:
    data = piped_in().read(LARGEST_BYTES + 1)
    if len(data) > LARGEST_BYTES:
        raise InputError(f"is larger than {LARGEST_BYTES >> 20} MB: no manifest", "<stdin>")
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        raise InputError("is not UTF-8 text", "<stdin>") from None


def _take(found: Gathered, document: Document, *, asked: bool) -> None:
    """Keeps the document, or says why not. What nobody named is passed over where it does not look
    like ours.
    """
    found.files += 1
    if not document.problem:
        found.documents.append(document)
        return
    about_us = any(word in document.text.lower() for word in _OURS)
    if asked or (about_us and not document.is_template):
        found.unreadable.append(document.problem)
        if document.roots:
            found.documents.append(document)
    elif about_us:
        found.notes.append(f"not read: {document.problem}")


def _folder(found: Gathered, folder: Path, seen: set[str], *, render: bool) -> None:
    from barostat.io.manifests.rendered import render_chart, render_overlay, sources_of_overlay

    charts: list[Path] = []
    overlays: list[Path] = []
    files: list[Path] = []
    for directory, names in _walked(folder):
        if "Chart.yaml" in names:
            charts.append(directory)
        if any(name in names for name in KUSTOMIZATIONS):
            overlays.append(directory)
        files += [
            directory / name
            for name in names
            if Path(name).suffix.lower() in (*YAML_ENDINGS, *TEXT_ENDINGS)
        ]
        if len(files) > MOST_FILES:
            raise InputError(
                f"holds more than {MOST_FILES:,} files to read: name the folders that matter",
                str(folder),
            )
    covered: set[Path] = set()
    for chart in charts:
        if any(other in chart.parents for other in charts):
            continue  # a dependency: rendered with the chart that it is of
        covered |= {
            file
            for file in files
            if chart / "templates" in file.parents or chart / "charts" in file.parents
        }
        if render:
            _rendered(found, render_chart(chart), chart)
    resolved = {file: file.resolve() for file in files} if overlays else {}
    used = {source for overlay in overlays for source in sources_of_overlay(overlay)}
    for overlay in overlays:
        if overlay.resolve() in used:
            continue  # a base: rendered with the overlays that build on it
        closure = _closure(overlay)
        own = next(overlay / name for name in KUSTOMIZATIONS if (overlay / name).is_file())
        kustomization = read_file(own)
        beside = [file for file in files if file.parent == overlay] if kustomization.problem else []
        about_us = any(
            _mentions(file, _OURS) for file in [own, *closure, *beside] if file.is_file()
        )
        if kustomization.problem and about_us:
            found.unreadable.append(kustomization.problem)
        made = (
            render_overlay(overlay) if render and about_us and not kustomization.problem else None
        )
        if made is not None and _rendered(found, made, overlay):
            made_of = closure
        else:
            made_of = set(sources_of_overlay(overlay, patches_only=True))
            if about_us and "helmCharts" in kustomization.text and not kustomization.problem:
                _take(found, kustomization, asked=False)  # a chart's values within it
        covered |= {file for file, whole in resolved.items() if whole in made_of}
    for file in files:
        if (
            file in covered
            or str(file) in seen
            or file.name in (*KUSTOMIZATIONS, "Chart.yaml", "Chart.lock", "values.schema.json")
        ):
            continue
        seen.add(str(file))
        if file.suffix.lower() == ".json" and not _is_ours(file):
            continue
        if not _small(file) and not _mentions(file, (*_OURS, *_WATCHING)):
            found.files += 1  # a large file with none of our words in it: a CRD, a dashboard
            continue
        document = read_file(file)
        if not (
            document.is_template and any(chart in file.parents for chart in charts)
        ):  # the chart's own: rendered with it, or so said
            _take(found, document, asked=False)


def _closure(overlay: Path) -> set[Path]:
    """Every file that the overlay is made of, through its bases."""
    from barostat.io.manifests.rendered import sources_of_overlay

    found: set[Path] = set()
    waiting = [overlay.resolve()]
    while waiting:
        at = waiting.pop()
        if at in found:
            continue
        found.add(at)
        waiting += sources_of_overlay(at) if at.is_dir() else ()
    return found


def _rendered(found: Gathered, made: Rendered, folder: Path) -> bool:
    """Keeps what was rendered; False, with a note, where it was not."""
    if made.why:
        found.notes.append(f"not rendered: {folder}: {made.why}")
        return False
    if made.without:
        found.notes.append(
            f"rendered without {made.without}: {folder}: not in its charts folder (helm "
            "dependency build)"
        )
    found.files += 1
    if made.document.problem:
        found.unreadable.append(made.document.problem)
    found.documents.append(made.document)
    found.origins[made.document.file] = made
    return True


def _walked(folder: Path) -> Iterator[tuple[Path, list[str]]]:
    for directory, subfolders, names in os.walk(folder):
        subfolders[:] = sorted(name for name in subfolders if name not in _SKIPPED)
        yield Path(directory), sorted(names)


def _small(file: Path) -> bool:
    try:
        return file.stat().st_size <= _SMALL_BYTES
    except OSError:
        return True


def _mentions(file: Path, words: Sequence[str]) -> bool:
    """True for a file that has one of the words in it, in whatever case; and for one that cannot be
    read, so that this is said.
    """
    try:
        if file.stat().st_size > LARGEST_BYTES:
            return False
        text = file.read_bytes().lower()
    except OSError:
        return True
    return any(word.encode() in text for word in words)


def _is_ours(file: Path) -> bool:
    """True for a JSON file that could be a manifest: most are data."""
    try:
        with file.open("rb") as opened:
            start = opened.read(65536)
    except OSError:
        return False
    return b'"kind"' in start and b'"apiVersion"' in start
