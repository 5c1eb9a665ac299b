"""A file of a person written again, whole or not at all."""

from __future__ import annotations

from pathlib import Path


def write_whole(path: Path, text: str) -> None:
    """The file with that text, whole or not at all; its rights as they were."""
    path = path.resolve()
    beside = path.with_name(f".{path.name}.barostat")
    with path.open("rb") as opened:
        bom = opened.read(3) == b"\xef\xbb\xbf"
    with beside.open("w", encoding="utf-8-sig" if bom else "utf-8", newline="") as opened:
        opened.write(text)
    beside.chmod(path.stat().st_mode & 0o7777)
    beside.replace(path)
