"""Process trees, real ones and written ones."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from barostat.io.local_host.processes import Observer, command_line, process, tree, variables

BUSY = "import time\nwhile True: pass"


@pytest.fixture
def parent() -> Iterator[subprocess.Popen[bytes]]:
    """A process that sleeps and has one child that uses a core."""
    script = f"import subprocess, sys; subprocess.Popen([sys.executable, '-c', {BUSY!r}]).wait()"
    started = subprocess.Popen(
        [sys.executable, "-c", script],
        start_new_session=True,
        env={**os.environ, "VLLM_USE_V1": "1"},
    )
    deadline = time.monotonic() + 10
    while len(tree(started.pid)) < 2 and time.monotonic() < deadline:
        time.sleep(0.02)
    yield started
    os.killpg(started.pid, signal.SIGKILL)
    started.wait()


def test_a_process_and_what_it_started_are_seen(parent: subprocess.Popen[bytes]) -> None:
    found = tree(parent.pid)
    assert [entry.parent for entry in found] == [os.getpid(), parent.pid]
    assert all(entry.memory_bytes > 1 << 20 for entry in found)


def test_what_it_was_started_with_is_read(parent: subprocess.Popen[bytes]) -> None:
    assert command_line(parent.pid)[:2] == (sys.executable, "-c")
    assert variables(parent.pid)["VLLM_USE_V1"] == "1"


def _cpu_s(pid: int) -> float:
    times = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[11:13]
    return sum(map(int, times)) / os.sysconf("SC_CLK_TCK")


def test_cpu_is_told_per_process_between_two_looks(parent: subprocess.Popen[bytes]) -> None:
    child = tree(parent.pid)[1].pid
    observer = Observer(parent.pid)
    before_s = _cpu_s(child)
    observer.look(0.0)
    # However busy the machine is: until the child has had a good stretch of a processor.
    deadline = time.monotonic() + 30
    while _cpu_s(child) - before_s < 0.3 and time.monotonic() < deadline:
        time.sleep(0.05)
    observer.look(1.0)
    first, second = observer.readings
    assert "cpu_cores" not in first.values["processes"][0]
    idle, busy = second.values["processes"]
    assert idle["cpu_cores"] < 0.1
    assert 0.25 < busy["cpu_cores"] <= _cpu_s(child) - before_s + 0.05
    assert second.values["memory_bytes"] > 1 << 20


def test_a_stopped_process_is_seen_as_stopped(parent: subprocess.Popen[bytes]) -> None:
    child = tree(parent.pid)[1].pid
    os.kill(child, signal.SIGSTOP)
    deadline = time.monotonic() + 5
    while (
        (found := process(child)) is not None and found.state != "T" and time.monotonic() < deadline
    ):
        time.sleep(0.01)
    observer = Observer(parent.pid)
    observer.look(time.time())
    os.kill(child, signal.SIGCONT)
    assert [entry["state"] for entry in observer.readings[0].values["processes"]][1] == "T"


@pytest.mark.parametrize(
    ("script", "expected"),
    [("raise SystemExit(3)", 3), ("import os; os.kill(os.getpid(), 9)", -9), ("", 0)],
)
def test_an_end_is_noticed_with_its_status(script: str, expected: int) -> None:
    ending = subprocess.Popen([sys.executable, "-c", f"import time; time.sleep(0.2)\n{script}"])
    observer = Observer(ending.pid)
    observer.look(1.0)
    deadline = time.monotonic() + 10
    while observer.ended_at is None and time.monotonic() < deadline:
        time.sleep(0.05)
        observer.look(2.0)
    ending.wait()
    assert (observer.ended_at, observer.exit_code) == (2.0, expected)


def test_a_process_that_is_gone_is_none() -> None:
    gone = subprocess.Popen([sys.executable, "-c", ""])
    gone.wait()
    assert process(gone.pid) is None
    assert tree(gone.pid) == []
    assert command_line(gone.pid) == ()
    assert variables(gone.pid) == {}


def _written(
    proc: Path,
    pid: int,
    command: str,
    *,
    short: str = "python3",
    state: str = "S",
    parent: int = 1,
    ticks: int = 0,
    born: int = 50,
) -> None:
    folder = proc / str(pid)
    folder.mkdir(parents=True, exist_ok=True)
    fields = [
        state,
        str(parent),
        *["0"] * 9,
        str(ticks),
        "0",
        *["0"] * 6,
        str(born),
        "0",
        "256",
        *["0"] * 27,
        "9",
    ]
    (folder / "stat").write_text(f"{pid} ({short}) {' '.join(fields)}\n")
    (folder / "cmdline").write_bytes(command.encode())


@pytest.mark.parametrize(
    ("command", "short", "expected"),
    [
        ("VLLM::EngineCore", "VLLM::EngineCor", "VLLM::EngineCore"),
        ("VLLM::Worker_TP0\0\0\0", "VLLM::Worker_TP", "VLLM::Worker_TP0"),
        (
            "/usr/bin/python3\0/usr/local/bin/vllm\0serve\0/models/secret\0--api-key\0abc",
            "vllm",
            "vllm serve",
        ),
        (
            "python3\0-u\0-m\0vllm.entrypoints.openai.api_server\0--model\0m",
            "python3",
            "vllm.entrypoints.openai.api_server",
        ),
        (
            "python3\0-c\0from multiprocessing.resource_tracker import main;main(5)",
            "python3",
            "multiprocessing.resource_tracker",
        ),
        (
            "python3\0-c\0from multiprocessing.spawn import spawn_main",
            "python3",
            "multiprocessing.spawn",
        ),
        ("python3\0-c\0password='x'", "python3", "python3"),
        ("", "kworker/0:1) x", "kworker/0:1) x"),
        ("/opt/x/nginx\0-g\0daemon off;", "nginx", "nginx"),
        ("python3", "python3", "python3"),
    ],
)
def test_a_process_has_the_name_a_person_gives_it_and_none_of_its_arguments(
    tmp_path: Path, command: str, short: str, expected: str
) -> None:
    _written(tmp_path, 10, command, short=short)
    found = process(10, tmp_path)
    assert found is not None
    assert found.name == expected


def test_a_retitled_process_has_no_command_line(tmp_path: Path) -> None:
    _written(tmp_path, 10, "VLLM::APIServer")
    assert command_line(10, tmp_path) == ()


def test_a_number_given_to_another_process_is_the_end_of_the_first(tmp_path: Path) -> None:
    _written(tmp_path, 10, "a", born=50)
    observer = Observer(10, tmp_path, tmp_path / "none")
    observer.look(1.0)
    _written(tmp_path, 10, "b", born=99)
    observer.look(2.0)
    assert (observer.ended_at, observer.exit_code, len(observer.readings)) == (2.0, None, 1)


def test_limits_and_throttling_come_from_the_control_group(tmp_path: Path) -> None:
    proc, group = tmp_path / "proc", tmp_path / "cgroup"
    (group / "pod").mkdir(parents=True)
    (group / "cgroup.controllers").write_text("cpu memory")
    (group / "pod" / "cpu.max").write_text("200000 100000")
    (group / "pod" / "memory.max").write_text(str(8 << 30))
    (group / "pod" / "memory.current").write_text(str(3 << 30))
    (group / "pod" / "memory.stat").write_text(f"inactive_file {1 << 30}\n")
    hertz = os.sysconf("SC_CLK_TCK")
    observer = Observer(10, proc, group)
    for at, usage_us, periods, throttled, ticks in (
        (100.0, 5_000_000, 1000, 10, 0),
        (110.0, 20_000_000, 1100, 60, 5 * hertz),
    ):
        _written(proc, 10, "VLLM::EngineCore", ticks=ticks)
        (proc / "10" / "cgroup").write_text("0::/pod\n")
        (group / "pod" / "cpu.stat").write_text(
            f"usage_usec {usage_us}\nnr_periods {periods}\nnr_throttled {throttled}\n"
        )
        observer.look(at)
    assert observer.readings[-1].values == {
        "cpu_usage_cores": 1.5,
        "cpu_limit_cores": 2.0,
        "cpu_throttled_ratio": 0.5,
        "memory_bytes": float(2 << 30),
        "memory_limit_bytes": float(8 << 30),
        "processes": [{"name": "VLLM::EngineCore", "pid": 10, "state": "S", "cpu_cores": 0.5}],
    }
    observer.forget_before(105.0)
    assert len(observer.readings) == 1
