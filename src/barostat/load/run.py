"""One run of the load: sends every request when it is due and measures its stream."""

from __future__ import annotations

import asyncio
import resource
import signal
import time
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import cycle

import httpx

from barostat.gateway.watching.engine_page import read_page
from barostat.io.engine_http.http import Answer, ask, client
from barostat.judge.load_test.figures import Collected, Reading, Sent
from barostat.judge.load_test.traffic import Traffic
from barostat.load.connection import Connections
from barostat.load.prompts import Prompts
from barostat.load.stream import Stream
from barostat.load.target import Target
from barostat.twin.request import Row

_LAG_EVERY_S = 0.05
_LOOK_EVERY_S = 0.5
_WARM_UP_S = 0.1
_FILES_BESIDE = 64


@dataclass(frozen=True, slots=True)
class RunBounds:
    """`for_s`: nothing is sent later. None: as long as the rows last. `drain_s`: how long the rest
    may take when all is sent. `silent_s`: an engine of which nothing came for so long, while
    requests are under way, hangs.
    """

    for_s: float | None = None
    drain_s: float = 60.0
    silent_s: float = 300.0


class Run:
    """Mutable; used once. `progress`: called about once a second with the numbers of requests sent,
    ended and in flight.
    """

    def __init__(
        self,
        target: Target,
        traffic: Traffic,
        bounds: RunBounds,
        prompts: Prompts,
        progress: Callable[[int, int, int], None] | None = None,
    ) -> None:
        """Nothing is sent yet."""
        self._target, self._traffic, self._bounds, self._prompts = target, traffic, bounds, prompts
        self._progress = progress
        self._kept = Collected()
        self._head = target.head()
        self._connections = Connections(target.where.host, target.where.port, target.secure())
        self._under_way: dict[Stream, Row] = {}
        self._due: deque[Row] = deque(row for row in traffic.rows if row.after_id is None)
        self._after: dict[str, list[Row]] = {}
        for row in traffic.rows:
            if row.after_id is not None:
                self._after.setdefault(row.after_id, []).append(row)
        self._pending = 0
        self._heard_s = 0.0
        self._over = False
        self._drain: asyncio.TimerHandle | None = None
        self._zero = 0.0
        self._finished: asyncio.Event
        self._loop: asyncio.AbstractEventLoop

    async def go(self) -> Collected:
        """The run, to its end, to its time, or to Ctrl-C; nothing is open afterwards."""
        _enough_files(self._traffic)
        loop = self._loop = asyncio.get_running_loop()
        self._finished = asyncio.Event()
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(number, self._interrupt)
        self._zero = time.perf_counter() + _WARM_UP_S
        watching = [loop.create_task(self._lag()), loop.create_task(self._looks())]
        try:
            await asyncio.sleep(_WARM_UP_S)
            cpu_s, self._zero = time.process_time(), time.perf_counter()
            if self._bounds.for_s is not None:
                loop.call_later(self._bounds.for_s, self._close_door)
            self._begin()
            await self._finished.wait()
            self._kept.cpu_s, self._kept.duration_s = time.process_time() - cpu_s, self._now()
        finally:
            for task in watching:
                task.cancel()
            self._connections.close()
            if not self._kept.interrupted:
                async with client(self._target.where, self._target.key) as session:
                    await self._look(session)
            for number in (signal.SIGINT, signal.SIGTERM):
                loop.remove_signal_handler(number)
            await asyncio.gather(*watching, return_exceptions=True)
        return self._kept

    def _now(self) -> float:
        return time.perf_counter() - self._zero

    # -- sending

    def _begin(self) -> None:
        if self._traffic.clients:
            self._clients = self._over_and_over()
            for _ in range(self._traffic.clients):
                self._next_of_client()
            self._ended_all()
        else:
            self._send_due()

    def _over_and_over(self) -> Iterator[Row]:
        """Repeat the rows endlessly if the run has a time limit; otherwise yield them once."""
        return (
            cycle(self._traffic.rows)
            if self._bounds.for_s is not None
            else iter(self._traffic.rows)
        )

    def _next_of_client(self) -> None:
        row = next(self._clients, None)
        if row is not None and not self._over:
            self._send(row, self._now())

    def _send_due(self) -> None:
        """Everything whose time has come is sent; the next one has a timer."""
        due = self._due
        while due and not self._over:
            wait_s = due[0].arrival_s - self._now()
            if wait_s > 0:
                self._loop.call_later(wait_s, self._send_due)
                return
            row = due.popleft()
            self._send(row, row.arrival_s)
        self._ended_all()

    def _send(self, row: Row, due_s: float) -> None:
        kept = self._kept
        number = len(kept.sent)
        body = self._target.body(self._prompts.of(row, number), row.output_tokens, row.priority)
        record = Sent(due_s, self._now(), row.input_tokens, row.output_tokens)
        kept.sent.append(record)
        stream = Stream(
            b"%b%d\r\n\r\n%b" % (self._head, len(body), body),
            record,
            kept.gaps,
            self._zero,
            self._ended,
        )
        self._under_way[stream] = row
        kept.peak = max(kept.peak, len(self._under_way))
        self._connections.send(stream)

    def _ended(self, stream: Stream) -> None:
        row = self._under_way.pop(stream, None)
        self._heard_s = self._now()
        stream.request = b""
        if row is None:
            return
        if self._traffic.clients:
            # After a refusal or a failure a client that asks again at once would be a storm of its
            # own.
            wait_s = 0.0 if stream.record.fate == "ok" else 0.5
            self._pending += 1
            self._loop.call_later(wait_s, self._client_goes_on)
            return
        for following in self._after.get(row.request_id, ()):
            if self._now() + following.arrival_s <= following.latest_s:
                self._pending += 1
                self._loop.call_later(
                    following.arrival_s, self._follow, following, self._now() + following.arrival_s
                )
        self._ended_all()

    def _client_goes_on(self) -> None:
        self._pending -= 1
        self._next_of_client()
        self._ended_all()

    def _follow(self, row: Row, due_s: float) -> None:
        self._pending -= 1
        if not self._over:
            self._send(row, due_s)
        self._ended_all()

    # -- the end

    def _ended_all(self) -> None:
        """Over where no more is sent and nothing is under way; what is has its time from the
        instant on at which no more is sent.
        """
        if self._drain is None and not self._over and not self._sent_all():
            return
        if not self._under_way:
            self._finished.set()
        elif self._drain is None:
            self._drain = self._loop.call_later(self._bounds.drain_s, self._finished.set)

    def _sent_all(self) -> bool:
        """True if no row is left and no running request will be followed by another."""
        if self._traffic.clients:
            return self._bounds.for_s is None and len(self._kept.sent) >= len(self._traffic.rows)
        return (
            not self._due
            and not self._pending
            and not (
                self._after
                and any(row.request_id in self._after for row in self._under_way.values())
            )
        )

    def _close_door(self) -> None:
        self._over = True
        self._ended_all()

    def _give_up_on_silence(self) -> None:
        """After too long a silence, stop sending and mark the running requests as failed."""
        under_way = list(self._under_way)
        heard_s = max(
            (
                self._heard_s,
                *(max(stream.record.sent_s, stream.record.last_s) for stream in under_way),
            )
        )
        if not under_way or self._now() - heard_s < self._bounds.silent_s:
            return
        self._over = True
        for stream in under_way:
            stream.failed(
                f"the engine sent nothing for {self._bounds.silent_s:g} s", time.perf_counter()
            )
        self._finished.set()

    def _interrupt(self) -> None:
        self._over = True
        self._kept.interrupted = True
        self._finished.set()

    # -- looking

    async def _lag(self) -> None:
        """Sample event-loop lag."""
        while True:
            meant = time.perf_counter() + _LAG_EVERY_S
            await asyncio.sleep(_LAG_EVERY_S)
            self._kept.lags_s.append(max(0.0, time.perf_counter() - meant))

    async def _looks(self) -> None:
        """The engine's own figures, as long as it shows them."""
        async with client(self._target.where, self._target.key) as session:
            while True:
                await self._look(session)
                self._give_up_on_silence()
                if self._progress is not None:
                    sent = len(self._kept.sent)
                    self._progress(sent, sent - len(self._under_way), len(self._under_way))
                await asyncio.sleep(_LOOK_EVERY_S)

    async def _look(self, session: httpx.AsyncClient) -> None:
        if not self._target.shows_metrics:
            return
        answer = await ask(session, self._target.where.at("/metrics"), within_s=5.0)
        page = (
            read_page(answer.body) if isinstance(answer, Answer) and answer.status == 200 else None
        )
        if page is not None:
            self._kept.readings.append(
                Reading(self._now(), page.usage_ratio, page.running, page.waiting, page.preemptions)
            )


def _enough_files(traffic: Traffic) -> None:
    """As many descriptors as the system gives: each stream has one."""
    now, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = max(now, min(65_536, len(traffic.rows) + traffic.clients) + _FILES_BESIDE)
    resource.setrlimit(
        resource.RLIMIT_NOFILE,
        (wanted if most == resource.RLIM_INFINITY else min(wanted, most), most),
    )
