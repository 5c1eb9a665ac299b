"""Compose files.

Source: the Compose specification (command and entrypoint: a string is split into words, no shell
reads it; environment, ipc, shm_size, profiles, deploy.resources, gpus).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

from barostat.engines.vllm.command_line.shell_words import split_words
from barostat.judge.manifest_check.commands import (
    Command,
    dropped,
    handed_on,
    may_serve,
    read_elements,
    read_text,
    starts_itself,
    starts_server,
)
from barostat.judge.manifest_check.form import Form, Source, engine_of
from barostat.judge.manifest_check.images import ImageFacts, image_facts
from barostat.judge.manifest_check.written import written
from barostat.lint.document import Document, Node
from barostat.lint.facts import Engine, Given, Host, Mount
from barostat.platform.objects import quantity
from barostat.platform.pods import DEFAULT_SHM_BYTES

_REFERENCE = re.compile(r"\$(?:\{([A-Za-z_]\w*)(?::?[-?][^}]*)?\}|([A-Za-z_]\w*))")
_PORT = re.compile(r"(?:.*:)?(\d{1,5})(?:/tcp)?$")


def _is_compose(_: Document, root: Node) -> bool:
    services = root.get("services")
    return (
        services is not None
        and services.kind == "map"
        and root.get("kind") is None
        and root.get("apiVersion") is None
    )


def _engines(source: Source) -> Iterator[Engine]:
    services = source.root.get("services")
    for name, service in services.entries.items() if services is not None else ():
        if service.kind == "map":
            yield from _engine(source.document, services or service, name, service)


def _engine(document: Document, services: Node, name: str, service: Node) -> Iterator[Engine]:
    image = _REFERENCE.sub(
        lambda match: document.variables.get(match[1] or match[2], match[0]), service.word("image")
    )
    facts = image_facts(image)
    words = [word for key in ("entrypoint", "command") for word in _words(document, service, key)]
    if not (starts_server(" ".join(word.text for word in words)) or _serves(image, facts, words)):
        return
    env = _environment(document, service)
    texts = {**{key: given.text for key, given in env.items()}, **document.variables}
    command, entry_point = service.get("command"), service.get("entrypoint")
    line: Command
    if command is not None and command.kind == "scalar" and entry_point is None:
        line = read_text(document, command, texts, text=_one_line(command.text))
    elif words:
        line = read_elements(document, words, texts, all_env=False)
    else:
        line = Command(complete=False)
    engine = engine_of(
        line,
        name=f"service {name}",
        form="compose",
        place=document.key_place(services, name),
        image=written(document, service.get("image")),
        facts=facts,
        env=env,
    )
    yield replace(
        engine,
        env_complete=service.get("env_file") is None,
        complete=engine.complete and not any("$" in word.text for word in words),
        handed_on=handed_on(document, words, image) if entry_point is None else None,
        dropped=dropped(document, words),
        host=_host(document, service),
        published=tuple(_published(document, service)),
        built=service.get("build") is not None,
        profiles=frozenset(item.text for item in service.list_at("profiles")),
    )


def _serves(image: str, facts: ImageFacts, words: list[Node]) -> bool:
    """True if the image's entry point is the server and takes these words as its arguments."""
    if not facts.server or not may_serve([word.text for word in words]):
        return False
    return starts_itself(image) or any(word.text.startswith("-") for word in words)


def _words(document: Document, service: Node, key: str) -> list[Node]:
    """Return the words of a command, in list form or as one string."""
    node = service.get(key)
    if node is None:
        return []
    if node.kind == "list":
        return [item for item in node.items if item.kind == "scalar"]
    words = []
    for word in split_words(_one_line(node.text), {})[0]:
        at = document.within(node, word.start, word.end)
        words.append(Node("scalar", at.line, at.column, at.start, at.end, word.text, "text"))
    return words


def _one_line(text: str) -> str:
    """Return the string as compose splits it, at the same length: line ends are blanks."""
    return re.sub(r"\\(?=\r?\n)|[\r\n]", " ", text)


def _published(document: Document, service: Node) -> Iterator[Given]:
    """Yield the container's ports that the host publishes."""
    for item in service.list_at("ports"):
        target = item.get("target") if item.kind == "map" else item
        match = _PORT.match(target.text) if target is not None else None
        if match is not None and target is not None:
            yield Given(match[1], document.place(target))


def _environment(document: Document, service: Node) -> dict[str, Given]:
    node = service.get("environment")
    if node is None:
        return {}
    if node.kind == "map":
        return {
            key: Given(value.text, document.place(value))
            for key, value in node.entries.items()
            if value.kind == "scalar" and not value.is_null
        }
    pairs = ((item, item.text.partition("=")) for item in node.items if "=" in item.text)
    return {key: Given(value, document.place(item)) for item, (key, _, value) in pairs}


def _host(document: Document, service: Node) -> Host:
    memory = service.get("mem_limit") or service.get("deploy", "resources", "limits", "memory")
    cpu = service.get("cpus") or service.get("deploy", "resources", "limits", "cpus")
    shm = service.get("shm_size")
    devices = service.maps_at("deploy", "resources", "reservations", "devices")
    counted = devices[0].number("count") if devices else None
    chosen = devices[0].list_at("device_ids") if devices else []
    return Host(
        shm_bytes=None
        if service.word("ipc") in ("host", "shareable")
        else _bytes(shm.text)
        if shm is not None
        else DEFAULT_SHM_BYTES,
        shm_place=document.place(shm) if shm is not None else None,
        memory=written(document, memory),
        memory_bytes=_bytes(memory.text) if memory is not None else None,
        cpu=written(document, cpu),
        cpu_cores=quantity(cpu.text) if cpu is not None else None,
        gpus=float(len(chosen)) if chosen else counted,
        gpu_place=document.place(devices[0]) if devices else None,
        privileged=Given("true", document.place(service.entries["privileged"]))
        if service.is_true("privileged")
        else None,
        has_cache=bool(service.list_at("volumes")),
        mounts=_mounts(document, service),
        devices=",".join(item.text for item in chosen),
    )


def _mounts(document: Document, service: Node) -> dict[str, Mount]:
    """Return the service's volumes by their path in the container."""
    mounts = {}
    for item in service.list_at("volumes"):
        if item.kind == "map":
            source, target = item.word("source"), item.word("target")
        else:
            parts = _REFERENCE.sub("x", item.text).split(":")
            source, target = (parts[0], parts[1]) if len(parts) > 1 else ("", parts[0])
        path = target.rstrip("/")
        kind = "hostPath" if source.startswith((".", "/", "~", "x")) else "claim"
        mounts[path] = Mount(path, document.place(item), kind)
    return mounts


def _bytes(text: str) -> float | None:
    """Docker's sizes: 8g, 512m, 1gb."""
    match = re.match(r"^(\d+(?:\.\d+)?)\s*([kmgt]?)i?b?$", text.strip().lower())
    return float(match[1]) * 1024 ** " kmgt".index(match[2] or " ") if match else None


FORM = Form("a compose file", _is_compose, _engines, is_whole=True)
