"""What a process's control group allows it and how often it was held back: cgroup v1 and v2."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

_NO_LIMIT_BYTES = 1 << 60
"""A v1 limit of this size means none."""


@dataclass(frozen=True, slots=True)
class Group:
    """One reading of the tightest cgroup around a process. None: no such limit, or unknown.

    Units: `usage_s` is CPU time since the group was created; `memory_bytes` is the working set, as
    the kubelet computes it.
    """

    cpu_limit_cores: float | None = None
    usage_s: float | None = None
    periods: int | None = None
    throttled: int | None = None
    memory_limit_bytes: float | None = None
    memory_bytes: float | None = None


def read(pid: int, proc: Path = Path("/proc"), mount: Path = Path("/sys/fs/cgroup")) -> Group:
    """The group of a process as it stands; an empty one where nothing can be read."""
    try:
        text = (proc / str(pid) / "cgroup").read_text(errors="replace")
    except OSError:
        return Group()
    paths: dict[str, str] = {}
    for line in text.splitlines():
        _, controllers, path = (*line.split(":", 2), "", "")[:3]
        for controller in controllers.split(","):
            paths[controller] = path
    if (mount / "cgroup.controllers").exists():
        return _v2(list(_upwards(mount, paths.get("", "/"))))
    cpu = next(
        (mount / name for name in ("cpu,cpuacct", "cpu", "cpuacct,cpu") if (mount / name).is_dir()),
        mount / "cpu",
    )
    return _v1(
        list(_upwards(cpu, paths.get("cpu", "/"))),
        list(_upwards(mount / "memory", paths.get("memory", "/"))),
    )


def _upwards(mount: Path, path: str) -> Iterator[Path]:
    """The group's directory and those above it, as far as this mount shows them (inside a container
    the path may be the host's).
    """
    parts = [part for part in path.split("/") if part and part != ".."]
    while True:
        folder = mount.joinpath(*parts)
        if folder.is_dir():
            yield folder
        if not parts:
            return
        parts.pop()


def _v2(groups: list[Path]) -> Group:
    cpu = _tightest([(limit, group) for group in groups if (limit := _v2_cores(group)) is not None])
    memory = _tightest(
        [(limit, group) for group in groups if (limit := _number(group / "memory.max")) is not None]
    )
    counts = _table(cpu[1] / "cpu.stat") if cpu else {}
    usage_us = counts.get("usage_usec")
    used = _number(memory[1] / "memory.current") if memory else None
    return Group(
        cpu[0] if cpu else None,
        usage_us / 1e6 if usage_us is not None else None,
        counts.get("nr_periods"),
        counts.get("nr_throttled"),
        memory[0] if memory else None,
        used - _table(memory[1] / "memory.stat").get("inactive_file", 0)
        if memory and used is not None
        else None,
    )


def _v1(cpu_groups: list[Path], memory_groups: list[Path]) -> Group:
    cpu = _tightest(
        [(limit, group) for group in cpu_groups if (limit := _v1_cores(group)) is not None]
    )
    memory = _tightest(
        [
            (limit, group)
            for group in memory_groups
            if (limit := _number(group / "memory.limit_in_bytes")) is not None
            and limit < _NO_LIMIT_BYTES
        ]
    )
    counts = _table(cpu[1] / "cpu.stat") if cpu else {}
    usage_ns = _number(cpu[1] / "cpuacct.usage") if cpu else None
    used = _number(memory[1] / "memory.usage_in_bytes") if memory else None
    return Group(
        cpu[0] if cpu else None,
        usage_ns / 1e9 if usage_ns is not None else None,
        counts.get("nr_periods"),
        counts.get("nr_throttled"),
        memory[0] if memory else None,
        used - _table(memory[1] / "memory.stat").get("total_inactive_file", 0)
        if memory and used is not None
        else None,
    )


def _tightest(limits: list[tuple[float, Path]]) -> tuple[float, Path] | None:
    return min(limits, key=lambda entry: entry[0], default=None)


def _v2_cores(group: Path) -> float | None:
    quota, _, period = _text(group / "cpu.max").partition(" ")
    return (
        int(quota) / int(period)
        if quota.isdecimal() and period.isdecimal() and int(period)
        else None
    )


def _v1_cores(group: Path) -> float | None:
    quota, period = _number(group / "cpu.cfs_quota_us"), _number(group / "cpu.cfs_period_us")
    return quota / period if quota and period and quota > 0 else None


def _text(file: Path) -> str:
    try:
        return file.read_text(errors="replace").strip()
    except OSError:
        return ""


def _number(file: Path) -> float | None:
    text = _text(file)
    return float(text) if text.lstrip("-").isdecimal() else None


def _table(file: Path) -> dict[str, int]:
    rows = (line.split() for line in _text(file).splitlines())
    return {row[0]: int(row[1]) for row in rows if len(row) == 2 and row[1].isdecimal()}
