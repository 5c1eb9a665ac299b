"""Shell scripts, batch files and plain command lines."""

from __future__ import annotations

from collections.abc import Iterator

from barostat.judge.manifest_check.form import Form, Source
from barostat.judge.manifest_check.shell_text import engines_of_text
from barostat.lint.document import Document, Node
from barostat.lint.facts import Engine


def is_text(root: Node) -> bool:
    """True for a file that is one text."""
    return root.style == "text"


def _is_script(document: Document, root: Node) -> bool:
    from barostat.judge.manifest_check.forms.dockerfile import is_dockerfile
    from barostat.judge.manifest_check.forms.unit import is_unit

    return is_text(root) and not is_unit(document, root) and not is_dockerfile(document, root)


def _engines(source: Source) -> Iterator[Engine]:
    name = source.document.file.rsplit("/", 1)[-1]
    return engines_of_text(source.document, source.root, name)


FORM = Form("a script", _is_script, _engines)
