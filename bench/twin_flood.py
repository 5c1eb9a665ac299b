"""500 clients that do not behave, and a flood of hostile requests: what the twin's memory and its
/health come to meanwhile.

    python bench/twin_flood.py [--seconds 20] [--clients 500] [--flooders 16]

Clients, a quarter each: silent ones, ones that send their headers byte by byte, ones whose body
never ends, ones that ask for a stream and never read it. The flood repeats, without a pause: ten
million samples, as many as are allowed, 30 MiB and 1 MiB of JSON of costly kinds, headers without
an end, requests in one breath, numbers that are none. All over real sockets, from this process.

Prints one table and, last, one line of JSON. Memory is the proportional share (PSS) of the twin's
two processes together, the highest of a look every 50 ms; /health is asked every 20 ms, each time
on a connection of its own. So is a bare server in a process of its own, whose p99 is what the
machine, busy with this process too, takes by itself. `loopHeldMaxMs` is the most CPU time that the
twin's process worked in one turn of its loop. Exits 1 where memory is beyond 300 MB, the loop was
held for more than 50 ms, the median of /health is beyond 100 ms, or its p99 is, on a machine that
is quiet enough to tell: where the bare server's is below 25 ms.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import re
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Coroutine, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import psutil

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from dev.free_port import free_port
from dev.twin_engine import TwinEngine

FLAGS = ("--max-model-len", "4096", "--num-gpu-blocks-override", "64", "--max-num-seqs", "64")
LATENCY = "base=0.005,decode=0.0001,prefill=0.00001"
MEMORY_MB, HEALTH_MS, HELD_MS, QUIET_MS = 300.0, 100.0, 50.0, 25.0
_BIG = 30 << 20
_SHAPES: dict[str, bytes] = {
    "lists": b"[],",
    "objects": b'{"a":1},',
    "numbers": b"51234,",
    "floats": b"1e5,",
    "texts": b'"x",',
}


@dataclass
class Flood:
    """What came of it. `statuses`: how each kind of request was answered (0: not at all); `bare_s`:
    the bare server's /health.

    Units: seconds, bytes.
    """

    bare_s: list[float] = field(default_factory=list)
    health_s: list[float] = field(default_factory=list)
    peak_bytes: int = 0
    idle_bytes: int = 0
    statuses: dict[str, Counter[int]] = field(default_factory=dict)

    def health_ms(self, share: float) -> float:
        """That quantile of /health."""
        return _ms(self.health_s, share)


def _ms(values_s: list[float], share: float) -> float:
    found = sorted(values_s)
    return 1e3 * found[min(len(found) - 1, int(share * len(found)))] if found else float("inf")


class WatchedTwin(TwinEngine):
    """A twin that notes how long its loop is held."""

    @property
    def command(self) -> list[str]:
        """The command line: the same, through this file."""
        return [
            sys.executable,
            str(Path(__file__).resolve()),
            "--inside",
            str(self.folder / "held"),
            *super().command[1:],
        ]

    def held_s(self) -> float:
        """The most CPU time of its process in one turn of the loop."""
        return float((self.folder / "held").read_text())


def _inside(path: Path, arguments: list[str]) -> int:
    """`barostat`, whose loop notes each turn that was longer than those before."""
    from barostat.shells.cli.main import main as barostat

    turn, longest_s = asyncio.Handle._run, 0.0

    def watched(self: asyncio.Handle) -> None:
        nonlocal longest_s
        began_s, worked_s = time.monotonic(), time.process_time()
        turn(self)
        if (held_s := min(time.monotonic() - began_s, time.process_time() - worked_s)) > longest_s:
            longest_s = held_s
            path.write_text(str(held_s))

    asyncio.Handle._run = watched  # type: ignore[method-assign]
    return barostat(arguments)


async def _bare(port: int) -> None:
    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\nconnection: close\r\n\r\n")
        writer.close()

    await (await asyncio.start_server(answer, "127.0.0.1", port)).serve_forever()


@contextlib.contextmanager
def bare_server() -> Iterator[int]:
    """A server that does nothing but answer, in a process of its own, and its port."""
    port = free_port()
    process = subprocess.Popen([sys.executable, str(Path(__file__).resolve()), "--bare", str(port)])
    try:
        yield port
    finally:
        process.terminate()
        process.wait()


def request(body: bytes, *, path: str = "/v1/completions", length: int | None = None) -> bytes:
    """A request with that body; `length`: the length that it states."""
    stated = len(body) if length is None else length
    head = (
        f"POST {path} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: "
        f"{stated}\r\n\r\n"
    )
    return head.encode() + body


def completion(**body: object) -> bytes:
    """A request for a completion."""
    return request(json.dumps({"model": "tiny", "prompt": "x", "max_tokens": 4, **body}).encode())


def hostile() -> dict[str, bytes]:
    """The requests of the flood."""
    found: dict[str, bytes] = {
        "ten million samples": completion(n=10_000_000),
        "all samples that are allowed": completion(n=16_384, stream=True, prompt=[7] * 2000),
        "samples of many prompts": completion(prompt=["x"] * 4096, n=4),
        "a number that is none": completion(max_tokens="\u00b2"),
        "half a surrogate pair": request(b'{"model":"tiny","prompt":"\\ud800"}'),
        "too deep": request(b"[" * 100_000),
        "headers without an end": b"GET /health HTTP/1.1\r\nX: " + b"x" * (4 << 20),
        "requests in one breath": b"GET /version HTTP/1.1\r\n\r\n" * 20_000,
    }
    for name, piece in _SHAPES.items():
        found[f"30 MiB of {name}"] = request(b'{"prompt":[' + piece * (_BIG // len(piece)) + b"1]}")
        found[f"1 MiB of {name}"] = request(
            b'{"model":"tiny","prompt":[' + piece * ((1 << 20) // len(piece)) + b"1]}"
        )
    found["tokens of a long text"] = request(
        json.dumps({"prompt": "ab " * (5 << 20)}).encode(), path="/tokenize"
    )
    found["text of many tokens"] = request(
        json.dumps({"tokens": [5] * (4 << 20)}).encode(), path="/detokenize"
    )
    return found


async def measured(
    engine: TwinEngine, *, clients: int, flooders: int, seconds: float, bare: int = 0
) -> Flood:
    """The flood, for so long. `bare`: the port of a bare server to ask beside it."""
    flood = Flood()
    processes = [psutil.Process(engine.pid), *psutil.Process(engine.pid).children()]
    flood.idle_bytes = _memory(processes)
    sent = list(hostile().items())
    until_s = time.monotonic() + seconds
    kinds: list[Callable[[int], Coroutine[None, None, None]]] = [
        _silent,
        _slow_headers,
        _slow_body,
        _never_reads,
    ]
    held = [
        asyncio.create_task(kinds[number % len(kinds)](engine.port)) for number in range(clients)
    ]
    await asyncio.sleep(0.5)
    floods = [
        asyncio.create_task(_flooder(engine.port, number, sent, flood, until_s))
        for number in range(flooders)
    ]
    watch = asyncio.create_task(_watch(processes, flood))
    asked = [_asked(engine.port, flood.health_s, until_s)] + (
        [_asked(bare, flood.bare_s, until_s)] if bare else []
    )
    await asyncio.gather(*asked)
    for task in (*held, *floods, watch):
        task.cancel()
    await asyncio.gather(*held, *floods, watch, return_exceptions=True)
    return flood


def _memory(processes: list[psutil.Process]) -> int:
    return sum(process.memory_full_info().pss for process in processes if process.is_running())


async def _watch(processes: list[psutil.Process], flood: Flood) -> None:
    while True:
        with contextlib.suppress(psutil.Error):
            flood.peak_bytes = max(flood.peak_bytes, await asyncio.to_thread(_memory, processes))
        await asyncio.sleep(0.05)


async def _asked(port: int, found_s: list[float], until_s: float) -> None:
    while time.monotonic() < until_s:
        began = time.monotonic()
        answered = (
            await _answered(port, b"GET /health HTTP/1.1\r\nConnection: close\r\n\r\n", 10.0) == 200
        )
        found_s.append(time.monotonic() - began if answered else 10.0)
        await asyncio.sleep(0.02)


async def _flooder(
    port: int, number: int, kinds: list[tuple[str, bytes]], flood: Flood, until_s: float
) -> None:
    place = number
    while time.monotonic() < until_s:
        name, data = kinds[place % len(kinds)]
        place += 1
        flood.statuses.setdefault(name, Counter())[await _answered(port, data, 5.0)] += 1


async def _answered(port: int, data: bytes, within_s: float) -> int:
    """The status of the first answer; 0 where none came."""
    writer = None
    with contextlib.suppress(
        OSError, TimeoutError, asyncio.IncompleteReadError, asyncio.LimitOverrunError
    ):
        async with asyncio.timeout(within_s):
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            sending = asyncio.ensure_future(_sent(writer, data))
            try:
                match = re.match(rb"HTTP/1.1 (\d+)", await reader.readuntil(b"\r\n"))
            finally:
                sending.cancel()
            return int(match[1]) if match is not None else 0
    if writer is not None:
        writer.transport.abort()
    return 0


async def _sent(writer: asyncio.StreamWriter, data: bytes) -> None:
    with contextlib.suppress(OSError):
        for start in range(0, len(data), 1 << 18):
            writer.write(data[start : start + (1 << 18)])
            await writer.drain()


async def _silent(port: int) -> None:
    await _held(port, b"", b"", 0)


async def _slow_headers(port: int) -> None:
    await _held(port, b"POST /v1/completions HTTP/1.1\r\n", b"X", 0.5)


async def _slow_body(port: int) -> None:
    await _held(port, request(b"", length=8 << 20), b" " * 64, 0.5)


async def _never_reads(port: int) -> None:
    await _held(port, completion(stream=True, max_tokens=3000, ignore_eos=True), b"", 0)


async def _held(port: int, first: bytes, then: bytes, every_s: float) -> None:
    """A connection that goes on so; it is made again where it is ended."""
    while True:
        with contextlib.suppress(OSError):
            _, writer = await asyncio.open_connection("127.0.0.1", port, limit=1 << 10)
            writer.write(first)
            while not writer.transport.is_closing():
                if then:
                    writer.write(then)
                await asyncio.sleep(every_s or 1.0)
        await asyncio.sleep(0.5)


def main(arguments: list[str] | None = None) -> int:
    """The flood is let loose on a twin of its own."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seconds", type=float, default=20.0)
    parser.add_argument("--clients", type=int, default=500)
    parser.add_argument("--flooders", type=int, default=16)
    options = parser.parse_args(arguments)
    with WatchedTwin(*FLAGS, latency=LATENCY) as engine, bare_server() as bare:
        engine.wait_ready(within_s=30)
        flood = asyncio.run(
            measured(
                engine,
                clients=options.clients,
                flooders=options.flooders,
                seconds=options.seconds,
                bare=bare,
            )
        )
        held_s = engine.held_s()
    for name, counted in sorted(flood.statuses.items()):
        print(
            f"{name:32}"
            + "  ".join(f"{status or 'none'}: {count}" for status, count in sorted(counted.items()))
        )
    found = {
        "memoryIdleMB": round(flood.idle_bytes / 1e6, 1),
        "memoryPeakMB": round(flood.peak_bytes / 1e6, 1),
        "healthP50Ms": round(flood.health_ms(0.5), 1),
        "healthP99Ms": round(flood.health_ms(0.99), 1),
        "healthMaxMs": round(flood.health_ms(1.0), 1),
        "loopHeldMaxMs": round(1e3 * held_s, 1),
        "bareP99Ms": round(_ms(flood.bare_s, 0.99), 1),
        "healthAsked": len(flood.health_s),
        "requests": sum(sum(counted.values()) for counted in flood.statuses.values()),
    }
    print(json.dumps(found))
    judged_ms = found["healthP99Ms" if found["bareP99Ms"] < QUIET_MS else "healthP50Ms"]
    return int(
        found["memoryPeakMB"] > MEMORY_MB
        or found["loopHeldMaxMs"] > HELD_MS
        or judged_ms > HEALTH_MS
    )


if __name__ == "__main__":
    if sys.argv[1:2] == ["--inside"]:
        raise SystemExit(_inside(Path(sys.argv[2]), sys.argv[3:]))
    if sys.argv[1:2] == ["--bare"]:
        asyncio.run(_bare(int(sys.argv[2])))
    raise SystemExit(main())
