"""A recording, written as a bundle: redacted, whole or not at all, readable by its owner only."""

from __future__ import annotations

import gzip
import io
import json
import os
import shutil
import tarfile
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO

from barostat.core.errors import InputError, OutsideError
from barostat.core.redaction.credentials import arguments, clean, environment
from barostat.io.bundles import manifest
from barostat.io.input_files.lines import lines
from barostat.io.redaction import kubernetes as redact_kubernetes
from barostat.io.redaction.text import access_lines, log_lines
from barostat.judge.evidence.recording import Recording, ReplicaRecording

LOG_PART_BYTES = 1 << 20


@dataclass(frozen=True, slots=True)
class Logs:
    """Log files to copy, because a recording holds only their digest.

    Keys: a replica for `current` and `previous`, a node for `kernel`, any name for `gateway`.
    """

    current: Mapping[str, Path] = field(default_factory=dict)
    previous: Mapping[str, Path] = field(default_factory=dict)
    kernel: Mapping[str, Path] = field(default_factory=dict)
    gateway: Mapping[str, Path] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, repr=False)  # asyncio.Runner writes out a task's result
class Recorded:
    """A recording, and the files that its logs were read from (none where they were not to be
    kept).
    """

    recording: Recording
    logs: Logs = field(default_factory=Logs)


def write(
    recording: Recording, path: Path, logs: Logs = Logs(), *, force: bool = False
) -> dict[str, int]:
    """Write the bundle to `path` (an archive if the name ends in .tar.gz or .tgz, else a
    directory), and count its content by kind.

    Everything is redacted. A failure leaves nothing behind and keeps an existing bundle.

    Errors: InputError as `check`; OutsideError if it cannot be written.
    """
    packed = check(path, force=force)
    try:
        part = Path(tempfile.mkdtemp(prefix=f".{path.name}.", suffix=".part", dir=path.parent))
    except OSError as error:
        raise OutsideError(
            f"cannot write beside {path}: {error.strerror}", retryable=False
        ) from None
    try:
        whole = part / "bundle"
        counts: dict[str, int] = {}
        target = (
            _Archive(whole, path.name.removesuffix(".tgz").removesuffix(".tar.gz"))
            if packed
            else _Directory(whole)
        )
        for kind, name, content in _contents(recording, logs):
            target.add(name, content)
            counts[kind] = counts.get(kind, 0) + 1
        target.close()
        _replace(whole, path, part)
    except OSError as error:
        raise OutsideError(
            f"the bundle could not be written to {path}: {error.strerror or error}", retryable=True
        ) from None
    finally:
        shutil.rmtree(part, ignore_errors=True)
    return counts


def check(path: Path, *, force: bool) -> bool:
    """Whether it will be an archive.

    Errors: InputError if a bundle cannot be written there: known before anything is recorded.
    """
    packed = path.name.endswith((".tar.gz", ".tgz"))
    if path.name.endswith((".tar", ".zip", ".gz")) and not packed:
        raise InputError("a bundle is written as a directory or as .tar.gz", str(path))
    if not path.name:
        raise InputError("no name for a bundle; give NAME.tar.gz or a directory", str(path))
    if not path.parent.is_dir():
        raise InputError(f"its directory {path.parent} does not exist; make it first", str(path))
    if _occupied(path) and not force:
        raise InputError(
            "is there already and not empty; give another --out, or --force to replace it",
            str(path),
        )
    if force and path.is_dir() and any(path.iterdir()) and not (path / "bundle.yaml").is_file():
        raise InputError(
            "is a directory that holds something else than a bundle; --force replaces bundles only",
            str(path),
        )
    return packed


def _occupied(path: Path) -> bool:
    if path.is_symlink() or path.is_file():
        return True
    return any(path.iterdir()) if path.is_dir() else path.exists()


def _replace(whole: Path, path: Path, part: Path) -> None:
    """`path` is the new bundle: one rename where the old one is a file or empty, two where it is a
    directory that is replaced.
    """
    if path.is_dir() and not path.is_symlink() and any(path.iterdir()):
        old = part / "replaced"
        path.rename(old)
        try:
            whole.rename(path)
        except OSError:
            old.rename(path)
            raise
        return
    if path.is_dir() and not path.is_symlink() and whole.is_file():
        path.rmdir()
    whole.replace(path)


