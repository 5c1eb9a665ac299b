"""A local engine's processes: who they are, how much CPU each uses between two looks, and whether
one is stopped or gone.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from barostat.core.redaction.credentials import clean
from barostat.io.local_host import cgroups
from barostat.judge.evidence.recording import HostReading

_TITLE = re.compile(r"^(?:VLLM::|ray::|sglang::)[\w .:()-]*")
_SIGNAL_BITS = 0x7F


@dataclass(frozen=True, slots=True)
class Process:
    """One process at one instant. `state`: R, S, D, T (stopped), t (traced), Z (ended, not
    collected). `born`: clock ticks after boot.
    """

    pid: int
    parent: int
    name: str
    state: str
    cpu_s: float
    memory_bytes: float
    born: int
    exit_status: int | None = None


def process(pid: int, proc: Path = Path("/proc")) -> Process | None:
    """Return the process, or None if it does not exist.

    Source: proc(5), stat.
    """
    try:
        text = (proc / str(pid) / "stat").read_text(errors="replace")
        command = (proc / str(pid) / "cmdline").read_bytes()
    except OSError:
        return None
    before, _, after = text.rpartition(")")
    fields = after.split()
    if len(fields) < 22:
        return None
    hertz = os.sysconf("SC_CLK_TCK")
    state = fields[0]
    status = int(fields[49]) if len(fields) > 49 and state == "Z" else None
    return Process(
        pid=pid,
        parent=int(fields[1]),
        name=_name(command, before.partition("(")[2]),
        state=state,
        cpu_s=(int(fields[11]) + int(fields[12])) / hertz,
        memory_bytes=float(int(fields[21]) * os.sysconf("SC_PAGE_SIZE")),
        born=int(fields[19]),
        exit_status=status,
    )


def command_line(pid: int, proc: Path = Path("/proc")) -> tuple[str, ...]:
    """The arguments that the process was started with; nothing if it has changed its title or
    cannot be read.
    """
    try:
        raw = (proc / str(pid) / "cmdline").read_bytes().decode("utf-8", "replace")
    except OSError:
        return ()
    return () if _TITLE.match(raw) else tuple(raw.rstrip("\0").split("\0"))


def variables(pid: int, proc: Path = Path("/proc")) -> dict[str, str]:
    """The environment that the process was started with, as far as this user may read it."""
    try:
        raw = (proc / str(pid) / "environ").read_bytes().decode("utf-8", "replace")
    except OSError:
        return {}
    return {
        name: value
        for name, equals, value in (entry.partition("=") for entry in raw.split("\0"))
        if equals
    }


def tree(pid: int, proc: Path = Path("/proc")) -> list[Process]:
    """The process and everything below it, itself first; empty if it is gone."""
    root = process(pid, proc)
    if root is None:
        return []
    children: dict[int, list[int]] = {}
    for entry in proc.iterdir():
        if entry.name.isdecimal() and (parent := _parent(entry)) is not None:
            children.setdefault(parent, []).append(int(entry.name))
    found, pending = [root], list(children.get(pid, []))
    while pending:
        child = pending.pop(0)
        if (below := process(child, proc)) is not None:
            found.append(below)
            pending += children.get(child, [])
    return found


def _parent(folder: Path) -> int | None:
    try:
        fields = (folder / "stat").read_text(errors="replace").rpartition(")")[2].split()
    except OSError:
        return None
    return int(fields[1]) if len(fields) > 1 and fields[1].isdecimal() else None


def _name(command: bytes, short: str) -> str:
    """What a person calls the process: the title that vLLM gives it, else the program and its verb,
    never its arguments.
    """
    line = command.decode("utf-8", "replace")
    if title := _TITLE.match(line.replace("\0", " ")):
        return title[0].strip()
    words = [word for word in line.split("\0") if word]
    if not words:
        return short
    program = Path(words[0]).name
    if program.startswith("python"):
        rest = words[1:]
        while rest and rest[0].startswith("-") and rest[0] not in ("-m", "-c"):
            rest = rest[1:]
        if rest[:1] == ["-c"]:
            found = re.search(r"from multiprocessing\.(\w+)", rest[1]) if len(rest) > 1 else None
            return f"multiprocessing.{found[1]}" if found else short
        if rest[:1] == ["-m"]:
            rest = rest[1:]
        if not rest:
            return short
        program, words = Path(rest[0]).name, rest
    verb = words[1] if len(words) > 1 and re.fullmatch(r"[a-z][a-z-]{1,20}", words[1]) else ""
    return clean(f"{program} {verb}".strip())


@dataclass(slots=True)
class Observer:
    """Samples one engine's process tree. `args` and `env` are those it was started with."""

    pid: int
    proc: Path = Path("/proc")
    mount: Path = Path("/sys/fs/cgroup")
    readings: list[HostReading] = field(default_factory=list)
    ended_at: float | None = None
    exit_code: int | None = None
    args: tuple[str, ...] = ()
    env: dict[str, str] = field(default_factory=dict)
    _before: tuple[float, dict[int, Process], cgroups.Group] | None = None
    _born: int | None = None

    def look(self, at: float) -> None:
        """Record a reading, from the second call on; detect the engine's end, with its exit status
        if readable.
        """
        found = tree(self.pid, self.proc)
        if self._born is None and found:
            self._born = found[0].born
            self.args, self.env = command_line(self.pid, self.proc), variables(self.pid, self.proc)
        if not found or found[0].born != self._born or found[0].state in ("Z", "X"):
            if self.ended_at is None:
                self.ended_at = at
                status = found[0].exit_status if found and found[0].born == self._born else None
                if status is not None:
                    self.exit_code = (
                        -(status & _SIGNAL_BITS) if status & _SIGNAL_BITS else status >> 8
                    )
            return
        now = {entry.pid: entry for entry in found}
        group = cgroups.read(self.pid, self.proc, self.mount)
        if self._before is not None and at > self._before[0]:
            self.readings.append(
                HostReading(round(at, 3), self._values(at, now, group), f"{self.proc}/{self.pid}")
            )
        elif not self.readings:
            self.readings.append(
                HostReading(round(at, 3), _standing(now, group), f"{self.proc}/{self.pid}")
            )
        self._before = (at, now, group)

    def forget_before(self, at: float) -> None:
        """Readings older than `at` are dropped."""
        self.readings = [reading for reading in self.readings if reading.at >= at]

    def _values(self, at: float, now: dict[int, Process], group: cgroups.Group) -> dict[str, Any]:
        assert self._before is not None
        then_at, then, group_then = self._before
        for_s = at - then_at
        used: dict[int, float] = {}
        for pid, entry in now.items():
            same = then.get(pid)
            before_s = same.cpu_s if same is not None and same.born == entry.born else 0.0
            used[pid] = max(0.0, entry.cpu_s - before_s) / for_s
        values = _standing(now, group)
        for item in values["processes"]:
            item["cpu_cores"] = round(used[item["pid"]], 4)
        values["cpu_usage_cores"] = round(sum(used.values()), 4)
        if group.usage_s is not None and group_then.usage_s is not None:
            values["cpu_usage_cores"] = round(
                max(0.0, group.usage_s - group_then.usage_s) / for_s, 4
            )
        if None not in (group.periods, group_then.periods, group.throttled, group_then.throttled):
            periods = (group.periods or 0) - (group_then.periods or 0)
            throttled = (group.throttled or 0) - (group_then.throttled or 0)
            if periods > 0:
                values["cpu_throttled_ratio"] = round(min(1.0, max(0.0, throttled / periods)), 4)
        return values


def _standing(now: dict[int, Process], group: cgroups.Group) -> dict[str, Any]:
    """Return the values of a single sample."""
    values: dict[str, Any] = {
        "memory_bytes": group.memory_bytes
        if group.memory_bytes is not None
        else sum(entry.memory_bytes for entry in now.values()),
        "processes": [
            {"name": entry.name, "pid": entry.pid, "state": entry.state} for entry in now.values()
        ],
    }
    if group.cpu_limit_cores is not None:
        values["cpu_limit_cores"] = group.cpu_limit_cores
    if group.memory_limit_bytes is not None:
        values["memory_limit_bytes"] = group.memory_limit_bytes
    return values
