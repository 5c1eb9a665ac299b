"""The engine that a mapping with an image, a command and arguments starts, in any kind of file."""

from __future__ import annotations

from collections.abc import Mapping

from barostat.judge.manifest_check.commands import (
    LONGEST_COMMAND,
    Command,
    may_serve,
    read_elements,
    read_text,
    starts_server,
)
from barostat.judge.manifest_check.images import ImageFacts, image_facts
from barostat.judge.manifest_check.written import written
from barostat.lint.document import Document, Node
from barostat.lint.facts import Given

_COMMAND = ("command", "entrypoint")
_ARGUMENTS = ("args", "extraArgs", "extra_args", "arguments")


def image_of(document: Document, container: Node) -> tuple[Given | None, ImageFacts]:
    """Return the image of a container: one text, repository and tag, or a text
    with its version beside it (llmaz's BackendRuntime).
    """
    image = container.get("image")
    if image is not None and image.kind == "map":
        repository, tag = image.get("repository") or image.get("name"), image.get("tag")
        registry = image.word("registry")
        name = f"{registry}/{repository.text}" if registry and repository else ""
        name = name or (repository.text if repository is not None else "")
        reference = f"{name}:{tag.text}" if tag is not None and name else name
        at = tag or repository
        return (Given(reference, document.place(at)) if at is not None else None), image_facts(
            reference
        )
    version = container.get("version")
    if (
        image is not None
        and version is not None
        and version.kind == "scalar"
        and ":" not in image.text.rpartition("/")[2]
    ):
        return Given(f"{image.text}:{version.text}", document.place(version)), image_facts(
            f"{image.text}:{version.text}"
        )
    return written(document, image), image_facts(container.word("image"))


def container_line(
    document: Document, container: Node, facts: ImageFacts, env: Mapping[str, Given]
) -> Command | None:
    """Return the command line that the container starts, None if it starts no vLLM."""
    command = [word for key in _COMMAND for word in _words(container, key)]
    arguments = [word for key in _ARGUMENTS for word in _words(container, key)]
    words = [*command, *arguments]
    joined = " ".join(word.text for word in words)
    if len(joined) > LONGEST_COMMAND:
        return None
    if not starts_server(joined):
        given = arguments or command
        as_arguments = (
            facts.server
            and bool(given)
            and may_serve([word.text for word in given])
            and any(word.text.lstrip().startswith("-") for word in given)
        )
        if not as_arguments:
            return None
    values = {name: given.text for name, given in env.items()}
    if len(words) == 1:
        return read_text(document, words[0], values)
    return read_elements(document, words, values, all_env=False)


def _words(container: Node, key: str) -> list[Node]:
    node = container.get(key)
    if node is None or node.kind == "map":
        return []
    return [item for item in node.items if item.kind == "scalar"] if node.kind == "list" else [node]
