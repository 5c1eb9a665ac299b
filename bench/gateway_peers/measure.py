"""One measurement of one proxy: its processes on a core of their own, the load on another, the
processor time from /proc.
"""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from bench.gateway_peers.proxies import HERE, PEERS
from dev.debian import libraries

PROXY_CORE, LOAD_CORE = "0", "1"
_TICK_S = 1 / os.sysconf("SC_CLK_TCK")
_PAGE_BYTES = os.sysconf("SC_PAGESIZE")


def built(folder: Path) -> None:
    """The upstream and the load, compiled into folder."""
    for name in ("upstream", "client"):
        subprocess.run(["cc", "-O2", "-o", str(folder / name), str(HERE / f"{name}.c")], check=True)


def request(body: str, path: str = "/v1/chat/completions") -> str:
    """A whole HTTP request with this body."""
    head = (
        f"POST {path} HTTP/1.1\r\nhost: bench\r\nauthorization: Bearer none\r\ncontent-type: "
        "application/json\r\n"
    )
    return f"{head}content-length: {len(body)}\r\n\r\n{body}"


def chat(size_bytes: int, **more: object) -> str:
    """A chat request of about this many bytes, its messages filled with words."""

    def written(text: str) -> str:
        return json.dumps(
            {"model": "m", **more, "messages": [{"role": "user", "content": text}]},
            separators=(",", ":"),
        )

    words = "the quick brown fox jumps over the lazy dog " * (size_bytes // 44 + 1)
    return written(words[: max(0, size_bytes - len(written("")))])


@dataclass(frozen=True)
class Load:
    """What one run of a load saw. Latencies and gaps in ms; `cpu_us`: the proxy's processor time
    for each answer (or event).
    """

    per_s: float
    p50_ms: float
    p99_ms: float
    cpu_us: float
    failed: int


class Served:
    """Processes that were started on one core and listen on a port."""

    def __init__(
        self,
        command: Sequence[str],
        port: int,
        log: Path,
        core: str,
        environment: Mapping[str, str] | None = None,
    ) -> None:
        self.port = port
        self._log = log
        with log.open("ab") as told:
            pinned = ["taskset", "-c", core, *command]
            self.process = subprocess.Popen(
                pinned, stdout=told, stderr=told, env=environment, start_new_session=True
            )

    def wait(self, for_s: float) -> str | None:
        """None once it answers a request; else why it does not."""
        end = time.monotonic() + for_s
        while time.monotonic() < end:
            if self.process.poll() is not None:
                return f"ended with {self.process.returncode}: {self.last_words()}"
            with (
                suppress(OSError),
                socket.create_connection(("127.0.0.1", self.port), timeout=5) as line,
            ):
                line.sendall(request(chat(200)).encode())
                if line.recv(64).split(b" ")[1:2] == [b"200"]:
                    return None
            time.sleep(0.2)
        return f"did not answer within {for_s:.0f} s: {self.last_words()}"

    def last_words(self) -> str:
        """The last line that it logged."""
        lines = self._log.read_text(errors="replace").strip().splitlines()
        return lines[-1][:300] if lines else "it said nothing"

    def pids(self) -> list[int]:
        """The process and all that descend from it."""
        parents: dict[int, list[int]] = {}
        for entry in Path("/proc").iterdir():
            if entry.name.isdigit():
                with suppress(OSError):
                    parents.setdefault(int(_stat(int(entry.name))[1]), []).append(int(entry.name))
        found = [self.process.pid]
        for pid in found:
            found += parents.get(pid, [])
        return found

    def cpu_s(self) -> float:
        """Processor seconds of all of them so far."""
        spent = 0.0
        for pid in self.pids():
            with suppress(OSError):
                fields = _stat(pid)
                spent += (int(fields[11]) + int(fields[12])) * _TICK_S
        return spent

    def resident_mb(self) -> float:
        """Resident memory of all of them in 10^6 bytes."""
        pages = 0
        for pid in self.pids():
            with suppress(OSError):
                pages += int(Path(f"/proc/{pid}/statm").read_text().split()[1])
        return pages * _PAGE_BYTES / 1e6

    def signalled(self, number: signal.Signals) -> None:
        """Each of them has this signal."""
        for pid in self.pids():
            with suppress(ProcessLookupError):
                os.kill(pid, number)

    @contextmanager
    def awake(self) -> Iterator[None]:
        """Only while it is measured does it run: nobody else's timers are on its core."""
        self.signalled(signal.SIGCONT)
        time.sleep(0.1)
        try:
            yield
        finally:
            self.signalled(signal.SIGSTOP)

    def close(self) -> None:
        """None of them is left."""
        pids = self.pids()
        self.signalled(signal.SIGCONT)
        self.process.terminate()
        with suppress(subprocess.TimeoutExpired):
            self.process.wait(timeout=3)
        for pid in pids:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        self.process.wait()


def _stat(pid: int) -> list[str]:
    """The fields of /proc/PID/stat from the state on: [0] state, [1] parent, [11] and [12] ticks in
    user and system.
    """
    return Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2].split()


