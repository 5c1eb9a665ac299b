"""One half of a prefill/decode pair: an engine that is driven step by step and learns of finished
transfers with a step's output, as vLLM's scheduler does.

Source: vLLM 0.32.0, EngineCore.step and step_with_batch_queue,
Scheduler._update_from_kv_xfer_finished.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from barostat.twin.outcome import DRY
from barostat.twin.pace import Pace
from barostat.twin.request import Request, Row
from barostat.twin.scheduler.rank_steps import RankSteps
from barostat.twin.scheduler.run import Watch
from barostat.twin.scheduler.scheduler import Step
from barostat.twin.settings import Settings


@dataclass(frozen=True, slots=True)
class Ticked:
    """Result of a tick. `loading`: KV requested from the other half (request, tokens); `ready`:
    requests whose KV can be fetched; `ended`: (request, time in ns).
    """

    loading: list[tuple[str, int]] = field(default_factory=list)
    ready: list[str] = field(default_factory=list)
    ended: list[tuple[str, int]] = field(default_factory=list)


class Half(RankSteps):
    """One engine. Mutable. `due_ns`: time of its next tick; None while only a new request or a
    finished transfer can change anything.
    """

    def __init__(
        self, settings: Settings, pace: Pace, first_token: Callable[[int], None],
        watch: Watch | None = None,
    ) -> None:  # fmt: skip
        super().__init__(settings, pace, first_token)
        self._watch = watch
        self.due_ns: int | None = None
        self._moving: dict[str, Request] = {}
        self._there: list[Request] = []
        self._each_ns = max(1, pace.empty_ns)

    def put_at(self, row: Row, at_ns: int) -> None:
        """Queue a request from that time on."""
        self.put(row, row.output_tokens, at_ns)
        self._wake(at_ns)

    def moved(self, request_id: str, at_ns: int) -> None:
        """Record that the request's KV arrived or was fetched; the scheduler learns of it with the
        next output.
        """
        self._there.append(self._moving.pop(request_id))
        self._wake(at_ns)

    def _wake(self, at_ns: int) -> None:
        if self.due_ns is None and not self.outcome.stuck:
            self.due_ns = self._pace.start_ns(at_ns)

    @property
    def why_stuck(self) -> str:
        """Why unfinished requests cannot proceed; empty if they can or there are none."""
        if self.outcome.stuck or not self.scheduler.unfinished:
            return self.outcome.stuck
        first = self.scheduler.first_waiting
        name = "?" if first is None else first.request_id
        return f"request {name} fits in no empty pool: nothing behind it is admitted"

    def tick(self, now_ns: int) -> Ticked:
        """Process the step that ends now and schedule the next one (in the opposite order with
        asynchronous scheduling).
        """
        self._now_ns = now_ns
        self._number = now_ns // self._each_ns
        before, self._under_way = self._under_way, None
        if self._settings.async_scheduling:
            step = self.scheduler.schedule()
            duration_ns = self._account(step)
            heard = before is not None or bool(self._there)
            ready = self._output(before)
        else:
            ready = self._output(before)
            step = self.scheduler.schedule()
            duration_ns = self._account(step)
            heard = False
        for request in (*step.loading, *ready):
            self._moving[request.request_id] = request
        self.due_ns = None
        if step.scheduled:
            self._under_way = (step, now_ns + duration_ns)
            self.due_ns = now_ns + duration_ns
        elif heard or step.preempted:
            self.due_ns = now_ns + self._pace.empty_ns
        self._notice_dry(step)
        ended, self._fed.ended = self._fed.ended, []
        loading = [(request.request_id, tokens) for request, tokens in step.loading.items()]
        return Ticked(loading, [request.request_id for request in ready], ended)

    def _output(self, before: tuple[Step, int] | None) -> list[Request]:
        """Process the previous step's output and finished transfers. Returns the requests whose KV
        can be fetched.
        """
        ready = self._take_in(*before).handed_over if before is not None else []
        there, self._there = self._there, []
        for request in there:
            self.scheduler.transferred(request)
        return ready

    def _notice_dry(self, step: Step) -> None:
        if step.sampling:
            self._dry = 0
        elif step.scheduled or step.preempted:
            self._dry += 1
        if self._dry > self._settings.dry_steps:
            self.outcome.stuck = DRY.format(self._settings.dry_steps)
            self.due_ns = None
