"""Engines that a docker-compose file starts.

Source: the Compose specification (command, environment, ipc, shm_size, profiles, deploy.resources,
gpus).
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from barostat.judge.manifest_check.images import image_facts
from barostat.judge.manifest_check.words import (
    Command,
    handed_on,
    read_elements,
    read_text,
    starts_server,
)
from barostat.judge.manifest_check.written import written
from barostat.lint.document import Document, Node
from barostat.lint.facts import Engine, Given, Host
from barostat.platform.objects import quantity
from barostat.platform.pods import DEFAULT_SHM_BYTES

_REFERENCE = re.compile(r"\$(?:\{([A-Za-z_]\w*)(?::?[-?][^}]*)?\}|([A-Za-z_]\w*))")


def is_compose(root: Node) -> bool:
    """True for a compose file."""
    services = root.get("services")
    return (
        services is not None
        and services.kind == "map"
        and root.get("kind") is None
        and root.get("apiVersion") is None
    )


def engines_of_compose(document: Document, root: Node) -> Iterator[Engine]:
    """The engines of a compose file."""
    services = root.get("services")
    for name, service in services.entries.items() if services is not None else ():
        if service.kind != "map":
            continue
        image = service.get("image")
        facts = image_facts(
            _REFERENCE.sub(
                lambda found: document.variables.get(found[1] or found[2], found[0]),
                service.word("image"),
            )
        )
        nodes = [item for key in ("entrypoint", "command") for item in _items(service, key)]
        joined = " ".join(node.text for node in nodes)
        served = facts.server and any(
            node.text.lstrip().startswith(("-", "serve ")) for node in nodes
        )
        if not nodes or not (starts_server(joined) or served):
            continue
        env = _environment(document, service)
        texts = {**{key: given.text for key, given in env.items()}, **document.variables}
        command = service.get("command")
        line: Command
        if command is not None and command.kind == "scalar" and len(nodes) == 1:
            line = read_text(document, command, texts)
        else:
            line = read_elements(document, nodes, texts, all_env=False)
        yield Engine(
            name=f"service {name}",
            form="compose",
            place=document.key_place(services, name)
            if services is not None
            else document.place(service),
            arguments=line.arguments,
            occurrences=line.occurrences,
            model=line.model,
            image=written(document, image),
            version=facts.version,
            floating=facts.floating and facts.server,
            own_image=facts.server,
            env=env,
            env_complete=service.get("env_file") is None,
            complete=line.complete
            and "config" not in line.arguments
            and not any("$" in node.text for node in nodes),
            stuck=line.stuck,
            cut=line.cut,
            handed_on=handed_on(document, nodes, service.word("image"))
            if service.get("entrypoint") is None
            else None,
            host=_host(document, service),
            profiles=frozenset(item.text for item in service.list_at("profiles")),
            is_cpu=facts.is_cpu or "VLLM_CPU_KVCACHE_SPACE" in env,
        )


def _items(service: Node, key: str) -> list[Node]:
    node = service.get(key)
    if node is None:
        return []
    return [item for item in node.items if item.kind == "scalar"] if node.kind == "list" else [node]


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
        devices=",".join(item.text for item in chosen),
    )


def _bytes(text: str) -> float | None:
    """Docker's sizes: 8g, 512m, 1gb."""
    match = re.match(r"^(\d+(?:\.\d+)?)\s*([kmgt]?)i?b?$", text.strip().lower())
    return float(match[1]) * 1024 ** " kmgt".index(match[2] or " ") if match else None
