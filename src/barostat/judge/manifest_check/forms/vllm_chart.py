"""Values of the chart in vLLM's own examples.

Source: vLLM examples/online_serving/chart-helm/values.yaml.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from barostat.judge.manifest_check.commands import read_elements, starts_server
from barostat.judge.manifest_check.container_probes import probes
from barostat.judge.manifest_check.form import Form, Source, engine_of
from barostat.judge.manifest_check.images import image_facts
from barostat.judge.manifest_check.named_arguments import scalars
from barostat.judge.manifest_check.values_host import values_host
from barostat.lint.document import Document, Node
from barostat.lint.facts import Engine, Given


def _is_of(_: Document, root: Node) -> bool:
    command = root.get("image", "command")
    return (
        root.get("kind") is None
        and command is not None
        and command.kind == "list"
        and starts_server(" ".join(item.text for item in command.items))
    )


def _engines(source: Source) -> Iterator[Engine]:
    document, root = source.document, source.root
    line = read_elements(document, scalars(root.list_at("image", "command")), {}, all_env=False)
    repository, tag = root.get("image", "repository"), root.get("image", "tag")
    reference = (
        f"{repository.text}:{tag.text}"
        if repository is not None and tag is not None and tag.text
        else ""
    )
    engine = engine_of(
        line,
        name="values of vLLM's chart",
        form="values",
        place=document.place(root),
        image=Given(reference, document.place(tag)) if tag is not None and reference else None,
        facts=image_facts(reference) if reference else None,
    )
    yield replace(
        engine,
        complete=line.complete,
        env_complete=False,
        host=replace(values_host(document, root.get("resources")), probes=probes(document, root)),
    )


FORM = Form("values of vLLM's chart", _is_of, _engines)
