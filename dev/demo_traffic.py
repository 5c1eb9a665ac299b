"""The demo's clients: requests at a rate that does not care for answers, each tried again until it
is answered; and the engine watched.

Who is told when to come back (Retry-After) comes back then.

    with Traffic(url, Shape(...)) as traffic, Watch(url, traffic.began_s) as watch:
        traffic.burst(2.0, for_s=3.0)
        ...
    traffic.answers, watch.samples

Times are seconds since the traffic began. Loopback only.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import random
import socket
import threading
import time
import urllib.request
from dataclasses import dataclass, field
from types import TracebackType
from typing import Self

from dev.load import FIRST_PLAIN_TOKEN, VOCABULARY, loopback

from barostat.engines.vllm.metrics import exposition

RETRY_S = 0.25
SAMPLED_EVERY_S = 0.5


@dataclass(frozen=True, slots=True)
class Shape:
    """What is asked for. Units: requests per second; tokens, inclusive bounds drawn evenly."""

    rate_per_s: float
    prompt_tokens: tuple[int, int]
    output_tokens: tuple[int, int]
    seed: int = 1


@dataclass(slots=True)
class Answer:
    """What became of one request. `sent_s`: its first try; `accepted_s`: the try that was answered.
    `stalls`: (instant, seconds since the one before) of every piece but the first.
    """

    sent_s: float
    output_tokens: int
    tries: int = 0
    first_s: float | None = None
    done_s: float | None = None
    stalls: list[tuple[float, float]] = field(default_factory=list)
    accepted_s: float | None = None

    def is_good(self, ttft_s: float, itl_s: float) -> bool:
        """The first token in time, counted from the first try, and the others at the pace that was
        promised, on average.
        """
        if self.first_s is None or self.done_s is None:
            return False
        return (
            self.first_s - self.sent_s <= ttft_s
            and (self.done_s - self.first_s) / max(1, self.output_tokens - 1) <= itl_s
        )


@dataclass(frozen=True, slots=True)
class Refusal:
    """A try that was answered with a no. `reason`: as the answer names it; `retry_after_s`: when to
    come back, None where none is said.
    """

    at_s: float
    status: int
    reason: str
    retry_after_s: float | None

    @property
    def is_clear(self) -> bool:
        """A status that means later, a reason, and when to come back."""
        return self.status in (429, 503) and bool(self.reason) and self.retry_after_s is not None


class Traffic:
    """Requests come until the block is left, in a thread of their own; `answers` and `refusals` can
    be read all the while.
    """

    def __init__(self, url: str, shape: Shape) -> None:
        """Nothing is sent yet. Errors: ValueError for an address that is not loopback."""
        self._host, self._port = loopback(url)
        self._shape = shape
        self._dice = random.Random(shape.seed)
        self._factor, self._factor_until_s = 1.0, 0.0
        self._ended = threading.Event()
        self._thread = threading.Thread(
            target=lambda: asyncio.run(self._run()), name="traffic", daemon=True
        )
        self.answers: list[Answer] = []
        self.refusals: list[Refusal] = []
        self.began_s = 0.0

    def now_s(self) -> float:
        """Seconds since the traffic began."""
        return time.monotonic() - self.began_s

    def burst(self, factor: float, for_s: float) -> None:
        """From now on so many times as many requests come, for a while."""
        self._factor, self._factor_until_s = factor, self.now_s() + for_s

    def __enter__(self) -> Self:
        """Requests come."""
        self.began_s = time.monotonic()
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """No request is under way."""
        self._ended.set()
        self._thread.join(10)

    async def _run(self) -> None:
        """Gaps between requests vary by 30 % either way: what happens is the burst's doing and not
        chance's.
        """
        due_s, under_way = 0.0, set[asyncio.Task[None]]()
        while not self._ended.is_set():
            if (wait_s := due_s - self.now_s()) > 0:
                await asyncio.sleep(min(0.1, wait_s))
                continue
            task = asyncio.create_task(self._until_answered(due_s))
            under_way.add(task)
            task.add_done_callback(under_way.discard)
            factor = self._factor if due_s < self._factor_until_s else 1.0
            due_s += self._dice.uniform(0.7, 1.3) / (self._shape.rate_per_s * factor)
        for task in under_way:
            task.cancel()

    async def _until_answered(self, sent_s: float) -> None:
        dice, shape = self._dice, self._shape
        prompt = dice.choices(
            range(FIRST_PLAIN_TOKEN, VOCABULARY), k=dice.randint(*shape.prompt_tokens)
        )
        answer = Answer(sent_s, dice.randint(*shape.output_tokens))
        asked = {
            "model": "tiny",
            "prompt": prompt,
            "max_tokens": answer.output_tokens,
            "ignore_eos": True,
            "stream": True,
        }
        body = json.dumps(asked).encode()
        head = (
            f"POST /v1/completions HTTP/1.1\r\nHost: {self._host}\r\nContent-Type: "
            "application/json\r\nConnection: close\r\n"
        )
        self.answers.append(answer)
        while True:
            answer.tries += 1
            again_s: float | None = RETRY_S
            with contextlib.suppress(OSError):
                again_s = await self._try(
                    f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body, answer
                )
            if again_s is None:
                return
            await asyncio.sleep(again_s)

    async def _try(self, request: bytes, answer: Answer) -> float | None:
        """None if the whole answer came, else when to try again. What came of one that was cut off
        does not count: it comes again.
        """
        loop = asyncio.get_running_loop()
        begun_s = self.now_s()
        first_s, last_s, tail, head = None, 0.0, b"", b""
        with socket.socket() as connection:
            connection.setblocking(False)
            await loop.sock_connect(connection, (self._host, self._port))
            await loop.sock_sendall(connection, request)
            while piece := await loop.sock_recv(connection, 65_536):
                tail = (tail + piece)[-2000:]
                head = head or piece
                if b"data: {" not in piece:
                    continue
                now_s = self.now_s()
                if first_s is None:
                    first_s = now_s
                else:
                    answer.stalls.append((now_s, now_s - last_s))
                last_s = now_s
        if b'"finish_reason":"length"' not in tail.replace(b": ", b":"):
            return self._refused(head.decode(errors="replace"))
        answer.accepted_s, answer.first_s, answer.done_s = begun_s, first_s, last_s
        return None

    def _refused(self, head: str) -> float:
        """When to try again; a no is kept."""
        status, fields = head[9:12], head.lower().partition("\r\n\r\n")[0]
        if not status.isdigit() or status == "200":
            return RETRY_S
        found = dict(line.split(": ", 1) for line in fields.split("\r\n")[1:] if ": " in line)
        told = found.get("retry-after", "")
        refusal = Refusal(
            self.now_s(),
            int(status),
            found.get("x-barostat-reason", ""),
            float(told) if told.isdigit() else None,
        )
        self.refusals.append(refusal)
        # Not all in the same moment, as client libraries do it.
        return (
            RETRY_S
            if refusal.retry_after_s is None
            else refusal.retry_after_s + self._dice.uniform(0.0, RETRY_S)
        )


@dataclass(frozen=True, slots=True)
class Sample:
    """What /metrics said at an instant. Counters as they stand."""

    at_s: float
    kv_usage_ratio: float
    running: float
    waiting: float
    preemptions: float


class Watch:
    """/metrics is read twice a second until the block is left; while nobody answers there is no
    sample.
    """

    def __init__(self, url: str, traffic: Traffic) -> None:
        """Nothing is read yet."""
        self._url, self._traffic = url, traffic
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, name="watch", daemon=True)
        self.samples: list[Sample] = []

    def __enter__(self) -> Self:
        """The first reading is on its way."""
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Nothing is read any more."""
        self._ended.set()
        self._thread.join(5)

    def _run(self) -> None:
        while not self._ended.wait(SAMPLED_EVERY_S):
            with (
                contextlib.suppress(OSError),
                urllib.request.urlopen(f"{self._url}/metrics", timeout=2) as page,
            ):
                self.samples.append(self._sample(page.read().decode()))

    def _sample(self, text: str) -> Sample:
        page = exposition.read(text)
        names = (
            "vllm:kv_cache_usage_perc",
            "vllm:num_requests_running",
            "vllm:num_requests_waiting",
            "vllm:num_preemptions_total",
        )
        usage, running, waiting, preemptions = (
            sum(sample.value for sample in page.named(name)) for name in names
        )
        return Sample(self._traffic.now_s(), usage, running, waiting, preemptions)
