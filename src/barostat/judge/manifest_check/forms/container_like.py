"""A mapping with vLLM's image and its arguments in any other file: a task of Ansible or Nomad, a
container of Terraform, a custom resource.

What surrounds the engine there is not read.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from barostat.judge.manifest_check.container_words import container_line, image_of
from barostat.judge.manifest_check.form import Form, Source, engine_of
from barostat.judge.manifest_check.named_arguments import listed_env, mapped_env
from barostat.lint.document import Document, Node
from barostat.lint.facts import Engine


def _engines(source: Source) -> Iterator[Engine]:
    document = source.document
    stack: list[tuple[str, Node]] = [("", source.root)]
    while stack:
        key, node = stack.pop()
        if node.kind == "map" and node.get("image") is not None and not source.is_taken(node):
            engine = _engine(document, key, node)
            if engine is not None:
                yield engine
                continue
        stack += [(key, item) for item in reversed(node.items)]
        stack += reversed(node.entries.items())


def _engine(document: Document, key: str, node: Node) -> Engine | None:
    image, facts = image_of(document, node)
    variables = node.get("env") or node.get("environment")
    env = mapped_env(document, variables) if variables is not None else {}
    env |= listed_env(document, node)
    line = container_line(document, node, facts, env)
    if line is None:
        return None
    engine = engine_of(
        line,
        name=f"{key} {node.word('name')}".strip() or "the container",
        form="task",
        place=document.place(node.get("image") or node),
        image=image,
        facts=facts,
        env=env,
    )
    return replace(engine, env_complete=False, complete=False)


def _is_tree(_: Document, root: Node) -> bool:
    return root.kind in ("map", "list")


FORM = Form("a container", _is_tree, _engines, general=True)
