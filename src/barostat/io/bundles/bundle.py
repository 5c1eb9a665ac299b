"""A bundle, read: a directory, a tar or tar.gz, or one loose file, as a recording."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path
from typing import Any, NoReturn, cast

from barostat.core.bounds import BUNDLE_OBJECTS, BUNDLE_VALUES, GPU_BYTES, REPLICAS, SCRAPES
from barostat.core.errors import InputError
from barostat.core.structure_counts import JSON_MARKS, counted
from barostat.engines.vllm.logs import digest as vllm_logs
from barostat.gpus import kernel_log
from barostat.io.bundles import manifest, printed
from barostat.io.bundles.bundle_files import files, loose_file
from barostat.io.bundles.layout import Place
from barostat.io.input_files.json_text import why_no_json
from barostat.io.input_files.lines import NotText, Reads, lines
from barostat.io.redaction.kubernetes import document as redacted
from barostat.judge.evidence.recording import (
    GpuText,
    HostReading,
    Recording,
    ReplicaRecording,
    Scrape,
)
from barostat.platform import access_log
from barostat.platform.pods import pods

MAX_TEXT_BYTES = 32 << 20
"""Largest size of one scrape or one tool's output; a real one is below one megabyte."""
MAX_JSON_BYTES = 64 << 20
MAX_KEPT_BYTES = 512 << 20
"""All texts and documents that are kept whole; logs are streamed and do not count."""
_DATE = re.compile(r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d)$")


def read(path: Path, *beside: Path) -> Recording:
    """Return the recording in a bundle: everything readable, and a sentence for everything that is
    not. `beside`: separate files of the same engine, such as its log.

    Errors: InputError for a missing path, no readable content, an unsafe archive, an invalid
    bundle.yaml, or a second bundle.
    """
    reader = _Reader(path)
    for name, found, file in files(path, reader.note):
        reader.try_to_take(name, found, file)
    if beside and not reader.files:
        reader.refuse_empty()
    for one in beside:
        name, found, file = loose_file(one)
        reader.try_to_take(name, reader.of_the_engine(found, one), file)
    if beside:
        reader.name_after_pod()
    return reader.recording()


