"""Read what the command line names into documents: files, folders and stdin; charts and overlays
rendered.

    FILE    read as it is. A chart's template or values.yaml, a kustomization or one of its patches
            stands for the whole chart or overlay
    DIR     every manifest below it. Charts (Chart.yaml) and overlays (kustomization.yaml) are
            rendered; the files they are made of are not read a second time
    -       one stream of documents from stdin

What could not be read or rendered is in `unchecked`, with the reason.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from barostat.core.errors import InputError
from barostat.io.input_files.piped import piped_in
from barostat.io.manifests.read import KUSTOMIZATIONS, document_of, is_read, read_file
from barostat.io.manifests.yaml_tree import LARGEST_BYTES, TOO_LARGE
from barostat.lint.document import Document, Place
from barostat.lint.rule import Finding, Severity, unchecked

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
_OF_TOOLS = frozenset((*KUSTOMIZATIONS, "Chart.yaml", "Chart.lock", "values.schema.json"))
_SMALL_BYTES = 64 << 10
MOST_FILES = 20_000


@dataclass(frozen=True, slots=True)
class Reading:
    """How to read. `lenient`: what cannot be read fails nothing unless it mentions vLLM. `remote`:
    bases of other repositories may be fetched.
    """

    render: bool = True
    lenient: bool = False
    remote: bool = False


@dataclass(slots=True)
class Gathered:
    """The documents read. `origins`: by file, how a rendered document was produced."""

    documents: list[Document] = field(default_factory=list)
    unchecked: list[Finding] = field(default_factory=list)
    origins: dict[str, Rendered] = field(default_factory=dict)
    files: int = 0

    def edited_at(self, place: Place) -> Place:
        """Return where a person edits what stands at that place of a document."""
        origin = self.origins.get(place.file)
        return place if origin is None else origin.traced(place).place

    def sources(self) -> list[Document]:
        """Return the files that were rendered to documents."""
        read = {document.file for document in self.documents}
        return [
            source
            for origin in self.origins.values()
            for source in origin.edited()
            if source.file not in read
        ]


def gather(named: Sequence[str], reading: Reading | None = None) -> Gathered:
    """Read everything that was named: files before the folders in which they may lie.

    Errors: InputError for a path that is not there.
    """
    reading = reading or Reading()
    gathered = Gathered()
    seen: set[str] = set()
    rendered: set[Path] = set()
    for name in sorted(named, key=lambda name: name != "-" and Path(name).is_dir()):
        if name == "-":
            _keep(gathered, document_of(_stdin(), "<stdin>"), named=True)
            continue
        path = Path(name)
        if path.is_dir():
            _folder(gathered, path, seen, reading)
        elif path.is_file() and reading.render and (folder := _made_with(path)) is not None:
            if folder not in rendered:
                rendered.add(folder)
                _folder(gathered, folder, seen, reading)
        elif path.is_file() or path.is_fifo():
            if str(path) not in seen:
                seen.add(str(path))
                _keep(gathered, read_file(path), named=not reading.lenient)
        else:
            raise InputError("there is no such file or folder", name)
    return gathered


def _made_with(file: Path) -> Path | None:
    """Return the chart or overlay of which the file is a part; None for a manifest of its own."""
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
        raise InputError(TOO_LARGE, "<stdin>")
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        raise InputError("not UTF-8 text", "<stdin>") from None


def _keep(gathered: Gathered, document: Document, *, named: bool) -> None:
    """Keep the document, or the reason why it was not read. A file that nobody named is skipped
    unless it mentions vLLM.
    """
    gathered.files += 1
    if document.problem is None:
        gathered.documents.append(document)
        return
    ours = any(word in document.text.lower() for word in _OURS)
    if not named and not ours:
        return
    fails = named or not document.is_template
    problem = document.problem
    gathered.unchecked.append(
        unchecked(problem.place, problem.reason, "error" if fails else "note")
    )
    if document.roots and fails:
        gathered.documents.append(document)


def _folder(gathered: Gathered, folder: Path, seen: set[str], reading: Reading) -> None:
    files, charts, overlays = _listed(folder)
    covered = {
        file
        for file in files
        for chart in charts
        if chart / "templates" in file.parents or chart / "charts" in file.parents
    }
    for chart in charts:
        if not any(other in chart.parents for other in charts):  # else a dependency
            _render_chart(gathered, chart, reading)
    covered |= _render_overlays(gathered, overlays, files, reading)
    for file in files:
        if file in covered or str(file) in seen or file.name in _OF_TOOLS:
            continue
        seen.add(str(file))
        if file.suffix.lower() == ".json" and not _may_be_manifest(file):
            continue
        if not _small(file) and not _mentions(file, (*_OURS, *_WATCHING)):
            gathered.files += 1  # large, and nothing of ours in it: a CRD, a dashboard
            continue
        document = read_file(file)
        of_chart = document.is_template and any(chart in file.parents for chart in charts)
        if not of_chart:
            _keep(gathered, document, named=False)


def _listed(folder: Path) -> tuple[list[Path], list[Path], list[Path]]:
    """Return the files to read, the charts and the overlays below the folder.

    Errors: InputError for too many files.
    """
    files: list[Path] = []
    charts: list[Path] = []
    overlays: list[Path] = []
    for directory, names in _walked(folder):
        if "Chart.yaml" in names:
            charts.append(directory)
        if any(name in names for name in KUSTOMIZATIONS):
            overlays.append(directory)
        files += [directory / name for name in names if is_read(name)]
        if len(files) > MOST_FILES:
            raise InputError(
                f"holds more than {MOST_FILES:,} files to read: name the folders that matter",
                str(folder),
            )
    return files, charts, overlays


def _render_chart(gathered: Gathered, chart: Path, reading: Reading) -> None:
    """Render the chart if something in it mentions vLLM."""
    if not any(
        _mentions(directory / name, (*_OURS, *_WATCHING))
        for directory, names in _walked(chart)
        for name in names
    ):
        gathered.files += 1
        return
    from barostat.io.manifests.rendered import render_chart

    if not reading.render:
        _not_rendered(gathered, chart / "Chart.yaml", "not rendered (--no-render)", "note")
        return
    _keep_rendered(gathered, render_chart(chart), chart / "Chart.yaml", reading)


def _render_overlays(
    gathered: Gathered, overlays: Sequence[Path], files: Sequence[Path], reading: Reading
) -> set[Path]:
    """Render the overlays that no other builds on; return the files that they are made of."""
    from barostat.io.manifests.rendered import render_overlay, sources_of_overlay

    resolved = {file: file.resolve() for file in files} if overlays else {}
    bases = {source for overlay in overlays for source in sources_of_overlay(overlay)}
    covered: set[Path] = set()
    for overlay in overlays:
        if overlay.resolve() in bases:
            continue
        closure = _closure(overlay)
        own = next(overlay / name for name in KUSTOMIZATIONS if (overlay / name).is_file())
        kustomization = read_file(own)
        problem = kustomization.problem
        beside = [file for file in files if file.parent == overlay] if problem else []
        ours = any(_mentions(file, _OURS) for file in [own, *closure, *beside] if file.is_file())
        if problem is not None and ours:
            gathered.unchecked.append(unchecked(problem.place, problem.reason, "error"))
        made = None
        if ours and problem is None and reading.render:
            made = render_overlay(overlay, remote=reading.remote)
        elif ours and problem is None:
            _not_rendered(gathered, own, "not rendered (--no-render)", "note")
        if made is not None and _keep_rendered(gathered, made, own, reading):
            sources = closure
        else:
            sources = set(sources_of_overlay(overlay, patches_only=True))
            if ours and "helmCharts" in kustomization.text and problem is None:
                _keep(gathered, kustomization, named=False)  # values of a chart, inline
        covered |= {file for file, whole in resolved.items() if whole in sources}
    return covered


def _closure(overlay: Path) -> set[Path]:
    """Return every file that the overlay is made of, through its bases."""
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


def _keep_rendered(gathered: Gathered, made: Rendered, at: Path, reading: Reading) -> bool:
    """Keep what was rendered; False, with the reason, if nothing was."""
    if made.why:
        severity: Severity = "note" if reading.lenient else "error"
        _not_rendered(gathered, at, f"not rendered: {made.why}", severity)
        return False
    if made.without:
        reason = f"rendered without {made.without}, which is not in its charts folder"
        _not_rendered(gathered, at, reason, "note", "helm dependency build")
    gathered.files += 1
    if (problem := made.document.problem) is not None:
        gathered.unchecked.append(unchecked(problem.place, problem.reason, "error"))
    gathered.documents.append(made.document)
    gathered.origins[made.document.file] = made
    return True


def _not_rendered(
    gathered: Gathered, at: Path, reason: str, severity: Severity, fix: str = ""
) -> None:
    gathered.unchecked.append(unchecked(Place(str(at), 1, 1), reason, severity, fix))


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
    """True for a file that contains one of the words, in any case, or that cannot be read (which is
    then reported).
    """
    try:
        found = file.stat()
        if not stat.S_ISREG(found.st_mode):
            return True
        if found.st_size > LARGEST_BYTES:
            return False
        text = file.read_bytes().lower()
    except OSError:
        return True
    return any(word.encode() in text for word in words)


def _may_be_manifest(file: Path) -> bool:
    """True for a JSON file that could be a manifest; most are data."""
    try:
        if not file.is_file():
            return True
        with file.open("rb") as opened:
            start = opened.read(65536)
    except OSError:
        return False
    return b'"kind"' in start and b'"apiVersion"' in start
