"""A chart's values that stand as one text within another object -> a tree in place of that text,
each value where a person edits it.

So write Argo CD's `helm.values`, the ConfigMap that Flux takes values from, and k3s'
`valuesContent`. The text is read where it stands, with all before it blank, so that lines, columns
and offsets are those of the file.
"""

from __future__ import annotations

import re

from barostat.io.manifests.yaml_tree import read_yaml
from barostat.lint.document import Document, Node

_VALUES = re.compile(r"^[ \t]*(?:servingEngineSpec|modelArtifacts)[ \t]*:", re.MULTILINE)
MOST = 50
"""Texts of one file that are taken apart; each is read by way of all that stands before it."""


def with_embedded(document: Document) -> Document:
    """The document, such texts in it read."""
    if document.problem is not None or _VALUES.search(document.text) is None:
        return document
    left = MOST
    for parent in [node for root in document.roots for node in root.walk() if node.kind == "map"]:
        for key, node in parent.entries.items():
            if (
                left
                and node.kind == "scalar"
                and node.style == "|"
                and _VALUES.search(node.text) is not None
            ):
                left -= 1
                parent.entries[key] = _read(document, node) or node
    return document


def _read(document: Document, node: Node) -> Node | None:
    """The one mapping that the text holds, None where it holds anything else."""
    first = document.text.find("\n", node.start) + 1
    blank = re.sub(r"[^\n]", " ", document.text[:first])
    read = read_yaml(blank + document.text[first : node.end], document.file)
    return (
        read.roots[0]
        if read.problem is None and len(read.roots) == 1 and read.roots[0].kind == "map"
        else None
    )
