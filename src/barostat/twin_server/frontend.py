"""The API server's side of the engine: requests on their way, what comes back for them, and what is
counted of it.

Counted as vLLM counts: times to first token from arrival here; preemptions, prompt tokens and
everything else with the output that tells of them; what was aborted is not counted at all.

Source: vLLM 0.32.0, AsyncLLM, OutputProcessor, IterationStats.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import socket
import time
from dataclasses import dataclass
from typing import Any

from barostat.engines.vllm.served_stats import FinishedStats, IterationStats, SchedulerStats
from barostat.twin.workload.words import Answer, digest_of, spelled
from barostat.twin_server.serving import Serving
from barostat.twin_server.telemetry import Telemetry

_AT_ONCE = 128
"""Sequences that are processed before yielding to others."""
_ABORTED_AT_ONCE = 1024
DEAD = "engine-dead"
"""Finish reason of a sequence whose engine core died."""


@dataclass(frozen=True, slots=True)
class WantedSequence:
    """Resolved parameters of a request. `max_tokens`: the limit in force; `ignore_eos`: the answer
    never ends by itself; `pooled`: a vector is wanted and no token, so it ends with its prompt.
    """

    max_tokens: int
    min_tokens: int = 0
    ignore_eos: bool = False
    n: int = 1
    priority: int = 0
    pooled: bool = False


class Prompt:
    """Token ids, with how they are spelled and the name of that: built once, outside the request
    path.
    """

    __slots__ = ("digest", "spelled", "tokens")

    def __init__(self, tokens: list[int]) -> None:
        self.tokens = tokens
        self.spelled = spelled(tokens)
        self.digest = digest_of(self.spelled)


@dataclass(slots=True)
class _Group:
    """The n that were asked for together."""

    prompt: list[int]
    digest: str
    wanted: WantedSequence
    arrival_s: float
    left: int
    longest_tokens: int = 0


class Running:
    """A running sequence. Mutable; `arrived` returns the output since the last call.

    There may be tens of thousands of waiting requests, so text and waiters are created lazily.
    """

    __slots__ = (
        "_answer", "_event", "_taken", "cached_tokens", "choice", "finish_reason", "first_ns", "group", "last_ns", "preemptions",
        "queued_ns", "request_id", "scheduled_ns", "serving", "tokens",
    )  # fmt: skip

    def __init__(self, request_id: str, choice: int, group: _Group, serving: Serving) -> None:
        self.request_id = request_id
        self.choice = choice
        self.group = group
        self.serving = serving
        self.tokens = 0
        self.cached_tokens = 0
        self.finish_reason: str | None = None
        self.preemptions = 0
        self.queued_ns = self.scheduled_ns = self.first_ns = self.last_ns = 0
        self._taken = 0
        self._answer: Answer | None = None
        self._event: asyncio.Event | None = None

    @property
    def prompt(self) -> list[int]:
        """Token ids of the prompt."""
        return self.group.prompt

    @property
    def prompt_tokens(self) -> int:
        """Number of tokens in the prompt."""
        return len(self.group.prompt)

    async def arrived(self) -> tuple[list[int], str | None]:
        """The tokens that have come since, and how it ended if it did (DEAD: with the engine).
        Several come at once to a slow reader.
        """
        while self._taken == self.tokens and self.finish_reason is None:
            self._event = asyncio.Event()
            await self._event.wait()
        answer = self._answer = self._answer or Answer(
            self.serving.seed, self.group.digest, self.choice, self.serving.vocabulary
        )
        found = [answer.token(index) for index in range(self._taken, self.tokens)]
        self._taken = self.tokens
        return found, self.finish_reason

    async def whole(self) -> tuple[list[int], str]:
        """Wait for all remaining tokens; return them with the finish reason."""
        tokens, reason = await self.arrived()
        while reason is None:
            new, reason = await self.arrived()
            tokens += new
        return tokens, reason

    def wake(self) -> None:
        """Wake all waiters."""
        if self._event is not None:
            self._event.set()


class Frontend:
    """Everything that is under way in one engine. Mutable."""

    def __init__(self, serving: Serving, core_pid: int, telemetry: Telemetry) -> None:
        self.serving = serving
        self.core_pid = core_pid
        self.telemetry = telemetry
        self.dead = asyncio.Event()
        self.told_of_death = asyncio.Event()
        self.stopping = False
        self._requests: dict[str, Running] = {}
        self._idle = asyncio.Event()
        self._idle.set()
        self._writer: asyncio.StreamWriter | None = None
        self._prefill_tokens = 0

    @property
    def in_flight(self) -> int:
        """Sequences that run or wait."""
        return len(self._requests)

    async def connect(self, connection: socket.socket) -> asyncio.Task[None]:
        """The core is listened to by the task that is given back."""
        reader, self._writer = await asyncio.open_connection(sock=connection, limit=1 << 26)
        return asyncio.get_running_loop().create_task(self._listen(reader))

    def tell(self, message: dict[str, Any]) -> None:
        """The core is sent that message."""
        self._send(json.dumps(message, separators=(",", ":")) + "\n")

    def _send(self, line: str) -> None:
        if self._writer is not None and not self._writer.is_closing():
            self._writer.write(line.encode())

    def check_admission(self, n: int) -> str:
        """The queue limit that keeps n more out, and it is counted; "" where they may come in."""
        settings = self.serving.settings
        limit = ""
        if (
            settings.max_queued_requests is not None
            and self.in_flight + n > settings.max_queued_requests
        ):
            limit = "max_num_queued_reqs"
        elif (
            settings.max_queued_tokens is not None
            and self._prefill_tokens >= settings.max_queued_tokens
        ):
            limit = "max_num_queued_tokens"
        if limit:
            self.telemetry.metrics.rejected(limit)
        return limit

    async def submit(
        self,
        request_id: str,
        prompt: Prompt,
        wanted: WantedSequence,
        arrival_s: float,
        under_way: list[Running],
    ) -> None:
        """The n sequences of that prompt are under way, and among those. `arrival_s`: when the
        request came in, before it was tokenized.

        As many choices are dealt with as others can wait for; the core has the prompt with the
        first of them.
        """
        group = _Group(prompt.tokens, prompt.digest, wanted, arrival_s, wanted.n)
        for first in range(0, wanted.n, _AT_ONCE):
            if first:
                try:
                    await asyncio.sleep(0)
                except (
                    asyncio.CancelledError
                ):  # no further part comes, for which the core keeps the prompt
                    self.tell({"left": request_id})
                    raise
            under_way += self._submitted(
                request_id,
                "" if first else prompt.spelled,
                group,
                range(first, min(wanted.n, first + _AT_ONCE)),
            )

    def _submitted(
        self, request_id: str, spelled: str, group: _Group, choices: range
    ) -> list[Running]:
        serving, wanted = self.serving, group.wanted
        found: list[Running] = []
        lengths: list[int] = []
        for choice in choices:
            drawn = (
                None
                if wanted.ignore_eos or wanted.pooled
                else serving.lengths.drawn(serving.seed, group.digest, choice)
            )
            length = (
                wanted.max_tokens
                if drawn is None
                else min(wanted.max_tokens, max(drawn, wanted.min_tokens))
            )
            one = Running(f"{request_id}-{choice}", choice, group, serving)
            found.append(one)
            if self.stopping:  # nobody steps any more for what comes now
                one.finish_reason = "abort"
                continue
            self._requests[one.request_id] = one
            self._prefill_tokens += one.prompt_tokens
            self._idle.clear()
            lengths.append(length)
        if lengths:
            more = choices.stop < wanted.n
            about = [
                request_id,
                lengths,
                choices.start,
                more,
                group.digest,
                wanted.priority,
                group.arrival_s,
            ]
            self._send(f'{{"add":{json.dumps(about)},"prompt":[{spelled}]}}\n')
        return found

    def abort(self, sequences: list[Running]) -> None:
        """Abort unfinished sequences; they are not counted. Process many in batches, yielding in
        between.
        """
        gone = [
            one.request_id
            for one in sequences[:_ABORTED_AT_ONCE]
            if self._forget(one.request_id) is not None
        ]
        if gone:
            self.tell({"abort": gone})
        if left := sequences[_ABORTED_AT_ONCE:]:
            asyncio.get_running_loop().call_soon(self.abort, left)

    def _forget(self, request_id: str) -> Running | None:
        one = self._requests.pop(request_id, None)
        if one is not None and not one.first_ns:
            self._prefill_tokens -= one.prompt_tokens
        if not self._requests:
            self._idle.set()
        return one

    async def drained(self, timeout_s: float) -> None:
        """Nothing is under way, or the time is up."""
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._idle.wait(), timeout_s)

    def abort_all(self) -> None:
        """Everything under way ends as aborted, and is counted so."""
        batch = IterationStats()
        now_s = time.monotonic()
        for request_id in list(self._requests):
            one = self._forget(request_id)
            if one is not None:
                one.finish_reason = "abort"
                batch.finished.append(self._finished(one, now_s))
                one.wake()
        if batch.finished:
            self.telemetry.iteration(batch)

    async def _listen(self, reader: asyncio.StreamReader) -> None:
        with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError):
            while text := await reader.readline():
                self._take(json.loads(text))
                await asyncio.sleep(
                    0
                )  # lines that are there already are read without a pause: others have their turn
        if self.stopping:
            return
        self.dead.set()
        for one in list(self._requests.values()):
            one.finish_reason = DEAD
            one.wake()

    def _take(self, message: dict[str, Any]) -> None:
        self.telemetry.scheduler(SchedulerStats(*message["stats"]))
        if not message["outputs"]:
            return
        batch, now_s = IterationStats(), time.monotonic()
        for request_id, finished, preemptions, first in message["outputs"]:
            one = self._requests.get(request_id)
            if one is not None:
                self._output(one, finished, preemptions, first, message["at"], now_s, batch)
        self.telemetry.iteration(batch)

    def _output(
        self,
        one: Running,
        finished: bool,
        preemptions: int,
        first: list[int] | None,
        at_ns: int,
        now_s: float,
        batch: IterationStats,
    ) -> None:
        pooled = one.group.wanted.pooled
        batch.generation_tokens += not pooled
        batch.preemptions += preemptions
        one.preemptions += preemptions
        if first is not None:
            one.queued_ns, one.scheduled_ns, one.cached_tokens = first
            one.first_ns = at_ns
            self._prefill_tokens -= one.prompt_tokens
            batch.prompt_tokens += one.prompt_tokens
            batch.cached_tokens += one.cached_tokens
            batch.ttft_s.append(now_s - one.group.arrival_s)
        else:
            batch.itl_s.append((at_ns - one.last_ns) / 1e9)
        one.last_ns = at_ns
        one.tokens += not pooled
        if finished:
            full = not pooled and one.tokens >= one.group.wanted.max_tokens
            one.finish_reason = "length" if full else "stop"
            self._forget(one.request_id)
            batch.finished.append(self._finished(one, now_s))
        one.wake()

    def _finished(self, one: Running, now_s: float) -> FinishedStats:
        group = one.group
        group.left -= 1
        group.longest_tokens = max(group.longest_tokens, one.tokens)
        return FinishedStats(
            reason=one.finish_reason or "abort",
            e2e_s=now_s - group.arrival_s,
            queue_s=(one.scheduled_ns - one.queued_ns) / 1e9,
            prefill_s=(one.first_ns - one.scheduled_ns) / 1e9,
            decode_s=(one.last_ns - one.first_ns) / 1e9,
            prompt_tokens=one.prompt_tokens,
            cached_tokens=one.cached_tokens,
            generation_tokens=one.tokens,
            max_tokens=None if group.wanted.pooled else group.wanted.max_tokens,
            preemptions=one.preemptions,
            n=group.wanted.n if not group.left else None,
            longest_tokens=group.longest_tokens,
        )
