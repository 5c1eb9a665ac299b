"""Files that stand as a text within another file: a chart's values, a manifest or a compose file in
a ConfigMap, a task of Ansible, a here-document of a script or of Terraform.

The text is read where it stands, with everything before it blank, so that lines, columns and offsets
are those of the file.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from barostat.engines.vllm.command_line.shell_words import read_shell
from barostat.io.manifests.yaml_tree import read_yaml
from barostat.judge.manifest_check.shell_text import readable
from barostat.lint.document import Document, Node

_VALUES = re.compile(r"^[ \t]*(?:servingEngineSpec|modelArtifacts)[ \t]*:", re.MULTILINE)
_MANIFEST = re.compile(r"^[ \t]*(?:services[ \t]*:[ \t]*$|kind[ \t]*:[ \t]*[A-Z])", re.MULTILINE)
MOST = 50
"""Texts of one file that are read; each is read by way of all that stands before it."""


def with_embedded(document: Document) -> Document:
    """Read the texts in the document: values in their place, manifests as further roots."""
    text = document.text
    if document.problem is not None or not (_VALUES.search(text) or "vllm" in text.lower()):
        return document
    left = MOST
    further: list[Node] = []
    for root in document.roots:
        for parent in [node for node in root.walk() if node.kind in ("map", "list")]:
            for key, node in [*parent.entries.items(), *((None, item) for item in parent.items)]:
                if not left or not _is_file(node):
                    continue
                left -= 1
                first = _body(document, node)
                if key is not None and _VALUES.search(node.text) is not None:
                    parent.entries[key] = next(_read(document, first, node.end), node)
                elif _MANIFEST.search(node.text) is not None and "vllm" in node.text.lower():
                    further += _read(document, first, node.end)
    for root in list(document.roots):
        if root.style == "text" and "<<" in root.text:
            for start, end in read_shell(root.text, {}, whole_script=True).here_documents[:left]:
                body = root.text[start:end]
                if _MANIFEST.search(body) is not None and "vllm" in body.lower():
                    further += _read(document, start, end)
    document.roots += further
    return document


def _is_file(node: Node) -> bool:
    """True for a scalar of several lines that may hold a file."""
    return (
        node.kind == "scalar"
        and node.style in ("|", "text")
        and (_VALUES.search(node.text) is not None or _MANIFEST.search(node.text) is not None)
    )


def _body(document: Document, node: Node) -> int:
    return node.start if node.style == "text" else document.text.find("\n", node.start) + 1


def _read(document: Document, start: int, end: int) -> Iterator[Node]:
    """Yield the mappings of the stretch; none where it is no YAML."""
    blank = re.sub(r"[^\n]", " ", document.text[:start])
    read = read_yaml(blank + readable(document.text[start:end]), document.file)
    if read.problem is None:
        yield from (root for root in read.roots if root.kind == "map")
