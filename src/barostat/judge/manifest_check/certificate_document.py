"""A certificate of `barostat validate` among the files -> which limits were load-tested, on which
engine, when, and what came of it.
"""

from __future__ import annotations

from barostat.lint.document import Document, Node
from barostat.lint.facts import LoadTest

KIND = "LoadTestCertificate"


def load_test_of(document: Document, root: Node) -> LoadTest | None:
    """The load test, None for any other document."""
    if root.word("kind") != KIND:
        return None
    return LoadTest(
        document.place(root.get("kind") or root),
        root.word("verdict"),
        root.word("at"),
        root.word("engine", "version"),
        root.word("engine", "model"),
        root.word("limits", "digest"),
        root.word("limits", "name"),
    )
