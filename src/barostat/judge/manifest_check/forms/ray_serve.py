"""Engines of Ray: each `engine_kwargs` of a RayService's serveConfigV2 (YAML within a text), and the
server that a RayJob's entrypoint starts in the container of its head.

Source: ray.io/v1 RayService, RayJob; ray.serve.llm LLMConfig (model_loading_config, engine_kwargs,
accelerator_type).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from barostat.catalog.settings.table import SETTINGS, canonical_name
from barostat.engines.vllm.command_line.config import read_value
from barostat.judge.manifest_check.commands import read_text, starts_server
from barostat.judge.manifest_check.form import Form, Source
from barostat.judge.manifest_check.images import image_facts
from barostat.judge.manifest_check.written import written
from barostat.lint.document import Document, Node
from barostat.lint.facts import Argument, Engine, Given

_ROW = re.compile(r"^(\s*(?:- )?)([\w-]+):[ \t]*([^#\n]*?)[ \t]*(?:#.*)?$")
_ENTRY = re.compile(r"""([\w-]+)['"]?[ \t]*:[ \t]*("[^"]*"|'[^']*'|[^,{}\s]+)""")


@dataclass(frozen=True, slots=True)
class _Row:
    """`key: value` in one line. `depth`: the column of the key; `starts`: a dash stands before it;
    `at`, `value_at`: places in the text.
    """

    key: str
    value: str
    depth: int
    starts: bool
    at: int
    value_at: int


def _is_of(_: Document, root: Node) -> bool:
    return root.word("kind").startswith("Ray")


def _engines(source: Source) -> Iterator[Engine]:
    yield from engines_of_serve_config(source.document, source.root)
    job = engine_of_job(source.document, source.root)
    if job is not None:
        yield job


def engines_of_serve_config(document: Document, root: Node) -> Iterator[Engine]:
    """Read the engines of a serveConfigV2, with arguments, model and card as far as they stand
    there.
    """
    text = root.get("spec", "serveConfigV2")
    if text is None or "engine_kwargs" not in text.text:
        return
    rows = _rows(text.text)
    for index, row in enumerate(rows):
        if row.key != "engine_kwargs":
            continue
        arguments = {one.name: one for one in _arguments(document, text, _entries(rows, index))}
        if not arguments:
            continue
        item = _item(rows, index)
        card = _first(item, "accelerator_type")
        yield Engine(
            name=f"{root.word('kind')} {root.word('metadata', 'name')}",
            form="values",
            place=document.within(text, row.at, row.at + len(row.key)),
            arguments=arguments,
            model=_model(document, text, item),
            own_image=False,
            env_complete=False,
            complete=False,
            multi_node=True,
            card_hint=card.value.strip("'\"") if card is not None else "",
        )


def engine_of_job(document: Document, root: Node) -> Engine | None:
    """Return the server that the RayJob's entrypoint starts, if any."""
    text = root.get("spec", "entrypoint")
    if text is None or text.kind != "scalar" or not starts_server(text.text):
        return None
    line = read_text(document, text, {})
    heads = root.maps_at(
        "spec", "rayClusterSpec", "headGroupSpec", "template", "spec", "containers"
    )
    image = heads[0].get("image") if heads else None
    facts = image_facts(image.text if image is not None else "")
    return Engine(
        name=f"RayJob {root.word('metadata', 'name')}",
        form="values",
        place=document.place(text),
        arguments=line.arguments,
        occurrences=line.occurrences,
        model=line.model,
        image=written(document, image),
        version=facts.version,
        floating=facts.floating and facts.server,
        own_image=facts.server,
        env_complete=False,
        complete=False,
        multi_node=True,
    )


def _rows(text: str) -> list[_Row]:
    found = []
    offset = 0
    for line in text.splitlines(keepends=True):
        match = _ROW.match(line.rstrip("\r\n"))
        if match is not None:
            found.append(
                _Row(
                    match[2],
                    match[3],
                    len(match[1]),
                    match[1].endswith("- "),
                    offset + match.start(2),
                    offset + match.start(3),
                )
            )
        offset += len(line)
    return found


def _entries(rows: Sequence[_Row], index: int) -> Iterator[_Row]:
    """Yield the entries of the mapping in that row: the rows below it, or in braces after its key."""
    row = rows[index]
    if row.value.startswith("{"):
        for match in _ENTRY.finditer(row.value):
            yield _Row(
                match[1],
                match[2],
                row.depth + 1,
                False,
                row.value_at + match.start(1),
                row.value_at + match.start(2),
            )
        return
    for below in rows[index + 1 :]:
        if below.depth <= row.depth:
            return
        yield below


def _item(rows: Sequence[_Row], index: int) -> Sequence[_Row]:
    """The rows of the configuration to which that row belongs: siblings and what is below them,
    from one dash to the next.
    """
    depth, first, end = rows[index].depth, index, index + 1
    while (
        first > 0
        and not (rows[first].starts and rows[first].depth == depth)
        and rows[first - 1].depth >= depth
    ):
        first -= 1
    while (
        end < len(rows)
        and rows[end].depth >= depth
        and not (rows[end].starts and rows[end].depth == depth)
    ):
        end += 1
    return rows[first:end]


def _first(rows: Sequence[_Row], key: str) -> _Row | None:
    return next(
        (row for row in rows if row.key == key and row.value and row.value[0] not in "{[|>&*$"),
        None,
    )


def _model(document: Document, text: Node, item: Sequence[_Row]) -> Given | None:
    """`model_source`, or the id where that is all there is; nothing if the source is a mapping
    (a bucket).
    """
    loading = next(
        (row for row in item if row.key == "model_loading_config" and row.value.startswith("{")),
        None,
    )
    rows = [*item, *(_entries([loading], 0) if loading is not None else ())]
    found = (
        _first(rows, "model_source")
        if any(row.key == "model_source" for row in rows)
        else _first(rows, "model_id")
    )
    if found is None:
        return None
    return Given(
        found.value.strip("'\""),
        document.within(text, found.value_at, found.value_at + len(found.value)),
    )


def _arguments(document: Document, text: Node, rows: Iterator[_Row]) -> Iterator[Argument]:
    for row in rows:
        name = canonical_name(row.key)
        if not row.value or name not in SETTINGS:
            continue
        value = row.value.strip("'\"")
        where = document.within(text, row.at, row.value_at + len(row.value))
        yield Argument(
            name,
            value,
            read_value(name, value),
            f"{row.key}: {row.value}",
            where,
            (where,),
            "values",
        )


FORM = Form("an object of Ray", _is_of, _engines)
