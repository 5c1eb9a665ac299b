"""Control groups of both versions."""

from __future__ import annotations

from pathlib import Path

from barostat.io.local_host.cgroups import Group, read


def _files(root: Path, files: dict[str, str]) -> None:
    for name, content in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(content)


def test_of_several_groups_around_a_process_the_tightest_counts(tmp_path: Path) -> None:
    _files(tmp_path / "proc", {"7/cgroup": "0::/kube/pod/app\n"})
    _files(
        tmp_path / "cg",
        {
            "cgroup.controllers": "cpu",
            "kube/cpu.max": "400000 100000",
            "kube/pod/cpu.max": "150000 100000",
            "kube/pod/cpu.stat": "usage_usec 2500000\nnr_periods 9\nnr_throttled 4\n",
            "kube/pod/app/cpu.max": "max 100000",
            "kube/memory.max": "max",
            "kube/pod/app/memory.max": "1024",
            "kube/pod/app/memory.current": "600",
        },
    )
    assert read(7, tmp_path / "proc", tmp_path / "cg") == Group(1.5, 2.5, 9, 4, 1024.0, 600.0)


def test_a_path_that_this_mount_does_not_show_falls_back_to_its_top(tmp_path: Path) -> None:
    _files(tmp_path / "proc", {"7/cgroup": "0::/../../kubepods/burstable/pod1\n"})
    _files(tmp_path / "cg", {"cgroup.controllers": "", "cpu.max": "50000 100000"})
    assert read(7, tmp_path / "proc", tmp_path / "cg").cpu_limit_cores == 0.5


def test_the_first_version_is_read_too(tmp_path: Path) -> None:
    _files(
        tmp_path / "proc",
        {"7/cgroup": "4:cpu,cpuacct:/docker/x\n5:memory:/docker/x\n1:name=systemd:/\n"},
    )
    _files(
        tmp_path / "cg",
        {
            "cpu,cpuacct/docker/x/cpu.cfs_quota_us": "300000",
            "cpu,cpuacct/docker/x/cpu.cfs_period_us": "100000",
            "cpu,cpuacct/docker/x/cpuacct.usage": "1500000000",
            "cpu,cpuacct/docker/x/cpu.stat": "nr_periods 5\nnr_throttled 2\nthrottled_time 9\n",
            "cpu,cpuacct/cpu.cfs_quota_us": "-1",
            "memory/docker/x/memory.limit_in_bytes": "2048",
            "memory/docker/x/memory.usage_in_bytes": "1000",
            "memory/docker/x/memory.stat": "total_inactive_file 100\n",
            "memory/memory.limit_in_bytes": "9223372036854771712",
        },
    )
    assert read(7, tmp_path / "proc", tmp_path / "cg") == Group(3.0, 1.5, 5, 2, 2048.0, 900.0)


def test_no_limits_are_none_and_nothing_readable_is_empty(tmp_path: Path) -> None:
    _files(tmp_path / "proc", {"7/cgroup": "0::/\n", "8/cgroup": "garbage\n::::\n", "9/other": ""})
    _files(
        tmp_path / "cg",
        {
            "cgroup.controllers": "cpu",
            "cpu.max": "max 100000",
            "cpu.stat": "usage_usec 5\n",
            "memory.max": "x",
        },
    )
    assert [read(pid, tmp_path / "proc", tmp_path / "cg") for pid in (7, 8, 9)] == [Group()] * 3
