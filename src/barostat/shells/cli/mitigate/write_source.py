"""`barostat mitigate --write-source DIR`: the plan's change made in a checkout, in the line that the
live value comes from. The diff is shown; nothing is committed, and the cluster is not written.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from barostat.catalog.settings.table import canonical_name
from barostat.core.change import ConfigChange
from barostat.core.errors import InputError
from barostat.io.manifests.gather import Gathered, Reading, gather
from barostat.judge.manifest_check.pod_specs import objects_of
from barostat.judge.manifest_check.scene import scene_of
from barostat.lint.document import Document, Edit, Node, Place, edited
from barostat.lint.edits import with_value
from barostat.lint.facts import Argument, Engine, Given

_OF_VALUES = re.compile(r"\.Values\.([\w.]+)")
_VARIABLE = re.compile(r"\$\((\w+)\)|\$\{(\w+)[^}]*\}|\$(\w+)")
"""As Kubernetes and a shell write one: `$(SEQS)`, `${SEQS:-64}`, `$SEQS`."""


@dataclass(frozen=True, slots=True)
class SourceEdit:
    """A file with the change. `diff`: its lines, as `diff -u` prints them."""

    file: Path
    text: str
    diff: str


def source_edit(folder: str, kind: str, name: str, change: ConfigChange) -> SourceEdit:
    """The edit of the one line in that folder that sets what the change is of, for that workload.

    Place, comments and quotes are kept. Errors: InputError where there is no such line, where there
    are several files with one, or where it is written in a way that is not edited.
    """
    if change.kind not in ("argument", "environment") or change.value is None:
        raise InputError(f"{change} is no value of one line; set it by hand", "--write-source")
    gathered = gather([folder], Reading(lenient=True))
    scene = scene_of(gathered.documents)
    engines = _of_workload(gathered.documents, scene.engines, kind, name)
    if not engines:
        unread = f" ({gathered.unchecked[0].message})" if gathered.unchecked else ""
        raise InputError(f"declares no engine of {kind} {name}{unread}", folder)
    written = [at for engine in engines if (at := _written(gathered, engine, change)) is not None]
    edits = list(dict.fromkeys(_edit(gathered, at, change) for at in written))
    if not edits:
        raise InputError(
            f"does not set {change.name} for {kind} {name}: add {_words(change)} to its arguments",
            folder,
        )
    files = sorted({edit.file for edit in edits})
    if len(files) > 1:
        raise InputError(
            f"sets {change.name} of {kind} {name} in {', '.join(files)}: name one", folder
        )
    edit = edits[0]
    before = next(one for one in _documents(gathered) if one.file == edit.file).text
    after, _ = edited(before, edits)
    lines = difflib.unified_diff(
        before.splitlines(keepends=True),
        after.splitlines(keepends=True),
        edit.file,
        f"{edit.file} (with {change.name} {change.value})",
    )
    return SourceEdit(Path(edit.file), after, "".join(lines).rstrip("\n"))


def _of_workload(
    documents: Sequence[Document], engines: Sequence[Engine], kind: str, name: str
) -> list[Engine]:
    """Return the engines in the workload's manifest; else those of values files whose name is part
    of its name.
    """
    roots = [
        (document.file, root)
        for document in documents
        for top in document.roots
        for root in objects_of(top)
        if (root.word("kind"), root.word("metadata", "name")) == (kind, name)
    ]
    own = [
        engine
        for engine in engines
        if any(
            file == engine.place.file and root.start <= engine.place.start <= root.end
            for file, root in roots
        )
    ]
    words = f"-{name}-"
    return own or [one for one in engines if f"-{one.name.rpartition(' ')[2]}-" in words]


def _written(gathered: Gathered, engine: Engine, change: ConfigChange) -> Argument | Given | None:
    """Where the value is written: of an argument that is a variable, where the variable is given,
    in a ConfigMap for example.
    """
    if change.kind == "environment":
        return engine.env.get(change.name)
    found = engine.arguments.get(canonical_name(change.name))
    if found is None:
        return None
    document, (start, end) = _span(gathered, _place(found))
    stretch = document.text[start:end] if document is not None else ""
    named = ["".join(match.groups("")) for match in _VARIABLE.finditer(stretch)]
    given = engine.env.get(named[0]) if len(named) == 1 else None
    return given if given is not None and given.text == found.text else found


def _place(at: Argument | Given) -> Place:
    return at.words[-1] if isinstance(at, Argument) and at.words else at.place


def _edit(gathered: Gathered, at: Argument | Given, change: ConfigChange) -> Edit:
    """The edit where a person makes it. Errors: InputError for a place that is not edited."""
    value = str(change.value)
    place = _place(at)
    if place.file not in gathered.origins and isinstance(at, Argument):
        made = with_value(at, value)
        if made:
            return made[0]
    source, span = _span(gathered, place)
    former = at.text or ""
    written = source.text[span[0] : span[1]] if source is not None else ""
    if source is None or not former or written.count(former) != 1:
        raise InputError(
            f"line {place.line}: {change.name} is not written there as one plain value: set "
            f"{change} by hand",
            place.file,
        )
    start = span[0] + written.index(former)
    return Edit(source.file, start, start + len(former), value)


def _span(gathered: Gathered, place: Place) -> tuple[Document | None, tuple[int, int]]:
    """The file in which a person edits that place, and where in it; None if that is not told."""
    if place.file not in gathered.origins:
        document = next((one for one in _documents(gathered) if one.file == place.file), None)
        return (document, (place.start, place.end)) if place.start >= 0 else (None, (0, 0))
    there = gathered.edited_at(place)
    for document in _documents(gathered):
        node = _scalar_at(document, there) if document.file == there.file else None
        if node is not None:
            return document, (node.start, node.end)
    return _value_of_template(gathered, there, place.file)


def _value_of_template(
    gathered: Gathered, there: Place, rendered: str
) -> tuple[Document | None, tuple[int, int]]:
    """The value that the only `.Values.` of a template's line stands for."""
    template = next((one for one in _documents(gathered) if one.file == there.file), None)
    lines = template.text.splitlines() if template is not None else []
    line = lines[there.line - 1] if 0 < there.line <= len(lines) else ""
    named = _OF_VALUES.findall(line)
    for document in gathered.origins[rendered].sources if len(named) == 1 else ():
        for root in document.roots:
            node = root.get(*named[0].split("."))
            if node is not None and node.kind == "scalar":
                return document, (node.start, node.end)
    return None, (0, 0)


def _documents(gathered: Gathered) -> list[Document]:
    sources = [one for origin in gathered.origins.values() for one in origin.edited()]
    return [*gathered.documents, *sources]


def _scalar_at(document: Document, place: Place) -> Node | None:
    """The scalar at that line and column."""
    stack = list(document.roots)
    while stack:
        node = stack.pop()
        if node.kind == "scalar" and (node.line, node.column) == (place.line, place.column):
            return node
        stack += [*node.items, *node.entries.values()]
    return None


def _words(change: ConfigChange) -> str:
    return f"{change.name} {change.value}"
