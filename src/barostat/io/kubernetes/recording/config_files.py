"""The YAML behind an engine's --config, where it comes from a ConfigMap: settings that no command line shows."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

from barostat.engines.vllm.command_line.words import parse
from barostat.io.kubernetes.client.cluster import Cluster, Object
from barostat.io.kubernetes.client.failures import RequestFailed
from barostat.io.kubernetes.client.resources import CONFIG_MAPS
from barostat.io.kubernetes.client.yaml_text import NoYaml, decoded
from barostat.platform.mounted import Mounted, config_map_of
from barostat.platform.objects import mapping, text
from barostat.platform.pods import engine_container


async def config_files(cluster: Cluster, pods: Mapping[str, Object]) -> tuple[dict[str, Mapping[str, Any]], list[str], list[str]]:
    """The decoded file by replica, for those pods that start with one; rights that are missing; other trouble."""
    wanted = {name: (text(pod, "metadata", "namespace"), found) for name, pod in pods.items() if (found := _behind(pod)) is not None}
    places = sorted({(namespace, found.config_map) for namespace, found in wanted.values()})
    read = dict(zip(places, await asyncio.gather(*(cluster.get(CONFIG_MAPS, name, namespace) for namespace, name in places)), strict=True))
    files: dict[str, Mapping[str, Any]] = {}
    lacking: list[str] = []
    problems: list[str] = []
    for name, (namespace, found) in wanted.items():
        document = read[namespace, found.config_map]
        where = f"{found.key} of ConfigMap {found.config_map} in {namespace}"
        if isinstance(document, RequestFailed):
            (lacking if document.kind == "forbidden" else problems).append(document.right or document.why)
            continue
        try:
            settings = decoded(str(mapping(document, "data").get(found.key) or ""))
        except NoYaml as error:
            problems.append(f"{where} is no YAML ({error})")
            continue
        if isinstance(settings, dict):
            files[name] = {str(key): value for key, value in settings.items()}
        else:
            problems.append(f"{where} holds no settings that can be read")
    return files, lacking, problems


def _behind(pod: Object) -> Mounted | None:
    container = engine_container(pod)
    path = parse(container.args, container.env).text("config") if container is not None else None
    return config_map_of(pod, container.name, path) if container is not None and path else None
