"""Values of bjw-s' app-template chart: controllers with containers, in a HelmRelease or a file.

Source: bjw-s-labs/helm-charts, charts/other/app-template values.yaml.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from barostat.judge.manifest_check.container_words import container_line, image_of
from barostat.judge.manifest_check.form import Form, Source, engine_of
from barostat.judge.manifest_check.named_arguments import listed_env, mapped_env
from barostat.judge.manifest_check.values_host import values_host
from barostat.lint.document import Document, Node
from barostat.lint.facts import Engine


def _is_of(_: Document, root: Node) -> bool:
    controllers = root.get("controllers")
    return controllers is not None and controllers.kind == "map" and root.get("kind") is None


def _engines(source: Source) -> Iterator[Engine]:
    controllers = source.root.get("controllers")
    for name, controller in controllers.entries.items() if controllers is not None else ():
        containers = controller.get("containers")
        for key, container in containers.entries.items() if containers is not None else ():
            yield from _engine(source.document, f"controller {name}, container {key}", container)


def _engine(document: Document, name: str, container: Node) -> Iterator[Engine]:
    image, facts = image_of(document, container)
    env = {**mapped_env(document, container.get("env")), **listed_env(document, container)}
    line = container_line(document, container, facts, env)
    if line is None:
        return
    engine = engine_of(
        line,
        name=name,
        form="values",
        place=document.place(container),
        image=image,
        facts=facts,
        env=env,
    )
    yield replace(
        engine,
        env_complete=False,
        host=values_host(document, container.get("resources")),
    )


FORM = Form("values of app-template", _is_of, _engines)
