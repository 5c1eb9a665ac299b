"""Dockerfiles: the engine that the last stage's ENTRYPOINT and CMD start.

Source: Dockerfile reference (ENTRYPOINT and CMD in exec and shell form, ENV, multi-stage FROM).
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from barostat.engines.vllm.command_line.shell_words import split_words
from barostat.judge.manifest_check.commands import (
    Command,
    handed_on,
    may_serve,
    read_elements,
    read_text,
    starts_itself,
    starts_server,
)
from barostat.judge.manifest_check.form import Form, Source, engine_of
from barostat.judge.manifest_check.images import image_facts
from barostat.judge.manifest_check.shell_text import assigned, readable
from barostat.lint.document import Document, Node
from barostat.lint.facts import Engine, Given

_INSTRUCTION = re.compile(
    r"^[ \t]*(FROM|ENTRYPOINT|CMD|ENV|ARG)[ \t]+((?:[^\n]*\\[ \t]*\n(?:[ \t]*#[^\n]*\n)*)*[^\n]*)",
    re.MULTILINE | re.IGNORECASE,
)
_STRING = re.compile(r'"(?:[^"\\]|\\.)*"')


@dataclass(slots=True)
class _Stage:
    """What the last stage says. The commands: offsets of their text in the file."""

    image: Given | None = None
    env: dict[str, Given] = field(default_factory=dict)
    entry_point: tuple[int, int] | None = None
    command: tuple[int, int] | None = None


def is_dockerfile(document: Document, root: Node) -> bool:
    """True for a Dockerfile or Containerfile, by its name."""
    name = document.file.rsplit("/", 1)[-1].lower()
    named = name.startswith(("dockerfile", "containerfile")) or name.endswith(".dockerfile")
    return root.style == "text" and named


def _engines(source: Source) -> Iterator[Engine]:
    document, node = source.document, source.root
    text = readable(node.text)
    stage = _last_stage(document, node, text)
    entry = _elements(node, text, stage.entry_point)
    command = _elements(node, text, stage.command)
    spans = [span for span in (stage.entry_point, stage.command) if span is not None]
    facts = image_facts(stage.image.text) if stage.image is not None else None
    joined = " ".join(text[start:end] for start, end in spans)
    plain = re.sub(r"[\[\]\",]+", " ", joined)
    arguments = bool(
        facts
        and facts.server
        and entry is None
        and command
        and may_serve([word.text for word in command])
    )
    inherited = not spans and stage.image is not None and starts_itself(stage.image.text)
    if inherited and stage.image is not None:
        yield replace(
            engine_of(
                Command(complete=False),
                name=document.file.rsplit("/", 1)[-1],
                form="image",
                place=stage.image.place,
                image=stage.image,
                facts=facts,
                env=stage.env,
            ),
            env_complete=False,
        )
    if not spans or not (starts_server(plain) or arguments):
        return
    values = {key: given.text for key, given in stage.env.items()}
    elements = [*(entry or ()), *(command or ())]
    shell = next((span for span in spans if _elements(node, text, span) is None), None)
    line: Command
    if shell is not None:
        line = read_text(document, node, values, *shell, text=text[slice(*shell)])
    else:
        line = read_elements(document, elements, values, all_env=False)
    engine = engine_of(
        line,
        name=document.file.rsplit("/", 1)[-1],
        form="image",
        place=document.within(node, spans[0][0], spans[0][0] + 1),
        image=stage.image,
        facts=facts,
        env=stage.env,
    )
    again = (
        handed_on(document, command, stage.image.text)
        if command and entry is None and stage.image is not None
        else None
    )
    yield replace(engine, env_complete=False, complete=False, handed_on=again)


def _last_stage(document: Document, node: Node, text: str) -> _Stage:
    stage, arguments = _Stage(), dict[str, str]()
    for match in _INSTRUCTION.finditer(text):
        start, end = match.span(2)
        instruction = match[1].upper()
        if instruction == "FROM":
            words = [word for word in match[2].split() if not word.startswith("--")]
            reference = words[0] if words else ""
            for name, value in arguments.items():
                reference = re.sub(
                    rf"\$\{{?{re.escape(name)}\b\}}?", lambda _, v=value: v, reference
                )
            at = start + match[2].find(words[0]) if words else start
            place = document.within(node, at, at + len(words[0]) if words else at + 1)
            stage = _Stage(Given(reference, place))
        elif instruction == "ARG":
            name, equals, value = match[2].strip().partition("=")
            if equals:
                arguments[name] = value.strip("\"'")
        elif instruction == "ENV":
            variables, _ = split_words(match[2], {})
            stage.env.update(assigned(document, node, variables, start))
        elif instruction == "ENTRYPOINT":
            stage.entry_point, stage.command = (start, end), None
        else:
            stage.command = (start, end)
    return stage


def _elements(node: Node, text: str, span: tuple[int, int] | None) -> list[Node] | None:
    """Return the words of an instruction in exec form (a JSON list), None for the shell form."""
    if span is None:
        return None
    start, end = span
    if not text[start:end].lstrip().startswith("["):
        return None
    nodes = []
    for match in _STRING.finditer(text, start, end):
        try:
            word = json.loads(match[0])
        except ValueError:
            return None
        line = text.count("\n", 0, match.start()) + 1
        column = match.start() - text.rfind("\n", 0, match.start())
        at, stop = node.start + match.start(), node.start + match.end()
        nodes.append(Node("scalar", line, column, at, stop, word, '"'))
    return nodes


FORM = Form("a Dockerfile", is_dockerfile, _engines)
