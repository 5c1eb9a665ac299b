"""Systemd units and Quadlets, also as templates of Ansible.

Source: systemd.service(5), systemd.exec(5), podman-systemd.unit(5).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

from barostat.engines.vllm.command_line.shell_words import split_words
from barostat.judge.manifest_check.commands import read_text, starts_server
from barostat.judge.manifest_check.form import Form, Source, engine_of
from barostat.judge.manifest_check.images import image_facts
from barostat.judge.manifest_check.shell_text import (
    CONTAINER,
    assigned,
    engines_of_text,
    readable,
)
from barostat.lint.document import Document, Node
from barostat.lint.facts import Engine, Given

_LINE = re.compile(r"^[ \t]*(ExecStart|Exec|Image|Environment)[ \t]*=[ \t]*", re.MULTILINE)
_COMMENTS_WITHIN = re.compile(r"(?<=\\\n)(?:[ \t]*[#;][^\n]*\n)+")
"""Comments between a line that ends in a backslash and its continuation; systemd skips them."""


def is_unit(document: Document, root: Node) -> bool:
    """True for a unit file, and for a text that holds one."""
    name = document.file.rsplit("/", 1)[-1].removesuffix(".j2")
    return root.style == "text" and (
        name.endswith((".service", ".container")) or is_unit_text(root.text)
    )


def is_unit_text(text: str) -> bool:
    """True for a text whose first line that is no comment opens a section of a unit."""
    lines = (line.strip() for line in text.splitlines())
    first = next((line for line in lines if line and line[0] not in "#;"), "")
    return first in ("[Unit]", "[Service]", "[Container]")


def _engines(source: Source) -> Iterator[Engine]:
    name = source.document.file.rsplit("/", 1)[-1]
    return engines_of_unit(source.document, source.root, name)


def engines_of_unit(
    document: Document, node: Node, name: str, stretch: tuple[int, int] | None = None
) -> Iterator[Engine]:
    """Read the engine of a unit. In a Quadlet `Exec` holds the arguments of its `Image`.

    `stretch`: the part of the node's text that holds the unit.
    """
    first, last = stretch or (0, len(node.text))
    env: dict[str, Given] = {}
    image: Given | None = None
    whole = _COMMENTS_WITHIN.sub(lambda lines: " " * len(lines[0]), readable(node.text[:last]))
    end = 0
    for match in _LINE.finditer(whole, first):
        if match.start() < end:  # continues the line before, which ends in a backslash
            continue
        end = match.end()
        while (stop := whole.find("\n", end)) >= 0 and whole[stop - 1] == "\\":
            end = stop + 1
        end = stop if stop >= 0 else len(whole)
        value = whole[match.end() : end]
        if match[1] == "Environment":
            words, _ = split_words(value, {})
            env.update(assigned(document, node, words, match.end()))
            continue
        if match[1] == "Image":
            at = document.within(node, match.end(), match.end() + len(value.rstrip()))
            image = Given(value.strip(), at)
            continue
        if match[1] == "ExecStart" and "vllm" in value and CONTAINER.search(value):
            yield from engines_of_text(
                document, node, name, form="systemd", stretch=(match.end(), end), around=env
            )
            continue
        facts = image_facts(image.text) if image is not None else None
        arguments = bool(
            match[1] == "Exec" and facts and facts.server and value.lstrip().startswith("-")
        )
        if not (starts_server(value) or arguments):
            continue
        values = {key: given.text for key, given in env.items()}
        line = read_text(document, node, values, match.end(), end, text=value)
        engine = engine_of(
            line,
            name=name,
            form="systemd",
            place=document.within(node, match.start(1), match.end()),
            image=image,
            facts=facts,
            env=env,
        )
        yield replace(engine, env_complete="EnvironmentFile" not in node.text)


FORM = Form("a systemd unit", is_unit, _engines)
