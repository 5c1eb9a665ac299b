"""A ServingLimits document -> its numbers, each with its place, to be held against what is
deployed.
"""

from __future__ import annotations

from collections.abc import Iterator

from barostat.judge.manifest_check.written import written
from barostat.lint.document import Document, Node, Place
from barostat.lint.facts import Given, Limits

KIND = "ServingLimits"  # core.limits has it too, and takes as long to load as all else here


def limits_of(
    document: Document, root: Node, problems: tuple[tuple[Place, str], ...] = ()
) -> Limits | None:
    """The limits document, None for any other. `problems`: what its strict reading complained
    of.
    """
    if root.word("kind") != KIND:
        return None
    spec = root.get("spec") or root
    version = spec.get("engineVersion")
    numbers: dict[str, tuple[float, Place]] = {}
    words: dict[str, Given] = {}
    for path, node in _leaves(spec, ""):
        try:
            numbers[path] = (float(node.text), document.place(node))
        except ValueError:
            words[path] = Given(node.text, document.place(node))
    because = root.get("because")
    return Limits(
        root.word("metadata", "name"),
        document.place(root.get("kind") or root),
        spec.word("targetRef", "name"),
        spec.word("model"),
        written(document, version),
        numbers,
        words,
        because is not None and bool(because.entries),
        problems,
    )


def _leaves(node: Node, path: str) -> Iterator[tuple[str, Node]]:
    for key, value in node.entries.items():
        where = f"{path}.{key}".strip(".")
        if value.kind == "map":
            yield from _leaves(value, where)
        elif value.kind == "scalar" and not value.is_null and not value.style:
            yield where, value
