"""KAITO's inference_config.yaml in a ConfigMap: vLLM's arguments below `vllm:`.

The Workspace that names the ConfigMap brings image, model and card.
Source: kaito-project/kaito docs, "Inference with custom parameters".
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from barostat.judge.manifest_check.commands import Command, config_entries
from barostat.judge.manifest_check.form import Form, Source, engine_of
from barostat.lint.document import Document, Node
from barostat.lint.facts import Engine

_KEY = "inference_config.yaml"
_SECTION = re.compile(
    r"^vllm:[ \t]*(?:#[^\n]*)?\n((?:[ \t]+[^\n]*(?:\n|$)|[ \t]*\n|#[^\n]*\n)+)", re.M
)


def _is_of(_: Document, root: Node) -> bool:
    return root.word("kind") == "ConfigMap" and root.get("data", _KEY) is not None


def _engines(source: Source) -> Iterator[Engine]:
    document, root = source.document, source.root
    node = root.get("data", _KEY)
    section = _SECTION.search(node.text) if node is not None and node.kind == "scalar" else None
    if node is None or section is None:
        return
    arguments = config_entries(document, node, *section.span(1))
    yield engine_of(
        Command(arguments, complete=False),
        name=f"ConfigMap {root.word('metadata', 'name')}",
        form="values",
        place=document.within(node, section.start(), section.start() + len("vllm")),
    )


FORM = Form("a configuration of KAITO", _is_of, _engines)
