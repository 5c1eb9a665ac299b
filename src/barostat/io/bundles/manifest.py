"""bundle.yaml: the replicas of a bundle and their known facts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

import yaml

from barostat.core.errors import InputError
from barostat.io.input_files.yaml_places import composed, is_null, place
from barostat.judge.evidence.recording import ProbeResult

API_VERSION = "barostat.dev/v1alpha1"
KIND = "Bundle"
MAX_BYTES = 4 << 20
_T = TypeVar("_T")

LATEST_S = 253_402_300_800.0
"""The first second of the year 10000, which no calendar of ours has."""


@dataclass(frozen=True, slots=True)
class ReplicaEntry:
    """One item of `replicas`. Every field but the name may be absent."""

    name: str
    version: str | None = None
    args: tuple[str, ...] | str | None = None
    env: Mapping[str, str] = field(default_factory=dict)
    config_file: Mapping[str, Any] | None = None
    gpu: str | None = None
    gpu_memory_gib: float | None = None
    node: str | None = None
    exit_code: int | None = None
    failed_scrapes: tuple[tuple[float, str], ...] = ()
    probe: ProbeResult | None = None


@dataclass(frozen=True, slots=True)
class Manifest:
    """The whole file. `at`: the instant to judge at, where it is not simply the newest file's.
    `missing`: as in a recording.
    """

    engine: str = "vllm"
    replicas: tuple[ReplicaEntry, ...] = ()
    target: str | None = None
    at: float | None = None
    missing: tuple[str, ...] = ()


def parse(text: str, where: str) -> Manifest:
    """Return the manifest, with every scalar as written (`version: 0.10` is 0.10, not 0.1).

    Errors: InputError with line and column for invalid YAML, another kind or version, an unknown
    key, or a value of the wrong shape.
    """
    root = composed(text, where)
    reader = _Reader(where)
    if root is None:
        raise InputError(f"empty; it needs `apiVersion: {API_VERSION}` and `kind: {KIND}`", where)
    keys = reader.mapping(
        root,
        ("apiVersion", "kind", "metadata", "engine", "replicas", "target", "at", "missing"),
        "the bundle",
    )
    for key, wanted in (("apiVersion", API_VERSION), ("kind", KIND)):
        if key not in keys:
            raise reader.error(root, f"`{key}: {wanted}` is missing")
        if reader.text(keys[key]) != wanted:
            raise reader.error(
                keys[key], f"{key} is {reader.text(keys[key])!r}, this version reads {wanted!r}"
            )
    replicas = (
        tuple(_replica(reader, node) for node in reader.items(keys["replicas"]))
        if "replicas" in keys
        else ()
    )
    if twice := next(
        (
            name
            for name, count in Counter(replica.name for replica in replicas).items()
            if count > 1
        ),
        None,
    ):
        raise reader.error(keys["replicas"], f"two replicas are named {twice!r}")
    return Manifest(
        reader.optional(keys, "engine", reader.text) or "vllm",
        replicas,
        reader.optional(keys, "target", reader.text),
        reader.optional(keys, "at", reader.instant),
        tuple(reader.text(item) for item in reader.items(keys.get("missing"))),
    )


def render(manifest: Manifest) -> str:
    """The manifest as text that `parse` reads back equal."""
    document: dict[str, Any] = {"apiVersion": API_VERSION, "kind": KIND, "engine": manifest.engine}
    document |= _given(
        target=manifest.target, at=manifest.at, missing=list(manifest.missing) or None
    )
    document["replicas"] = [_replica_document(replica) for replica in manifest.replicas]
    text: str = yaml.safe_dump(document, sort_keys=False, allow_unicode=True, width=1000)
    return text


def _given(**values: Any) -> dict[str, Any]:
    return {key: value for key, value in values.items() if value not in (None, (), {})}


def _replica_document(replica: ReplicaEntry) -> dict[str, Any]:
    probe = replica.probe
    return {"name": replica.name} | _given(
        version=replica.version,
        args=list(replica.args) if isinstance(replica.args, tuple) else replica.args,
        env=dict(replica.env),
        configFile=dict(replica.config_file) if replica.config_file is not None else None,
        gpu=replica.gpu,
        gpuMemoryGiB=replica.gpu_memory_gib,
        node=replica.node,
        exitCode=replica.exit_code,
        failedScrapes=[{"at": at, "because": because} for at, because in replica.failed_scrapes]
        or None,
        probe=None
        if probe is None
        else {"at": probe.at}
        | _given(
            healthOk=probe.health_ok,
            tokenOk=probe.token_ok,
            tokenDetail=probe.token_detail or None,
            maxModelLen=probe.max_model_len,
            version=probe.version,
        ),
    )


_REPLICA_KEYS = (
    "name",
    "version",
    "args",
    "env",
    "configFile",
    "gpu",
    "gpuMemoryGiB",
    "node",
    "exitCode",
    "failedScrapes",
    "probe",
)


def _replica(reader: _Reader, node: yaml.Node) -> ReplicaEntry:
    if isinstance(node, yaml.ScalarNode):  # `replicas: [vllm-0]`
        return ReplicaEntry(reader.text(node))
    keys = reader.mapping(node, _REPLICA_KEYS, "a replica")
    if "name" not in keys:
        raise reader.error(node, "a replica without a name")
    args: tuple[str, ...] | str | None = None
    if "args" in keys and not is_null(keys["args"]):
        given = keys["args"]
        args = (
            reader.text(given)
            if isinstance(given, yaml.ScalarNode)
            else tuple(reader.text(item) for item in reader.items(given))
        )
    failed = [
        reader.mapping(item, ("at", "because"), "a failed scrape")
        for item in reader.items(keys.get("failedScrapes"))
    ]
    exit_code = reader.optional(keys, "exitCode", reader.number)
    return ReplicaEntry(
        reader.text(keys["name"]),
        reader.optional(keys, "version", reader.text),
        args,
        {
            name: reader.text(value)
            for name, value in reader.mapping(keys.get("env"), None, "env").items()
        },
        reader.plain(keys["configFile"])
        if "configFile" in keys and not is_null(keys["configFile"])
        else None,
        reader.optional(keys, "gpu", reader.text),
        reader.optional(keys, "gpuMemoryGiB", reader.number),
        reader.optional(keys, "node", reader.text),
        None if exit_code is None else int(exit_code),
        tuple(
            (reader.instant(entry["at"]), reader.text(entry["because"]))
            for entry in failed
            if {"at", "because"} <= set(entry)
        ),
        _probe(reader, keys["probe"]) if "probe" in keys and not is_null(keys["probe"]) else None,
    )


def _probe(reader: _Reader, node: yaml.Node) -> ProbeResult:
    keys = reader.mapping(
        node, ("at", "healthOk", "tokenOk", "tokenDetail", "maxModelLen", "version"), "a probe"
    )
    length = reader.optional(keys, "maxModelLen", reader.number)
    return ProbeResult(
        reader.optional(keys, "at", reader.instant) or 0.0,
        reader.optional(keys, "healthOk", reader.truth),
        reader.optional(keys, "tokenOk", reader.truth),
        reader.optional(keys, "tokenDetail", reader.text) or "",
        None if length is None else int(length),
        reader.optional(keys, "version", reader.text),
    )


@dataclass(frozen=True, slots=True)
class _Reader:
    """Reads composed nodes by the shape that is wanted; what is not of that shape is an InputError
    at its line and column.
    """

    where: str

    def error(self, node: yaml.Node, what: str) -> InputError:
        """The error at the node's place."""
        return InputError(what, place(self.where, node.start_mark))

    def mapping(
        self, node: yaml.Node | None, known: tuple[str, ...] | None, what: str
    ) -> dict[str, yaml.Node]:
        """The values by key; `known` None takes any key."""
        if node is None or is_null(node):
            return {}
        if not isinstance(node, yaml.MappingNode):
            raise self.error(node, f"{what} should be a mapping of keys to values")
        found: dict[str, yaml.Node] = {}
        for key, value in node.value:
            name = self.text(key)
            if known is not None and name not in known:
                raise self.error(
                    key, f"unknown key {name!r} in {what}; known are {', '.join(known)}"
                )
            if name in found:
                raise self.error(key, f"{name!r} is there twice")
            found[name] = value
        return found

    def items(self, node: yaml.Node | None) -> list[yaml.Node]:
        """The items of a list; nothing has none."""
        if node is None or is_null(node):
            return []
        if not isinstance(node, yaml.SequenceNode):
            raise self.error(node, "this should be a list")
        return list(node.value)

    def text(self, node: yaml.Node) -> str:
        """A scalar as it is written."""
        if not isinstance(node, yaml.ScalarNode):
            raise self.error(node, "this should be a single value")
        return str(node.value)

    def number(self, node: yaml.Node) -> float:
        """Read a finite number."""
        try:
            value = float(self.text(node))
        except ValueError:
            value = float("nan")
        if not -1e18 < value < 1e18:
            raise self.error(node, f"{self.text(node)!r} is no number")
        return value

    def instant(self, node: yaml.Node) -> float:
        """Return unix seconds of a year that a calendar has."""
        value = self.number(node)
        if not 0 <= value < LATEST_S:
            raise self.error(
                node, f"{self.text(node)!r} is not between the years 1970 and 9999, in unix seconds"
            )
        return value

    def truth(self, node: yaml.Node) -> bool:
        """Read `true` or `false`."""
        text = self.text(node).lower()
        if text not in ("true", "false"):
            raise self.error(node, f"{self.text(node)!r} is neither true nor false")
        return text == "true"

    def plain(self, node: yaml.Node) -> Mapping[str, Any]:
        """A mapping of anything, as plain values."""
        if not isinstance(node, yaml.MappingNode):
            raise self.error(node, "this should be a mapping of keys to values")
        try:
            value = yaml.SafeLoader("").construct_document(node)
        except (
            yaml.YAMLError,
            ValueError,
            TypeError,
            LookupError,
            AttributeError,
            OverflowError,
        ) as error:
            raise self.error(
                node, f"cannot be read: {(str(error).splitlines() or [''])[0][:120]}"
            ) from None
        if not isinstance(value, dict):  # a set is written as a mapping
            raise self.error(node, "this should be a mapping of keys to values")
        return {str(key): item for key, item in value.items()}

    def optional(
        self, keys: Mapping[str, yaml.Node], key: str, read: Callable[[yaml.Node], _T]
    ) -> _T | None:
        """The value of a key that may be absent or null."""
        node = keys.get(key)
        return None if node is None or is_null(node) else read(node)
