"""Load on an engine that runs on this machine: many requests of a given shape, at little cost of
CPU.

    with Background(engine.url, Load(clients=48, prompt_tokens=(200, 400), output_tokens=(300,
    500))) as load:
        ...
    print(load.counts)

Closed loop (`clients`): that many requests are always under way. Open loop (`rate_per_s`): they
come whether or not earlier ones have been answered. Both can grow over `ramp_s`. The engine shares
its cores with this, so it speaks HTTP by hand over plain sockets and parses nothing but the status
and, for streams, the number of chunks. Loopback, and Services of our own cluster, only.

    python dev/load.py URL --clients 48 --prompt 200 400 --output 300 500 [--rate 5] [--ramp 20]
    [--for 30] [--stream]
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import errno
import ipaddress
import json
import random
import socket
import sys
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Self
from urllib.parse import urlsplit

VOCABULARY = 2048
FIRST_PLAIN_TOKEN = 2
"""Token ids below are special (begin, end)."""
_SERVICES = ipaddress.ip_network("198.19.0.0/24")
"""Services of our own cluster (dev/cluster/layout.py) live on this machine, too."""
_TEXT = (Path(__file__).parent / "tiny_model.py").read_text()


@dataclass(frozen=True, slots=True)
class Load:
    """What to send.

    Units: `prompt_tokens` and `output_tokens` are inclusive bounds, drawn evenly;
    `prompt_text_bytes` replaces token ids by that much text, which the API server has to tokenize;
    all of it but the end is the same in every request, so that the prefix cache spares the engine
    the work. `clients` or `rate_per_s`, not both. `ramp_s`: time over which clients join (less
    those that are there at once), or the rate grows from `rate_from_per_s`. `waves`: requests of
    each client, where it ends by itself. `prompt_logprobs`: asked for with each prompt, which takes
    memory that no start-up profiles. `models`: names that are asked for, one of them drawn for each
    request (adapters have names of their own). `rank`: the data-parallel rank that is asked for,
    whatever the engine's own balancing would choose.
    """

    prompt_tokens: tuple[int, int] = (200, 400)
    output_tokens: tuple[int, int] = (100, 200)
    clients: int = 0
    clients_at_once: int = 0
    rate_per_s: float = 0.0
    rate_from_per_s: float = 0.0
    ramp_s: float = 0.0
    think_s: float = 0.0
    prompt_text_bytes: int = 0
    stream: bool = False
    seed: int = 0
    most_in_flight: int = 600
    waves: int = 0
    prompt_logprobs: int | None = None
    models: tuple[str, ...] = ("tiny",)
    rank: int | None = None


@dataclass(slots=True)
class Counts:
    """What came of it. Times in seconds; `stall_s` is the longest gap within one stream, `tpot_s`
    the mean one between its tokens.
    """

    sent: int = 0
    answered: int = 0
    chunks: int = 0
    failed: dict[str, int] = field(default_factory=dict)
    ttft_s: list[float] = field(default_factory=list)
    stall_s: list[float] = field(default_factory=list)
    tpot_s: list[float] = field(default_factory=list)
    latency_s: list[float] = field(default_factory=list)

    def fail(self, why: str) -> None:
        """One more request failed for that reason."""
        self.failed[why] = self.failed.get(why, 0) + 1

    def summary(self) -> str:
        """One line for a person."""
        parts = [f"{self.sent} sent", f"{self.answered} answered"]
        parts += [f"{count} x {why}" for why, count in sorted(self.failed.items())]
        for name, values in (
            ("latency", self.latency_s),
            ("TTFT", self.ttft_s),
            ("longest stall", self.stall_s),
        ):
            if values:
                ordered = sorted(values)
                parts.append(
                    f"{name} p50 {ordered[len(ordered) // 2]:.2f} s, p99 "
                    f"{ordered[int(len(ordered) * 0.99)]:.2f} s"
                )
        return "; ".join(parts)


async def send(url: str, load: Load, for_s: float, counts: Counts) -> None:
    """The load has run for `for_s` (or until its clients have sent their waves, or it is
    cancelled); no request is left under way.
    """
    host, port = loopback(url)
    dice = random.Random(load.seed)
    until = time.monotonic() + for_s
    async with asyncio.TaskGroup() as group:
        under_way: set[asyncio.Task[None]] = set()

        def launch() -> None:
            task = group.create_task(_request(host, port, load, *_body(load, dice), counts))
            under_way.add(task)
            task.add_done_callback(under_way.discard)

        if load.clients:
            clients = [
                group.create_task(
                    _client(host, port, load, random.Random(dice.random()), index, until, counts)
                )
                for index in range(load.clients)
            ]
            under_way.update(clients)
        began = time.monotonic()
        while (now := time.monotonic()) < until:
            if load.clients:
                if all(client.done() for client in under_way):
                    break
                await asyncio.sleep(min(0.2, until - now))
                continue
            grown = 1.0 if load.ramp_s <= 0 else min(1.0, (now - began) / load.ramp_s)
            rate_per_s = load.rate_from_per_s + (load.rate_per_s - load.rate_from_per_s) * grown
            await asyncio.sleep(
                min(until - now, dice.expovariate(rate_per_s) if rate_per_s > 0.05 else 0.2)
            )
            if rate_per_s > 0.05 and len(under_way) < load.most_in_flight:
                launch()
        for task in list(under_way):
            task.cancel()


async def _client(
    host: str, port: int, load: Load, dice: random.Random, index: int, until: float, counts: Counts
) -> None:
    await asyncio.sleep(
        load.ramp_s
        * max(0, index - load.clients_at_once)
        / max(1, load.clients - load.clients_at_once)
    )
    sent = 0
    while time.monotonic() < until and (not load.waves or sent < load.waves):
        sent += 1
        await _request(host, port, load, *_body(load, dice), counts)
        if load.think_s:
            await asyncio.sleep(dice.expovariate(1 / load.think_s))


async def _request(
    host: str, port: int, load: Load, body: bytes, output_tokens: int, counts: Counts
) -> None:
    counts.sent += 1
    began = last = time.monotonic()
    longest = 0.0
    head = (
        f"POST /v1/completions HTTP/1.1\r\nHost: {host}:{port}\r\nContent-Type: "
        "application/json\r\n"
        f"Content-Length: {len(body)}\r\nConnection: close\r\n"
    )
    if load.rank is not None:
        head += f"X-data-parallel-rank: {load.rank}\r\n"
    loop = asyncio.get_running_loop()
    try:
        with socket.socket() as connection:
            connection.setblocking(False)
            await loop.sock_connect(connection, (host, port))
            await loop.sock_sendall(connection, head.encode() + b"\r\n" + body)
            piece = await loop.sock_recv(connection, 65_536)
            status = piece[:12].partition(b" ")[2]
            if status != b"200":
                counts.fail(f"status {status.decode() or 'none'}")
                await asyncio.sleep(0.2)
                return
            first_at = 0.0
            while piece:
                if load.stream and (events := piece.count(b"data: {")):
                    now = time.monotonic()
                    if not first_at:
                        counts.ttft_s.append(now - began)
                        first_at = now
                    else:
                        longest = max(longest, now - last)
                    last = now
                    counts.chunks += events
                piece = await loop.sock_recv(connection, 65_536)
        counts.answered += 1
        counts.latency_s.append(time.monotonic() - began)
        if load.stream:
            counts.stall_s.append(longest)
            if output_tokens > 1 and first_at:
                counts.tpot_s.append((last - first_at) / (output_tokens - 1))
    except OSError as error:
        counts.fail(
            type(error).__name__
            if type(error) is not OSError
            else errno.errorcode.get(error.errno or 0, str(error))
        )
        await asyncio.sleep(0.5)


def _body(load: Load, dice: random.Random) -> tuple[bytes, int]:
    """One request and the tokens of its answer, which has exactly the drawn length."""
    prompt: object
    if load.prompt_text_bytes:
        # The source of the tokenizer's vocabulary: several bytes a token, as in natural text.
        prompt = (_TEXT * (load.prompt_text_bytes // len(_TEXT) + 1))[
            : load.prompt_text_bytes
        ] + f" {dice.random()}"
    else:
        prompt = dice.choices(
            range(FIRST_PLAIN_TOKEN, VOCABULARY), k=dice.randint(*load.prompt_tokens)
        )
    output_tokens = dice.randint(*load.output_tokens)
    asked = {
        "model": dice.choice(load.models) if len(load.models) > 1 else load.models[0],
        "prompt": prompt,
        "max_tokens": output_tokens,
        "ignore_eos": True,
        "temperature": 0,
    }
    more = {} if load.prompt_logprobs is None else {"prompt_logprobs": load.prompt_logprobs}
    return json.dumps({**asked, **more, "stream": load.stream}).encode(), output_tokens


def loopback(url: str) -> tuple[str, int]:
    parts = urlsplit(url)
    here = parts.hostname and (
        ipaddress.ip_address(parts.hostname).is_loopback
        or ipaddress.ip_address(parts.hostname) in _SERVICES
    )
    if not parts.hostname or not here or not parts.port:
        raise ValueError(
            f"{url}: this load is only ever sent to this machine: give http://127.0.0.1:PORT"
        )
    return parts.hostname, parts.port


class Background:
    """The load runs in a thread until the block is left; `counts` can be read all the while."""

    def __init__(self, url: str, load: Load, for_s: float = 600.0) -> None:
        """Nothing is sent yet. Errors: ValueError for an address that is not loopback."""
        loopback(url)
        self.counts = Counts()
        self._url, self._load, self._for_s = url, load, for_s
        self._loop: asyncio.AbstractEventLoop | None = None
        self._task: asyncio.Task[None] | None = None
        self._started = threading.Event()
        self._thread = threading.Thread(target=self._run, name="load", daemon=True)

    def _run(self) -> None:
        async def body() -> None:
            self._loop = asyncio.get_running_loop()
            self._task = asyncio.current_task()
            self._started.set()
            await send(self._url, self._load, self._for_s, self.counts)

        with contextlib.suppress(asyncio.CancelledError):
            asyncio.run(body())

    def __enter__(self) -> Self:
        """The first requests are on their way."""
        self._thread.start()
        self._started.wait(10)
        return self

    def wait(self) -> None:
        """Its time is over, or its clients have sent their waves."""
        self._thread.join()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """No request is under way."""
        if self._loop is not None and self._task is not None:
            with contextlib.suppress(RuntimeError):
                self._loop.call_soon_threadsafe(self._task.cancel)
        self._thread.join(20)


def main(arguments: list[str]) -> int:
    """Send load by hand and print what came of it."""
    parser = argparse.ArgumentParser(description="Load on a vLLM of this machine.")
    parser.add_argument("url")
    parser.add_argument("--clients", type=int, default=0)
    parser.add_argument("--rate", type=float, default=0.0, metavar="PER_S")
    parser.add_argument("--ramp", type=float, default=0.0, metavar="S")
    parser.add_argument("--prompt", type=int, nargs=2, default=(200, 400), metavar="TOKENS")
    parser.add_argument("--output", type=int, nargs=2, default=(100, 200), metavar="TOKENS")
    parser.add_argument("--text", type=int, default=0, metavar="BYTES")
    parser.add_argument("--for", dest="for_s", type=float, default=30.0, metavar="S")
    parser.add_argument("--stream", action="store_true")
    parser.add_argument("--seed", type=int, default=0)
    chosen = parser.parse_args(arguments)
    if bool(chosen.clients) == bool(chosen.rate):
        parser.error("give --clients or --rate")
    load = Load(
        prompt_tokens=(chosen.prompt[0], chosen.prompt[1]),
        output_tokens=(chosen.output[0], chosen.output[1]),
        clients=chosen.clients,
        rate_per_s=chosen.rate,
        ramp_s=chosen.ramp,
        prompt_text_bytes=chosen.text,
        stream=chosen.stream,
        seed=chosen.seed,
    )
    counts = Counts()
    asyncio.run(send(chosen.url, load, chosen.for_s, counts))
    print(counts.summary())
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
