"""Kthena's ModelBooster: the workers of its backend, whose `config` holds vLLM's arguments.

Source: volcano-sh/kthena, workload.serving.volcano.sh/v1alpha1 ModelBooster.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from barostat.judge.manifest_check.commands import Command
from barostat.judge.manifest_check.form import Form, Source, engine_of
from barostat.judge.manifest_check.images import image_facts
from barostat.judge.manifest_check.named_arguments import hub_name, listed_env, named_arguments
from barostat.judge.manifest_check.values_host import values_host
from barostat.judge.manifest_check.written import written
from barostat.lint.document import Document, Node
from barostat.lint.facts import Engine, Given


def _is_of(_: Document, root: Node) -> bool:
    return root.word("kind") == "ModelBooster"


def _engines(source: Source) -> Iterator[Engine]:
    root = source.root
    single = root.get("spec", "backend")
    for backend in [*root.maps_at("spec", "backends"), *([single] if single is not None else [])]:
        if backend.word("type").lower().startswith("vllm"):
            for worker in backend.maps_at("workers"):
                yield _engine(source.document, root, backend, worker)


def _engine(document: Document, root: Node, backend: Node, worker: Node) -> Engine:
    uri = backend.get("modelURI")
    named = hub_name(uri)
    engine = engine_of(
        Command(named_arguments(document, worker.get("config")), complete=False),
        name=f"ModelBooster {root.word('metadata', 'name')}, {worker.word('type') or 'worker'}",
        form="values",
        place=document.place(worker.get("type") or worker),
        image=written(document, worker.get("image")),
        facts=image_facts(worker.word("image")),
        env=listed_env(document, backend),
    )
    return replace(
        engine,
        model=Given(named, document.place(uri)) if named and uri is not None else None,
        env_complete=False,
        host=values_host(document, worker.get("resources")),
        multi_node=(worker.number("pods") or 1) > 1,
    )


FORM = Form("a ModelBooster of Kthena", _is_of, _engines)
