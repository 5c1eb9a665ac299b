"""The files of a bundle that is a directory, in the same form as those of an archive."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import BinaryIO

from barostat.core.bounds import BUNDLE_FILES, REPLICAS
from barostat.core.errors import InputError

_FLAT = ("logs", "kubernetes", "gateway")
_PER_REPLICA = ("metrics", "gpu", "host")
FOLDERS = (*_FLAT, *_PER_REPLICA)
MANIFESTS = ("bundle.yaml", "bundle.yml")


def base(path: Path) -> Path:
    """Return the root of the bundle: the directory, or its only subdirectory with a bundle's
    layout.
    """

    def laid_out(folder: Path) -> bool:
        return any((folder / name).exists() for name in (*FOLDERS, *MANIFESTS))

    try:
        if laid_out(path):
            return path
        inside = [entry for entry in sorted(path.iterdir()) if entry.is_dir() and laid_out(entry)]
    except OSError as error:
        raise InputError(f"cannot be read ({error.strerror})", str(path)) from None
    if len(inside) > 1:
        raise InputError(
            f"holds several bundles ({', '.join(entry.name for entry in inside[:3])}); "
            "name one of them",
            str(path),
        )
    return inside[0] if inside else path


def members(path: Path, note: Callable[[str], None]) -> Iterator[tuple[str, BinaryIO]]:
    """Yield every file of the bundle directory, named as a member of an archive.

    Special files, unreadable files and links that leave the directory are reported to `note` and
    skipped.
    """
    root = path.resolve()
    count = 0
    for file, by_link in _files(path, note):
        name = file.relative_to(path).as_posix()
        count += 1
        if count > BUNDLE_FILES.most:
            raise InputError(f"more than {BUNDLE_FILES.most:,} files; this is no bundle", str(path))
        try:
            if by_link and not file.resolve().is_relative_to(root):
                note(f"{name} is a link that leaves the bundle; put the file itself there")
                continue
            if not stat.S_ISREG(file.stat().st_mode):
                note(f"{name} is neither a file nor a directory; left out")
                continue
            opened = file.open("rb")
        except OSError as error:
            note(f"{name} cannot be read ({error.strerror}); left out")
            continue
        with opened:
            yield name, opened


def _files(path: Path, note: Callable[[str], None]) -> Iterator[tuple[Path, bool]]:
    """Each file, and whether a link is on the way to it."""
    for name in MANIFESTS:
        if (manifest := path / name).is_dir():
            note(f"{name} is a directory, not a file; left out")
        elif manifest.exists() or manifest.is_symlink():
            yield manifest, manifest.is_symlink()
    for name in FOLDERS:
        folder = path / name
        if not folder.exists():
            continue
        if not folder.is_dir():
            note(f"{name} is a file, but should be a directory; left out")
            continue
        by_link = folder.is_symlink()
        entries = _entries(folder, path, note)
        if name in _PER_REPLICA and len(entries) > REPLICAS.most:
            note(
                f"{name} has folders of more than {REPLICAS.most:,} replicas: "
                f"{len(entries) - REPLICAS.most:,} were left out"
            )
            entries = entries[: REPLICAS.most]
        for entry in entries:
            inside = name in _PER_REPLICA
            if entry.is_dir() is not inside:
                found, wanted = (
                    ("a file", "a directory named after the replica")
                    if inside
                    else ("a directory", "a file")
                )
                note(f"{name}/{entry.name} is {found}, but should be {wanted}; left out")
            elif inside:
                within, linked = folder / entry.name, by_link or entry.is_symlink()
                yield from (
                    (within / one.name, linked or one.is_symlink())
                    for one in _entries(within, path, note)
                )
            else:
                yield folder / entry.name, by_link or entry.is_symlink()


def _entries(folder: Path, path: Path, note: Callable[[str], None]) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as found:
            return sorted(
                (entry for entry in found if not entry.name.startswith(".")),
                key=lambda entry: entry.name,
            )
    except OSError as error:
        note(f"{folder.relative_to(path).as_posix()} cannot be read ({error.strerror}); left out")
        return []
