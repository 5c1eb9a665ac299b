"""A value of a file with its place."""

from __future__ import annotations

from barostat.lint.document import Document, Node
from barostat.lint.facts import Given


def written(document: Document, node: Node | None) -> Given | None:
    """Return the scalar at the node, None without one."""
    return Given(node.text, document.place(node)) if node is not None else None
