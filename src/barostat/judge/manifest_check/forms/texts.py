"""A text in any other file that starts vLLM: a task's command, `run:` of SkyPilot or a pipeline,
`commands:` of dstack, a script in a ConfigMap, user data in Terraform.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from barostat.judge.manifest_check.form import Form, Source
from barostat.judge.manifest_check.forms.unit import engines_of_unit, is_unit_text
from barostat.judge.manifest_check.shell_text import engines_of_text, may_start
from barostat.lint.document import Node
from barostat.lint.facts import Engine

_PROSE = ("description", "summary", "message", "notes", "help", "title", "body", "prompt")
"""Keys of what people read."""
_CONTAINER = ("args", "command", "entrypoint")
_NO_SCRIPT = (".py", ".md", ".json", ".yaml", ".yml")


def _engines(source: Source) -> Iterator[Engine]:
    root = source.root
    kind, name = root.word("kind"), root.word("metadata", "name")
    stack: list[tuple[str, Node]] = [("", root)]
    while stack:
        key, node = stack.pop()
        if node.kind == "scalar":
            if may_start(node.text) and not source.is_taken(node) and not _is_prose(key, node):
                owner = f"{kind} {name}, {key}" if kind else key
                yield from _engines_of(source, node, owner.strip(", ") or "the command")
            continue
        if any(part in node.entries for part in _CONTAINER) and source.is_taken(node):
            continue
        stack += [(key, item) for item in reversed(node.items)]
        stack += reversed(node.entries.items())


def _engines_of(source: Source, node: Node, name: str) -> Iterator[Engine]:
    document = source.document
    if is_unit_text(node.text):
        yield from engines_of_unit(document, node, name)
        return
    for engine in engines_of_text(document, node, name, form="task"):
        yield replace(engine, complete=engine.complete and "{{" not in node.text)


def _is_prose(key: str, node: Node) -> bool:
    if key == "content":  # of a file that is written, or of a panel
        return not (is_unit_text(node.text) or node.text.startswith("#!"))
    return key.endswith(_NO_SCRIPT) or key.lower() in _PROSE


def _is_tree(_: object, root: Node) -> bool:
    return root.kind in ("map", "list")


FORM = Form("a text", _is_tree, _engines, general=True)