@dataclass(slots=True)
class _Reader:
    """Takes the files one by one and makes the recording of them."""

    path: Path
    problems: list[str] = field(default_factory=list)
    written: manifest.Manifest = field(default_factory=manifest.Manifest)
    replicas: dict[str, ReplicaRecording] = field(default_factory=dict)
    kernel_logs: dict[str, kernel_log.KernelDigest] = field(default_factory=dict)
    kubernetes: dict[str, Any] = field(default_factory=dict)
    has_gateway: bool = False
    files: int = 0
    kept_bytes: int = 0
    kept_values: int = 0
    _full: set[tuple[str, str]] = field(default_factory=set)
    _left_out: int = 0

    def note(self, problem: str) -> None:
        """Keeps a sentence about the input."""
        self.problems.append(problem)

    def replica(self, name: str) -> ReplicaRecording:
        """The replica as far as it is known."""
        return self.replicas.setdefault(name, ReplicaRecording(name))

    def try_to_take(self, name: str, place: Place, file: Reads) -> None:
        """Reads one file; notes one that the machine does not let be read."""
        try:
            self.take(name, place, file)
        except OSError as error:
            self.note(f"{name} cannot be read ({error.strerror}); left out")

    def of_the_engine(self, place: Place, path: Path) -> Place:
        """Return the place of a separate file, assigned to the only replica.

        Errors: InputError if there are several replicas, or the replica already has such a log.
        """
        if place.role not in ("scrape", "gpu", "host", "log", "previous-log"):
            return place
        names = list(self.replicas) or [pod.name for pod in pods(self.kubernetes)]
        if len(names) > 1:
            raise InputError(
                f"belongs to one of {len(names)} replicas, and nothing says which: put it into a "
                "bundle, as logs/REPLICA.log",
                str(path),
            )
        if not names:
            return place
        known = self.replicas.get(names[0])
        if known is not None and place.role == "log" and known.log is not None:
            raise InputError(
                "is a second log of the same engine; that of the container before it ends in "
                ".previous.log",
                str(path),
            )
        return replace(place, owner=names[0])

    def name_after_pod(self) -> None:
        """Gives the one replica the name of the one engine pod: its files are of that pod."""
        named = [pod.name for pod in pods(self.kubernetes)]
        if len(named) == len(self.replicas) == 1 and not self.written.replicas:
            (replica,) = self.replicas.values()
            self.replicas = {named[0]: replace(replica, name=named[0])}

    def take(self, name: str, place: Place, file: Reads) -> None:
        """Read one file into the recording."""
        source = str(self.path) if self.path.name == name else f"{self.path}/{name}"
        if place.role in ("scrape", "gpu", "host", "log", "previous-log"):
            if place.owner not in self.replicas and len(self.replicas) >= REPLICAS.most:
                self._left_out += 1
                return
            if (place.role, place.owner) in self._full:
                return
            self.replica(place.owner)
        match place.role:
            case "log" | "previous-log" | "kernel-log":
                self._take_log(name, place, file, source)
            case "gateway":
                self.has_gateway = True
                self.files += 1
            case "kubernetes":
                if (document := self._json(name, file)) is not None:
                    self.kubernetes[place.owner] = self._bounded(name, document)
                    self.files += 1
            case "printed":
                self._take_printed(name, place, file, source)
            case "manifest":
                raw = _whole(file, manifest.MAX_BYTES)
                if raw is None:
                    raise InputError("larger than 4 MiB; this is no bundle.yaml", source)
                self.written = manifest.parse(raw.decode("utf-8-sig", "replace"), source)
                self.files += 1
            case "host":
                values = self._json(name, file)
                if isinstance(values, Mapping):
                    reading = HostReading(place.at, values, source)
                    self._keep(
                        place.role,
                        place.owner,
                        lambda replica: replace(replica, host=(*replica.host, reading)),
                    )
                elif values is not None:
                    self.note(f"{name} was left out: it should be a JSON object")
            case "scrape" | "gpu":
                self._take_text(name, place, file, source)

    def _keep(
        self, role: str, owner: str, change: Callable[[ReplicaRecording], ReplicaRecording]
    ) -> None:
        known = self.replica(owner)
        changed = change(known)
        if (
            max(
                map(len, (changed.scrapes, changed.failed_scrapes, changed.gpu_texts, changed.host))
            )
            <= SCRAPES.most
        ):
            self.replicas[owner] = changed
        else:
            self._full.add((role, owner))
            self.note(
                f"more than {SCRAPES.most:,} "
                f"{'scrapes' if role == 'scrape' else 'readings'} of {owner}: the others "
                "were left out"
            )
        self.files += 1

    def _take_log(self, name: str, place: Place, file: Reads, source: str) -> None:
        try:
            if place.role == "kernel-log":
                self.kernel_logs[place.owner] = kernel_log.digest(lines(file), source=source)
                self.files += 1
                return
            log = vllm_logs.digest(lines(file), source=source)
        except NotText as error:
            self.note(f"{name} was left out: it is {error.what}")
            return
        if not log.lines:
            self.note(f"{name} is empty")
        if place.role == "log":
            self._keep(place.role, place.owner, lambda replica: replace(replica, log=log))
        else:
            self._keep(place.role, place.owner, lambda replica: replace(replica, previous_log=log))

    def _take_printed(self, name: str, place: Place, file: Reads, source: str) -> None:
        raw = _whole(file, MAX_JSON_BYTES)
        if raw is None or counted(raw, JSON_MARKS, BUNDLE_VALUES.most) > BUNDLE_VALUES.most:
            raise InputError(
                f"larger than {MAX_JSON_BYTES >> 20} MiB, or of more than "
                f"{BUNDLE_VALUES.most:,} values",
                source,
            )
        for kind, found in printed.documents(
            cast("printed.Printed", place.kind), raw, source
        ).items():
            self.kubernetes[kind] = self._bounded(name, redacted(found))
        self.files += 1

    def _take_text(self, name: str, place: Place, file: Reads, source: str) -> None:
        most_bytes = GPU_BYTES.most if place.role == "gpu" else MAX_TEXT_BYTES
        raw = _whole(file, most_bytes)
        if raw is None:
            self.note(f"{name} was left out: it is larger than {most_bytes >> 20} MiB")
            return
        self._count(raw)
        if b"\0" in raw[:4096] or raw.startswith(b"\x1f\x8b"):
            self.note(f"{name} was left out: it is binary, not text")
            return
        text = raw.decode("utf-8-sig", "replace")
        if place.role == "gpu":
            found = GpuText(place.at, place.kind, text, source)
            self._keep(
                place.role,
                place.owner,
                lambda replica: replace(replica, gpu_texts=(*replica.gpu_texts, found)),
            )
        elif text.strip():
            scrape = Scrape(place.at, text, source)
            self._keep(
                place.role,
                place.owner,
                lambda replica: replace(replica, scrapes=(*replica.scrapes, scrape)),
            )
        else:
            self.note(f"{name} is empty: counted as a scrape that failed")
            failed = (place.at, "the recorded scrape is empty")
            self._keep(
                place.role,
                place.owner,
                lambda replica: replace(replica, failed_scrapes=(*replica.failed_scrapes, failed)),
            )

    def _count(self, raw: bytes) -> None:
        self.kept_bytes += len(raw)
        if self.kept_bytes > MAX_KEPT_BYTES:
            raise InputError(
                f"scrapes and readings of more than {MAX_KEPT_BYTES >> 20} MiB; leave out "
                "the older ones",
                str(self.path),
            )

    def _json(self, name: str, file: Reads) -> Any:
        raw = _whole(file, MAX_JSON_BYTES)
        if raw is None:
            self.note(f"{name} was left out: it is larger than {MAX_JSON_BYTES >> 20} MiB")
            return None
        self._count(raw)
        values = counted(raw, JSON_MARKS, BUNDLE_VALUES.most)
        if self.kept_values + values > BUNDLE_VALUES.most:
            self.note(
                f"{name} was left out: the bundle's documents have more than "
                f"{BUNDLE_VALUES.most:,} values"
            )
            return None
        self.kept_values += values
        try:
            found = json.loads(raw)
        except (ValueError, RecursionError) as error:
            self.note(f"{name} was left out: it is no JSON ({why_no_json(error)})")
        else:
            if isinstance(found, dict | list):
                return found
            self.note(
                f"{name} was left out: it should be a JSON object, as `kubectl get -o "
                "json` prints it"
            )
        return None

    def _bounded(self, name: str, document: Any) -> Any:
        """The document with as many objects as are read of one kind."""
        listed = document.get("items") if isinstance(document, dict) else document
        if not isinstance(listed, list) or len(listed) <= BUNDLE_OBJECTS.most:
            return document
        self.note(
            f"{name} has more than {BUNDLE_OBJECTS.most:,} objects: "
            f"{len(listed) - BUNDLE_OBJECTS.most:,} were left out"
        )
        kept = listed[: BUNDLE_OBJECTS.most]
        return {**document, "items": kept} if isinstance(document, dict) else kept

    def recording(self) -> Recording:
        """Combine the files read into a recording."""
        if not self.files:
            self.refuse_empty()
        for entry in self.written.replicas:
            if entry.name not in self.replicas and len(self.replicas) >= REPLICAS.most:
                self._left_out += 1
                continue
            self.replicas[entry.name] = _described(self.replica(entry.name), entry)
        self._ask_pods()
        self._place_kernel_logs()
        if self._left_out:
            self.note(
                f"more than {REPLICAS.most:,} replicas: the others were left out, "
                f"{self._left_out:,} files or entries of theirs"
            )
        named = [entry.name for entry in self.written.replicas if entry.name in self.replicas]
        rest = sorted(name for name in self.replicas if name not in named)
        at = self._at()
        gateway = None
        if self.has_gateway:
            gateway = access_log.digest(self._gateway_lines(), source=f"{self.path}/gateway")
        return Recording(
            target=self.written.target or str(self.path),
            at=at,
            replicas=tuple(_in_order(self.replicas[name]) for name in (*named, *rest)),
            engine=self.written.engine,
            kubernetes=self.kubernetes,
            gateway=gateway,
            problems=tuple(self.problems),
            missing=self.written.missing,
        )

    def refuse_empty(self) -> NoReturn:
        """Errors: InputError, as nothing of it could be read."""
        why = (
            self.problems[0]
            if self.problems
            else (
                "none of its files lies where a bundle keeps one (metrics/<replica>/<unix "
                "seconds>.prom, ...)"
            )
        )
        raise InputError(f"not a bundle: {why}", str(self.path))

    def _gateway_lines(self) -> Iterator[str]:
        """The lines of every access log: a second pass, so that they are one stream wherever in the
        archive they lie.
        """
        for name, place, file in files(self.path, lambda _: None):
            if place.role == "gateway":
                try:
                    yield from lines(file)
                except NotText as error:
                    self.note(f"{name} was left out: it is {error.what}")

    def _ask_pods(self) -> None:
        """The pods that run the engine tell command line, environment and node; they are the
        replicas where nothing else names one.
        """
        alone = not self.replicas
        for pod in pods(self.kubernetes):
            if (alone and len(self.replicas) < REPLICAS.most) or pod.name in self.replicas:
                known = self.replica(pod.name)
                self.replicas[pod.name] = replace(
                    known,
                    args=known.args if known.args is not None else pod.args or None,
                    env={**pod.env, **known.env},
                    node=known.node or pod.node,
                )

    def _place_kernel_logs(self) -> None:
        for node, log in self.kernel_logs.items():
            owners = [
                name for name, replica in self.replicas.items() if node in (replica.node, name)
            ]
            if not owners and len(self.kernel_logs) == 1:
                owners = [name for name, replica in self.replicas.items() if replica.node is None]
            if not owners and self.replicas:
                self.note(
                    f"logs/{node}.kernel.log was left out: no replica runs on {node!r}; "
                    "say so with `node:` in bundle.yaml"
                )
            for name in owners or ([] if self.replicas else [node]):
                self.replicas[name] = replace(self.replica(name), kernel_log=log)

    def _at(self) -> float:
        """The instant to judge at: the newest that a file names, else that Kubernetes names, else
        that a dated log ends with.
        """
        if self.written.at is not None:
            return self.written.at
        named: list[float] = []
        for replica in self.replicas.values():
            named += [text.at for text in replica.scrapes] + [text.at for text in replica.gpu_texts]
            named += [reading.at for reading in replica.host] + [
                failed for failed, _ in replica.failed_scrapes
            ]
        if named or (named := list(_dates(self.kubernetes))):
            return max(named)
        logs = [
            log
            for replica in self.replicas.values()
            for log in (replica.log, replica.previous_log)
            if log is not None
        ]
        return max(
            (log.last_at for log in logs if log.dated and log.last_at is not None), default=0.0
        )


