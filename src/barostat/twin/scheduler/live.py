"""The scheduler with requests that come and go as they like: one tick per step, with the time as an
argument.

    tick: [sync: take in the step that ends now] schedule the next [async: take in the step that
    ends now] -> outputs, when the next ends

A request's blocks are known by what they hold, so that prefixes are shared with whoever sends them,
the answers among them.

Source: vLLM 0.32.0, EngineCore.step and step_with_batch_queue, Scheduler.finish_requests.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from barostat.twin.pace import Pace
from barostat.twin.request import Request
from barostat.twin.scheduler.scheduler import Scheduler, Step
from barostat.twin.settings import Settings


class LiveRequest(Request):
    """A request whose tokens are known: those of its prompt and, one by one, those of its
    answer.
    """

    __slots__ = (
        "_keys",
        "_prompt",
        "_size",
        "_token",
        "added_ns",
        "cached_tokens",
        "scheduled_ns",
        "unreported",
    )

    def __init__(
        self,
        request_id: str,
        prompt: Sequence[int],
        output_tokens: int,
        token: Callable[[int], int],
        settings: Settings,
        *,
        now_ns: int,
        arrival_s: float,
        priority: int = 0,
    ) -> None:
        """`token(i)`: the answer's token i. `arrival_s` orders requests of one priority."""
        super().__init__(
            request_id, arrival_s, len(prompt), output_tokens, priority, 0, (), len(settings.groups)
        )
        self._prompt = prompt
        self._token = token
        self._size = settings.hash_tokens
        self._keys: list[int] = []
        self.added_ns = now_ns
        self.scheduled_ns: int | None = None
        self.cached_tokens = 0
        self.unreported = 0

    def key(self, index: int) -> int:
        """The content key of hash block `index`: a hash of all tokens up to its end."""
        keys, size, prompt = self._keys, self._size, self._prompt
        while len(keys) <= index:
            start = len(keys) * size
            block = list(prompt[start : start + size])
            block += [
                self._token(place - len(prompt))
                for place in range(start + len(block), start + size)
            ]
            parent = keys[-1] if keys else 0
            text = f"{parent}:{','.join(map(str, block))}"
            keys.append(
                int.from_bytes(hashlib.blake2b(text.encode(), digest_size=14).digest(), "big")
            )
        return keys[index]


@dataclass(frozen=True, slots=True)
class Output:
    """One token of one request. `preemptions`: those since its last output; `first`: (added, first
    run, cached tokens) with the first.
    """

    request_id: str
    finished: bool
    preemptions: int
    first: tuple[int, int, int] | None


@dataclass(slots=True)
class Tick:
    """Result of a tick. `until_ns`: when the next is due; None if nothing happens until a request
    is added or aborted.
    """

    outputs: list[Output] = field(default_factory=list)
    running: int = 0
    waiting: int = 0
    usage_ratio: float = 0.0
    lookup_requests: int = 0
    lookup_tokens: int = 0
    hit_tokens: int = 0
    until_ns: int | None = None
    stepped: bool = False


class LiveEngine:
    """An engine that is advanced step by step. Mutable."""

    def __init__(self, settings: Settings, pace: Pace) -> None:
        """Nothing runs."""
        self.settings = settings
        self._pace = pace
        self._scheduler = Scheduler(settings)
        self._in_flight: Step | None = None
        self._ticked_ns = 0
        self._requests: dict[str, LiveRequest] = {}

    @property
    def unfinished(self) -> int:
        """Requests that run or wait."""
        return self._scheduler.unfinished

    def add(self, request: LiveRequest) -> None:
        """Queue a request."""
        self._requests[request.request_id] = request
        self._scheduler.add(request)

    def abort(self, request_id: str) -> None:
        """The request is gone and its blocks are free. One that is not here is none."""
        request = self._requests.pop(request_id, None)
        if request is not None:
            self._scheduler.abort(request)

    def tick(self, now_ns: int) -> Tick:
        """The step that ended now is taken in and the next is under way."""
        tick = Tick()
        waited = self._in_flight is not None
        if not self.settings.async_scheduling:
            self._take_in(tick)
        step = self._scheduler.schedule()
        # With asynchronous scheduling a step is made up when the one before it begins, which is
        # when a request is told to be scheduled.
        self._note(
            step, tick, self._ticked_ns if waited and self.settings.async_scheduling else now_ns
        )
        self._ticked_ns = now_ns
        if self.settings.async_scheduling:
            self._take_in(tick)
        if step.scheduled:
            self._in_flight = step
            tick.until_ns = now_ns + step.duration_ns(self._pace)
        elif waited or (step.preempted and step.self_preempted_alone is None):
            tick.until_ns = now_ns + self._pace.empty_ns
        tick.stepped = waited
        self._count(tick)
        return tick

    def _note(self, step: Step, tick: Tick, made_ns: int) -> None:
        for one in step.preempted:
            if (known := self._requests.get(one.request_id)) is not None:
                known.unreported += 1
        for one in step.admitted:
            known = self._requests[one.request_id]
            if known.scheduled_ns is None:
                known.scheduled_ns = max(made_ns, known.added_ns)
                known.cached_tokens = one.computed_tokens - step.scheduled.get(one, 0)
            if not one.preemptions and self.settings.prefix_caching:
                tick.lookup_requests += 1
                tick.lookup_tokens += one.tokens
                tick.hit_tokens += one.computed_tokens - step.scheduled.get(one, 0)

    def _take_in(self, tick: Tick) -> None:
        step, self._in_flight = self._in_flight, None
        if step is None:
            return
        taken = self._scheduler.take_in(step)
        finished = set(taken.finished)
        for request in taken.tokens:
            known = self._requests.get(request.request_id)
            if known is None:
                continue
            first = (
                (known.added_ns, known.scheduled_ns or known.added_ns, known.cached_tokens)
                if request.output_tokens == 1
                else None
            )
            tick.outputs.append(
                Output(known.request_id, request in finished, known.unreported, first)
            )
            known.unreported = 0
        for request in finished:
            self._requests.pop(request.request_id, None)

    def _count(self, tick: Tick) -> None:
        scheduler = self._scheduler
        tick.running = len(scheduler.running)
        tick.waiting = len(scheduler.waiting)
        tick.usage_ratio = 1 - scheduler.kv.pool.free_blocks / self.settings.usable_blocks
