"""What engines take out of ConfigMaps: variables, the script that they start, the YAML behind
--config. No command line shows it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from barostat.core.redaction.credentials import environment
from barostat.engines.vllm.command_line.arguments import parse
from barostat.engines.vllm.command_line.script import as_command, script_line
from barostat.io.kubernetes.client.cluster import Cluster, Object
from barostat.io.kubernetes.client.failures import RequestFailed
from barostat.io.kubernetes.client.resources import CONFIG_MAPS
from barostat.io.kubernetes.client.yaml_text import NoYaml, decoded
from barostat.platform.mounted import Mounted, config_map_of, script_command, script_of
from barostat.platform.objects import mapping, objects, text
from barostat.platform.pod_environment import referred_config_maps, with_references
from barostat.platform.pods import engine_container


@dataclass(slots=True)
class FromConfigMaps:
    """By replica: `pods` with variables and scripts resolved, `files`: the parsed file of --config.
    `lacking`: missing rights; `problems`: other errors.
    """

    pods: dict[str, Object] = field(default_factory=dict)
    files: dict[str, Mapping[str, Any]] = field(default_factory=dict)
    lacking: list[str] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    _read: dict[tuple[str, str], Object] = field(default_factory=dict)

    async def read(self, cluster: Cluster, wanted: Iterable[tuple[str, str]]) -> None:
        """Read ConfigMaps by (namespace, name); failures are noted."""
        places = sorted(set(wanted) - set(self._read))
        answers = await asyncio.gather(
            *(cluster.get(CONFIG_MAPS, name, namespace) for namespace, name in places)
        )
        for place, found in zip(places, answers, strict=True):
            self._read[place] = {} if isinstance(found, RequestFailed) else found
            if (
                isinstance(found, RequestFailed) and found.kind != "not-found"
            ):  # one that is not there is optional, or its pod says so
                (self.lacking if found.kind == "forbidden" else self.problems).append(
                    found.right or found.why
                )

    def of(self, namespace: str) -> dict[str, Object]:
        """Return the ConfigMaps read from a namespace, by name."""
        return {
            name: found
            for (place, name), found in self._read.items()
            if place == namespace and found
        }


async def from_config_maps(cluster: Cluster, pods: Mapping[str, Object]) -> FromConfigMaps:
    """Resolve what the engines of these pods take from ConfigMaps. Only referenced ones are read."""
    made = FromConfigMaps()
    await made.read(
        cluster, ((_namespace(pod), name) for pod in pods.values() for name in _named(pod))
    )
    made.pods = {name: _filled(pod, made.of(_namespace(pod))) for name, pod in pods.items()}
    wanted = {
        name: found
        for name, pod in made.pods.items()
        if (found := _behind_config(pod, pods[name])) is not None
    }
    await made.read(
        cluster, ((_namespace(pods[name]), found.config_map) for name, found in wanted.items())
    )
    for name, found in wanted.items():
        namespace = _namespace(pods[name])
        held = made.of(namespace).get(found.config_map)
        where = f"{found.key} of ConfigMap {found.config_map} in {namespace}"
        if held is None:
            continue
        try:
            settings = decoded(str(mapping(held, "data").get(found.key) or ""))
        except NoYaml as error:
            made.problems.append(f"{where} is no YAML ({error})")
            continue
        if isinstance(settings, dict):
            made.files[name] = {str(key): value for key, value in settings.items()}
        else:
            made.problems.append(f"{where} holds no settings that can be read")
    return made


def _namespace(pod: Object) -> str:
    return text(pod, "metadata", "namespace")


def _named(pod: Object) -> set[str]:
    """The ConfigMaps that its engine's variables and script are from."""
    container = engine_container(pod)
    if container is None:
        return set()
    script = script_of(pod, container.name)
    return {
        *referred_config_maps(pod, container.name),
        *([script.config_map] if script is not None else []),
    }


def _filled(pod: Object, config_maps: Mapping[str, Object]) -> Object:
    """Return the pod with its variables resolved, and its script replaced by the resulting command
    if it can be read.
    """
    filled = with_references(pod, config_maps)
    container = engine_container(filled)
    command = None if container is None else script_command(filled, container.name, config_maps)
    line = None if container is None or command is None else script_line(command, container.env)
    if container is None or line is None:
        return dict(filled)
    told = {"command": as_command(line, environment(line.env)), "args": []}
    listed = [
        {**item, **told} if text(item, "name") == container.name else item
        for item in objects(filled, "spec", "containers")
    ]
    return {**filled, "spec": {**mapping(filled, "spec"), "containers": listed}}


def _behind_config(pod: Object, written: Object) -> Mounted | None:
    """Return the source of the file of --config. `written`: the same pod as the API returned it."""
    container = engine_container(pod)
    path = parse(container.args, container.env).text("config") if container is not None else None
    return config_map_of(written, container.name, path) if container is not None and path else None