def _whole(file: Reads, cap_bytes: int) -> bytes | None:
    """All of a file, or None if it is larger than the cap."""
    parts, size = [], 0
    while part := file.read(1 << 20):
        size += len(part)
        if size > cap_bytes:
            return None
        parts.append(part)
    return b"".join(parts)


def _described(replica: ReplicaRecording, entry: manifest.ReplicaEntry) -> ReplicaRecording:
    return replace(
        replica,
        version=entry.version,
        args=entry.args,
        env=entry.env,
        config_file=entry.config_file,
        gpu=entry.gpu,
        gpu_memory_gib=entry.gpu_memory_gib,
        node=entry.node,
        exit_code=entry.exit_code,
        failed_scrapes=(*replica.failed_scrapes, *entry.failed_scrapes),
        probe=entry.probe,
    )


def _in_order(replica: ReplicaRecording) -> ReplicaRecording:
    return replace(
        replica,
        scrapes=tuple(sorted(replica.scrapes, key=lambda text: text.at)),
        gpu_texts=tuple(sorted(replica.gpu_texts, key=lambda text: text.at)),
        host=tuple(sorted(replica.host, key=lambda reading: reading.at)),
        failed_scrapes=tuple(sorted(replica.failed_scrapes)),
    )


def _dates(value: Any) -> Iterator[float]:
    """Every RFC 3339 instant in a decoded document, as unix seconds."""
    pending = [value]
    while pending:
        match pending.pop():
            case dict() as found:
                pending.extend(found.values())
            case list() as found:
                pending.extend(found)
            case str() as text if _DATE.match(text):
                try:
                    yield datetime.fromisoformat(text).timestamp()
                except ValueError:
                    continue