def wrk(served: Served, folder: Path, body: str, connections: int, seconds: float) -> Load:
    """As many requests as go through."""
    script = folder / f"post-{len(body)}.lua"
    headers = (
        'wrk.headers["content-type"] = "application/json"\nwrk.headers["authorization"] = '
        '"Bearer none"\n'
    )
    script.write_text(f'wrk.method = "POST"\n{headers}wrk.body = [==[{body}]==]\n')
    command = [
        str(PEERS / "usr" / "bin" / "wrk"),
        "-t1",
        f"-c{connections}",
        f"-d{seconds:.0f}s",
        "--timeout",
        "20s",
        "--latency",
    ]
    before = served.cpu_s()
    said = subprocess.run(
        ["taskset", "-c", LOAD_CORE, *command, "-s", str(script), f"http://127.0.0.1:{served.port}/v1/chat/completions"],
        capture_output=True, text=True, check=True, env={**os.environ, "LD_LIBRARY_PATH": libraries(PEERS)},
    ).stdout  # fmt: skip
    spent = served.cpu_s() - before
    answers = _number(r"(\d+) requests in", said)
    failed = _number(r"Non-2xx or 3xx responses: (\d+)", said) + sum(
        map(int, re.findall(r"(?:connect|read|write|timeout) (\d+)", said))
    )
    quantiles = {name: _milliseconds(said, name) for name in ("50%", "99%")}
    return Load(
        _number(r"Requests/sec:\s+([\d.]+)", said),
        quantiles["50%"],
        quantiles["99%"],
        1e6 * spent / max(1, answers),
        int(failed),
    )


def client(
    served: Served, folder: Path, mode: str, body: str, amount: float, seconds: float
) -> tuple[Load, float]:
    """The load of client.c, and the resident megabytes of the proxy shortly before its end."""
    asked = folder / f"{mode}-{os.getpid()}.http"
    asked.write_text(request(body))
    before = served.cpu_s()
    command = [
        "taskset",
        "-c",
        LOAD_CORE,
        str(folder / "client"),
        mode,
        str(served.port),
        str(asked),
        str(amount),
        str(seconds),
    ]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    with suppress(subprocess.TimeoutExpired):
        process.wait(timeout=seconds * 0.8)
    resident = served.resident_mb()
    said, _ = process.communicate(timeout=seconds + 60)
    told = json.loads(said)
    spent = served.cpu_s() - before
    count = told["events"] if mode == "streams" else told["answers"]
    paid_for = max(1, count + told["eventsBefore"])
    load = Load(
        count / told["seconds"],
        told["p50Ms"],
        told["p99Ms"],
        1e6 * spent / paid_for,
        told["refused"] + told["broken"],
    )
    return load, resident


def _number(pattern: str, text: str) -> float:
    found = re.search(pattern, text)
    return float(found[1]) if found else 0.0


def _milliseconds(text: str, quantile: str) -> float:
    found = re.search(rf"{re.escape(quantile)}\s+([\d.]+)(us|ms|s)\b", text)
    return float(found[1]) * {"us": 1e-3, "ms": 1.0, "s": 1e3}[found[2]] if found else float("nan")
