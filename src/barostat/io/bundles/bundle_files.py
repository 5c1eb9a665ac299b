"""Every file of a bundle with its place in it, wherever the bundle lies: a directory, an archive,
or one loose file.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from barostat.core.errors import InputError
from barostat.gpus import KINDS as GPU_KINDS
from barostat.io.bundles import archive, folder, layout
from barostat.io.bundles.layout import Misplaced, Place
from barostat.io.bundles.printed import HEAD_BYTES, printed
from barostat.io.input_files.lines import Reads

_LOOSE_REPLICA = "engine"


def files(path: Path, note: Callable[[str], None]) -> Iterator[tuple[str, Place, Reads]]:
    """Yield name, place and content of every file of a bundle; misplaced files are reported to
    `note`, other files are skipped.

    Errors: InputError if nothing can be opened, or the archive is unsafe.
    """
    try:
        if path.is_dir():
            base = folder.base(path)
            entries: Iterable[tuple[str, Reads]] = folder.members(base, note)
        elif not path.is_file():
            there = path.exists() or path.is_symlink()
            asked = "; give a bundle: a directory, a .tar.gz, one scrape (.prom) or one log (.log)"
            raise InputError(
                "neither a file nor a directory"
                if there
                else f"there is no such file or directory{asked}",
                str(path),
            )
        elif archive.is_archive(path):
            entries = _archived(path, note)
        else:
            yield _loose(path)
            return
    except OSError as error:
        raise InputError(f"cannot be read ({error.strerror})", str(path)) from None
    top: str | None = None
    for name, file in entries:
        shown = name.encode("utf-8", "replace").decode()
        found = layout.place(shown)
        if found is None:
            continue
        inside, what = found
        if isinstance(what, Misplaced):
            note(f"{shown} was left out: {what.why}")
            continue
        top = inside if top is None else top
        if inside != top:
            note(f"{shown} was left out: it belongs to a second bundle in the same archive")
            continue
        yield shown.removeprefix("./").removeprefix(f"{inside}/"), what, file


def _archived(path: Path, note: Callable[[str], None]) -> Iterator[tuple[str, Reads]]:
    try:
        yield from archive.members(path)
    except archive.Truncated as error:
        note(
            f"{path.name} is truncated or damaged: {error.what}; only what comes before "
            "that was read"
        )


def loose_file(path: Path) -> tuple[str, Place, Reads]:
    """Return name, place and content of a file given in addition to a bundle or another file.

    Errors: InputError if it is missing, is a bundle itself, or its kind is unknown.
    """
    if path.is_dir() or (path.is_file() and archive.is_archive(path)):
        raise InputError("is a second bundle: diagnose them one after the other", str(path))
    return next(iter(files(path, lambda _: None)))


def _loose(path: Path) -> tuple[str, Place, Reads]:
    """One file given instead of a bundle: a scrape, a log, a tool's output or a Kubernetes
    document, by its name and first bytes.
    """
    name, at = path.name, path.stat().st_mtime
    file = path.open("rb")
    head = file.read(HEAD_BYTES)
    file.seek(0)
    if tool := next((kind for kind in GPU_KINDS if name.endswith(kind)), None):
        return (
            name,
            _as(f"gpu/{_LOOSE_REPLICA}/{name}") or Place("gpu", _LOOSE_REPLICA, at, tool),
            file,
        )
    if found := _as(f"kubernetes/{name}"):
        return name, found, file
    try:
        kind = printed(head.decode("utf-8-sig", "replace"), str(path))
    except InputError:
        file.close()
        raise
    if kind in ("objects", "described"):
        return name, Place("printed", "", at, kind), file
    if kind:
        return name, Place("gpu", _LOOSE_REPLICA, at, kind), file
    if (
        name.endswith(".prom")
        or b"# TYPE " in head
        or b"# HELP " in head
        or head.startswith(b"vllm:")
    ):
        return (
            name,
            _as(f"metrics/{_LOOSE_REPLICA}/{name}") or Place("scrape", _LOOSE_REPLICA, at),
            file,
        )
    if found := _as(f"logs/{name}"):
        return name, found, file
    if b"\n" in head and not name.endswith((".json", ".yaml", ".yml")):
        return name, Place("log", path.stem), file
    file.close()
    raise InputError(
        "not a bundle: neither a directory, a .tar.gz, a scrape (.prom), a log (.log) nor what "
        "`kubectl describe pod` or `kubectl get -o yaml` printed",
        str(path),
    )


def _as(name: str) -> Place | None:
    found = layout.place(name)
    return found[1] if found and isinstance(found[1], Place) else None
