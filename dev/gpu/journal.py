"""What was measured, on record as soon as it is: a dated folder of a card and a version, gone on
with by the next run.

    bench/gpu/2026-11-25-h100-80gb-hbm3/
      here.json            card, memory, driver, vLLM: a run goes on in the last folder that says the same
      items.jsonl          what of the run-book is finished, with what came and how long it took
      startups.yaml pace.jsonl steps.jsonl states.jsonl forecast.jsonl demo.txt states/NAME/
      models/ORG__NAME.json

A row has an `id`, and one that is written again takes the place of the former. Every file is
written whole beside its place and renamed, so that a kill at any instant leaves the old or the new
one; a last line that is torn all the same (a full disk, a copy) is left out and told.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

ITEMS, STARTUPS, PACE, STEPS, STATES, FORECAST, HERE = (
    "items.jsonl", "startups.yaml", "pace.jsonl", "steps.jsonl", "states.jsonl", "forecast.jsonl", "here.json",
)  # fmt: skip
TABLES = (ITEMS, STARTUPS, PACE, STEPS, STATES, FORECAST)
_PART = ".part"
Row = dict[str, Any]


@dataclass(slots=True)
class Journal:
    """The files of one folder. `torn`: lines that could not be read, as sentences. `titles`: the
    first lines of files that have some.
    """

    folder: Path
    titles: Mapping[str, str] = field(default_factory=dict)
    torn: list[str] = field(default_factory=list)

    def open(self, identity: Mapping[str, Any]) -> None:
        """The folder is there, says whose it is, and holds nothing half-written: torn lines are
        gone from its files.
        """
        self.folder.mkdir(parents=True, exist_ok=True)
        for part in self.folder.rglob(f".*{_PART}"):
            shutil.rmtree(part) if part.is_dir() else part.unlink()
        for file in TABLES:
            known = len(self.torn)
            rows = self.rows(file)
            if len(self.torn) > known:
                self._write(file, rows)
        if not (self.folder / HERE).exists():
            self.text(HERE, json.dumps(identity, indent=1) + "\n")

    def rows(self, file: str) -> list[Row]:
        """The file's rows."""
        path, found = self.folder / file, []
        lines = (
            path.read_text(encoding="utf-8", errors="replace").splitlines() if path.exists() else []
        )
        for number, line in enumerate(lines, start=1):
            text = line.strip().removeprefix("- ")
            if not text.startswith("{") and number < len(lines):
                continue
            try:
                row = json.loads(text)
            except ValueError:
                self._tell(f"{file}:{number} is torn and left out" if text != "rows:" else "")
                continue
            found.append(row)
        return found

    def row(self, file: str, name: str) -> Row | None:
        """The row of that id, or None."""
        return next((row for row in self.rows(file) if row.get("id") == name), None)

    def put(self, file: str, row: Row) -> None:
        """The row is on the disk, in place of one of the same id."""
        self._write(
            file, [*(other for other in self.rows(file) if other.get("id") != row["id"]), row]
        )

    def _write(self, file: str, rows: list[Row]) -> None:
        before = "  - " if file.endswith(".yaml") else ""
        title = self.titles.get(file, "") + ("rows:\n" if before else "")
        self.text(file, title + "".join(f"{before}{json.dumps(row)}\n" for row in rows))

    def text(self, file: str, text: str) -> None:
        """The file is this, on the disk."""
        path = self.folder / file
        path.parent.mkdir(parents=True, exist_ok=True)
        part = path.with_name(f".{path.name}{_PART}")
        with part.open("w", encoding="utf-8") as out:
            out.write(text)
            out.flush()
            os.fsync(out.fileno())
        part.replace(path)

    def part_of(self, name: str) -> Path:
        """Where a folder of that name is made; `keep` puts it in its place."""
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        return path.with_name(f".{path.name}{_PART}")

    def keep(self, name: str) -> None:
        """What was made at `part_of(name)` is in its place."""
        shutil.rmtree(self.folder / name, ignore_errors=True)
        self.part_of(name).rename(self.folder / name)

    def finished(self) -> dict[str, Row]:
        """The finished items by name."""
        return {row["id"]: row for row in self.rows(ITEMS) if row.get("outcome") != "out of time"}

    def _tell(self, told: str) -> None:
        if told and told not in self.torn:
            self.torn.append(told)


def folder_to_go_on_with(
    room: Path, today: str, label: str, identity: Mapping[str, Any], *, anew: bool
) -> Path:
    """The last folder in `room` that was measured on the same card and version, else a new one of
    today. `anew`: only one of today.
    """
    own = [
        f
        for f in sorted(room.glob(f"*-{label}*"))
        if _says(f) == identity and (not anew or f.name.startswith(today))
    ]
    if own:
        return own[-1]
    for name in (f"{today}-{label}", f"{today}-{label}-vllm-{identity['vllm']}"):
        if not (room / name).exists() or _says(room / name) == identity:
            return room / name
    raise FileExistsError(f"{room / name} holds what was measured on something else; say --out")


def is_of(folder: Path, identity: Mapping[str, Any]) -> bool:
    """True where the folder is new, empty, or of this card and version."""
    return not (folder / HERE).exists() or _says(folder) == identity


def _says(folder: Path) -> Mapping[str, Any] | None:
    """Whose the folder is, as far as that decides; None where it does not say."""
    try:
        told = json.loads((folder / HERE).read_text())
        return {"card": told["card"], "vllm": told["vllm"]}
    except (OSError, ValueError, KeyError, TypeError):
        return None