class _Directory:
    """A bundle as a directory, for its owner only."""

    def __init__(self, root: Path) -> None:
        self._root = root
        root.mkdir(mode=0o700)

    def add(self, name: str, content: Iterable[bytes]) -> None:
        """Write a file into the folder."""
        target = self._root / name
        folder = self._root
        for part in Path(name).parts[:-1]:
            folder = folder / part
            folder.mkdir(mode=0o700, exist_ok=True)
        with open(os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:  # noqa: PTH123 - the mode from the first byte on
            file.writelines(content)

    def close(self) -> None:
        """Everything is on the disk."""


class _Archive:
    """A bundle as a .tar.gz, for its owner only. Times and owners are left out: the same recording
    gives the same bytes.
    """

    def __init__(self, path: Path, top: str) -> None:
        self._file = open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb")  # noqa: PTH123, SIM115 - closed in close()
        self._gzip = gzip.GzipFile(filename="", fileobj=self._file, mode="wb", mtime=0)
        self._tar = tarfile.open(fileobj=self._gzip, mode="w|")  # noqa: SIM115 - closed in close()
        self._top = top

    def add(self, name: str, content: Iterable[bytes]) -> None:
        """The member is in the archive."""
        with tempfile.TemporaryFile() as spool:  # a tar header names the size before the content
            spool.writelines(content)
            header = tarfile.TarInfo(f"{self._top}/{name}")
            header.size, header.mode = spool.tell(), 0o600
            spool.seek(0)
            source: BinaryIO | io.BufferedRandom = spool
            self._tar.addfile(header, source)

    def close(self) -> None:
        """Finish the archive."""
        self._tar.close()
        self._gzip.close()
        self._file.close()


def _contents(recording: Recording, logs: Logs) -> Iterator[tuple[str, str, Iterable[bytes]]]:
    """Kind, name and redacted content of every file of the bundle."""
    names = _Names()
    entries = tuple(_entry(replica, names.of(replica.name)) for replica in recording.replicas)
    written = manifest.Manifest(
        recording.engine,
        entries,
        clean(recording.target),
        recording.at,
        tuple(map(clean, recording.missing)),
    )
    yield "bundle.yaml", "bundle.yaml", [manifest.render(written).encode()]
    for replica in recording.replicas:
        name = names.of(replica.name)
        for scrape in replica.scrapes:
            yield "scrapes", f"metrics/{name}/{_instant(scrape.at)}.prom", _text(scrape.text)
        for found in replica.gpu_texts:
            yield "GPU readings", f"gpu/{name}/{_instant(found.at)}.{found.kind}", _text(found.text)
        for reading in replica.host:
            values = redact_kubernetes.document(dict(reading.values))
            yield "host readings", f"host/{name}/{_instant(reading.at)}.json", [_json(values)]
    for kind, document in recording.kubernetes.items():
        yield (
            "Kubernetes documents",
            f"kubernetes/{kind}.json",
            [_json(redact_kubernetes.document(document))],
        )
    for files, ending, cleaned in (
        (logs.current, "log", log_lines),
        (logs.previous, "previous.log", log_lines),
        (logs.kernel, "kernel.log", log_lines),
    ):
        for owner, file in files.items():
            yield "logs", f"logs/{names.of(owner)}.{ending}", _log(file, cleaned)
    for owner, file in logs.gateway.items():
        yield "access logs", f"gateway/{names.of(owner)}.log", _log(file, access_lines)


def _entry(replica: ReplicaRecording, name: str) -> manifest.ReplicaEntry:
    probe = replica.probe
    return manifest.ReplicaEntry(
        name,
        replica.version,
        arguments(replica.args),
        environment(replica.env),
        redact_kubernetes.document(dict(replica.config_file))
        if replica.config_file is not None
        else None,
        replica.gpu,
        replica.gpu_memory_gib,
        replica.node,
        replica.exit_code,
        tuple((at, clean(why)) for at, why in replica.failed_scrapes),
        probe,
    )


class _Names:
    """File names for replicas and nodes: their own names wherever those can be file names and mean
    nothing else.
    """

    def __init__(self) -> None:
        self._given: dict[str, str] = {}

    def of(self, name: str) -> str:
        """The same name for the same thing; a different one for a different thing."""
        if name not in self._given:
            safe = "".join(
                char if char.isalnum() or char in "-_.:@" else "_" for char in name
            ).lstrip(".")
            safe = safe.encode()[:180].decode("utf-8", "ignore") or "replica"
            for ending in (".previous", ".kernel", ".log"):
                safe = safe.removesuffix(ending) if safe != ending else safe
            taken = set(self._given.values())
            number, found = 2, safe
            while found in taken:
                found, number = f"{safe}-{number}", number + 1
            self._given[name] = found
        return self._given[name]


def _instant(at: float) -> str:
    """Unix seconds as they stand in a file name: whole where they are, else as exact as the number
    is.
    """
    return str(int(at)) if at == int(at) else f"{at:.6f}".rstrip("0").rstrip(".")


def _text(text: str) -> Iterable[bytes]:
    return [clean(text).encode("utf-8", "replace")]


def _json(value: Any) -> bytes:
    return json.dumps(value, indent=1, ensure_ascii=False).encode("utf-8", "replace")


def _log(file: Path, cleaned: Callable[[Iterable[str]], Iterator[str]]) -> Iterator[bytes]:
    """The redacted log, in parts of about a megabyte."""
    with file.open("rb") as opened:
        part: list[str] = []
        size = 0
        for line in cleaned(lines(opened)):
            part.append(line)
            size += len(line) + 1
            if size > LOG_PART_BYTES:
                yield ("\n".join(part) + "\n").encode("utf-8", "replace")
                part, size = [], 0
        if part:
            yield ("\n".join(part) + "\n").encode("utf-8", "replace")
