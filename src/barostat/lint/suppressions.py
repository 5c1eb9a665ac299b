"""Comments that suppress a finding: `# barostat: ignore[rule] reason`.

on its own line           applies to the next line that is not a comment
at the end of a line      applies to this line
ignore-file[rule] ...     applies to the whole file

For rendered manifests, the comment belongs where a person edits: in values, a template or a patch.

A reason is required: without one, nothing is suppressed and `suppression-without-reason` is
reported. A comment that suppresses nothing is reported as `unused-suppression`, except in values
files, which may be rendered elsewhere too. Both findings can be suppressed like any other.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace

from barostat.lint.document import Document, Edit, Node, Place
from barostat.lint.rule import Finding

_COMMENT = re.compile(
    r"#[ \t]*barostat:[ \t]*ignore(?P<file>-file)?\[(?P<rules>[^\]\n]*)\][ \t]*(?P<reason>[^\n]*)"
)

_OTHER_FILES = ("kind", "apiVersion", "groups", "scrape_configs")
"""Keys of what is no values file: manifests, Prometheus' rules and its configuration. Compose files
have `services` of images.
"""

_FAR = 50
"""Lines beyond which a comment on a line of its own is about nothing."""


@dataclass(slots=True)
class _Suppression:
    """One comment. `line`: that it is about, 0 for the whole file."""

    document: Document
    start: int
    end: int
    line: int
    rules: tuple[str, ...]
    reason: str
    used: set[str] = field(default_factory=set)


@dataclass(frozen=True, slots=True)
class Sifted:
    """The remaining findings, and the suppressed ones with their reasons."""

    findings: tuple[Finding, ...]
    suppressed: tuple[tuple[Finding, str], ...]


def sifted(
    found: Sequence[Finding],
    documents: Iterable[Document],
    known: Iterable[str],
    sources: Iterable[Document] = (),
    edited_at: Callable[[Place], Place] = lambda place: place,
) -> Sifted:
    """The findings without those that a comment allows, with findings about the comments
    themselves. `known`: the rules' names.

    `sources`: what was rendered to documents; its comments allow, and are not complained of.
    `edited_at`: where there a place is edited.
    """
    comments = [
        comment
        for document in documents
        if "barostat:" in document.text
        for comment in _comments(document)
    ]
    elsewhere = [
        comment
        for document in sources
        if "barostat:" in document.text
        for comment in _comments(document)
    ]
    if not comments and not elsewhere:
        return Sifted(tuple(found), ())
    by_line: dict[tuple[str, int], list[_Suppression]] = {}
    for comment in [*comments, *elsewhere]:
        by_line.setdefault((comment.document.file, comment.line), []).append(comment)
    left: list[Finding] = []
    allowed: list[tuple[Finding, str]] = []
    for finding in found:
        places = {
            (place.file, line)
            for place in (finding.place, edited_at(finding.place))
            for line in (place.line, 0)
        }
        near = [
            one
            for place in sorted(places)
            for one in by_line.get(place, ())
            if one.reason and finding.rule in one.rules
        ]
        for one in near:
            one.used.add(finding.rule)
        if near:
            allowed.append((finding, near[0].reason))
        else:
            left.append(finding)
    names = set(known)
    left += [finding for comment in comments for finding in _about(comment, names)]
    return Sifted(
        tuple(
            sorted(
                left, key=lambda one: (one.place.file, one.place.line, one.place.column, one.rule)
            )
        ),
        tuple(allowed),
    )


def _comments(document: Document) -> Iterable[_Suppression]:
    text = document.text
    rows = text.split("\n")
    for match in _COMMENT.finditer(text):
        line = document.at(match.start(), match.end()).line
        alone = not text[text.rfind("\n", 0, match.start()) + 1 : match.start()].strip()
        if match["file"]:
            line = 0
        elif alone:
            line = _next_line(rows, line)
        rules = tuple(name.strip() for name in match["rules"].split(",") if name.strip())
        yield _Suppression(
            document, match.start(), match.end(), line, rules, match["reason"].strip()
        )


def _next_line(rows: Sequence[str], line: int) -> int:
    """The number of the next line that is neither empty nor a comment; the comment's own where
    there is none near.
    """
    for number in range(line, min(len(rows), line + _FAR)):
        row = rows[number].strip()
        if row and not row.startswith("#"):
            return number + 1
    return line


def _about(comment: _Suppression, known: set[str]) -> Iterable[Finding]:
    place = comment.document.at(comment.start, comment.end)
    base = Finding("unused-suppression", place, "warning", "high", "ordinary", "")
    if not comment.reason:
        said = (
            f"ignore[{', '.join(comment.rules)}] has no reason, so it allows nothing: say why "
            "it is right here"
        )
        yield replace(
            base,
            rule="suppression-without-reason",
            message=said,
            fix="# barostat: ignore[rule] reason",
        )
        return
    silent = known if _only_values(comment.document) else set()
    unused = [name for name in comment.rules if name not in comment.used and name not in silent]
    if not comment.rules:
        yield replace(base, message="ignore[] names no rule", fix="remove it")
    for name in unused:
        said = (
            f"no rule is named {name}"
            if name not in known
            else f"{name} finds nothing here any more"
        )
        whole = len(unused) == len(comment.rules) and len(unused) == 1
        edits = (_removed(comment),) if whole else ()
        yield replace(
            base,
            message=f"unused suppression: {said}",
            fix="remove it",
            edits=edits,
            safety="certain",
        )


def _only_values(document: Document) -> bool:
    """True for a values file: other charts and values may render it, too."""
    return bool(document.roots) and all(
        root.kind == "map"
        and not any(key in root.entries for key in _OTHER_FILES)
        and not _is_compose(root)
        for root in document.roots
    )


def _is_compose(root: Node) -> bool:
    services = root.get("services")
    return services is not None and any(
        one.get("image") is not None or one.get("build") is not None
        for one in services.entries.values()
    )


def _removed(comment: _Suppression) -> Edit:
    """Remove the comment, and its line if it contains nothing else."""
    text = comment.document.text
    start, stop = text.rfind("\n", 0, comment.start) + 1, text.find("\n", comment.end)
    stop = len(text) if stop < 0 else stop
    if not text[start : comment.start].strip():
        return Edit(comment.document.file, start, min(len(text), stop + 1), "")
    kept = len(text[start : comment.start].rstrip())
    return Edit(comment.document.file, start + kept, comment.end, "")
