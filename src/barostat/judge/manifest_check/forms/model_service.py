"""Values of llm-d's modelservice chart.

Source: llm-d-incubation/llm-d-modelservice values.yaml.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from barostat.judge.manifest_check.commands import Command, read_elements
from barostat.judge.manifest_check.form import Form, Source, engine_of
from barostat.judge.manifest_check.images import image_facts
from barostat.judge.manifest_check.named_arguments import (
    hub_name,
    listed_env,
    scalars,
    value_argument,
)
from barostat.judge.manifest_check.values_host import values_host
from barostat.judge.manifest_check.written import written
from barostat.lint.document import Document, Node
from barostat.lint.facts import Engine, Given

_ROLES = ("decode", "prefill")


def _is_of(_: Document, root: Node) -> bool:
    return root.get("kind") is None and any(root.maps_at(role, "containers") for role in _ROLES)


def _engines(source: Source) -> Iterator[Engine]:
    for role in _ROLES:
        for container in source.root.maps_at(role, "containers"):
            served = container.word("modelCommand") in ("vllmServe", "custom")
            if served or "vllm" in container.word("image"):
                yield _engine(source.document, source.root, role, container)


def _engine(document: Document, root: Node, role: str, container: Node) -> Engine:
    args = scalars(container.list_at("args"))
    line = read_elements(document, args, {}, all_env=False) if args else Command()
    tensor, uri = root.get(role, "parallelism", "tensor"), root.get("modelArtifacts", "uri")
    arguments = dict(line.arguments)
    if tensor is not None and "tensor_parallel_size" not in arguments:
        arguments["tensor_parallel_size"] = value_argument(
            "tensor_parallel_size", tensor.text, f"tensor: {tensor.text}", document.place(tensor)
        )
    named = hub_name(uri)
    image, facts = container.get("image"), image_facts(container.word("image"))
    engine = engine_of(
        line,
        name=f"{role} of {root.word('modelArtifacts', 'name') or 'modelservice'}",
        form="values",
        place=document.place(container.get("name") or container),
        image=written(document, image),
        facts=facts,
        env=listed_env(document, container),
    )
    return replace(
        engine,
        arguments=arguments,
        model=line.model
        or (Given(named, document.place(uri)) if named and uri is not None else None),
        floating=facts.floating,
        complete=line.complete,
        env_complete=False,
        host=values_host(document, container.get("resources")),
        multi_node=bool(root.get("multinode") and root.is_true("multinode")),
    )


FORM = Form("values of llm-d's modelservice", _is_of, _engines)
