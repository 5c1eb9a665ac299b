"""A workload through the scheduler, one step at a time: the plain form that every other form has to
equal.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from barostat.twin.intake import Intake
from barostat.twin.outcome import DRY, Life, Outcome
from barostat.twin.pace import EverySteps, Pace
from barostat.twin.request import Request, Row
from barostat.twin.scheduler.scheduler import Scheduler, Step, Taken
from barostat.twin.settings import Settings


@dataclass(frozen=True, slots=True)
class StepLine:
    """One step as it is shown: what was scheduled in order, who was preempted, and the state after
    scheduling.
    """

    step: int
    start_ns: int
    scheduled: dict[str, int]
    preempted: tuple[str, ...]
    running: int
    waiting: int
    free_blocks: int


Watch = Callable[[StepLine, Scheduler], None]


class Steps:
    """The run of one workload. Mutable; `run` takes it to its end."""

    def __init__(
        self, settings: Settings, rows: Iterable[Row], pace: Pace, watch: Watch | None = None
    ) -> None:
        self.scheduler = Scheduler(settings)
        self.outcome = Outcome()
        self._settings = settings
        self._pace = pace
        self._watch = watch
        self._intake = Intake(settings, rows)
        self._lives: dict[Request, Life] = {}
        self._now_ns = 0
        self._number = 0
        self._dry = 0

    def run(self) -> Outcome:
        """Run to the end and return the outcome."""
        scheduler, outcome, intake = self.scheduler, self.outcome, self._intake
        in_flight: tuple[Step, int] | None = None
        while True:
            if not scheduler.unfinished and in_flight is None:
                arrival = intake.next_ns
                if arrival is None:
                    break
                self._idle_until(max(self._now_ns, self._pace.start_ns(arrival)))
            self._arrive()
            step = scheduler.schedule()
            end_ns = self._now_ns + self._account(step)
            waited = in_flight is not None
            if self._settings.async_scheduling:
                if in_flight is not None:
                    self._take_in(*in_flight)
                in_flight = (step, end_ns) if step.scheduled else None
            else:
                self._take_in(step, end_ns)
            self._dry = 0 if step.sampling else self._dry + 1
            if self._dry > self._settings.dry_steps:
                outcome.stuck = DRY.format(self._settings.dry_steps)
                break
            stuck = step.self_preempted_alone is not None
            if not stuck and (step.scheduled or waited or step.preempted):
                self._now_ns = end_ns
                self._number += 1
            elif not self._wait_out(step):
                break
        outcome.rejections = intake.rejections
        outcome.clamped_outputs = intake.clamped
        return outcome

    def _idle_until(self, at_ns: int) -> None:
        if isinstance(self._pace, EverySteps):
            self._number = at_ns // self._pace.each_ns
        self._now_ns = at_ns

    def _wait_out(self, step: Step) -> bool:
        """True if something can still change although nothing was scheduled; else the run is stuck,
        and says why.
        """
        arrival = self._intake.next_ns
        if step.self_preempted_alone is not None:
            request = step.self_preempted_alone
            self.outcome.stuck = (
                f"request {request.request_id} needs more blocks than there are: it preempts "
                "itself for ever"
            )
            return False
        if not self.scheduler.unfinished:
            return True
        if arrival is None or self._settings.policy == "fcfs" or self.scheduler.running:
            first = self.scheduler.waiting.first() if len(self.scheduler.waiting) else None
            self.outcome.stuck = (
                f"request {first.request_id if first else '?'} fits in no empty pool: nothing "
                "behind it is admitted"
            )
            return False
        self._idle_until(max(self._now_ns + 1, self._pace.start_ns(arrival)))
        return True

    def _arrive(self) -> None:
        for at_ns, row, output_tokens in self._intake.until(self._now_ns):
            self._add(at_ns, row, output_tokens)

    def _add(self, at_ns: int, row: Row, output_tokens: int) -> None:
        request = self._intake.request(row, output_tokens)
        life = Life(request.request_id, at_ns, request.prompt_tokens)
        self._lives[request] = life
        self.outcome.lives.append(life)
        self.scheduler.add(request)

    def _account(self, step: Step) -> int:
        """How long the step takes; what it does is counted."""
        outcome, scheduler = self.outcome, self.scheduler
        for request in step.preempted:
            self._lives[request].preemptions += 1
            outcome.preemptions += 1
        for request in step.admitted:
            self._admitted(request, step)
        if not step.scheduled:
            return self._pace.empty_ns
        duration_ns = step.duration_ns(self._pace)
        outcome.steps += 1
        outcome.request_steps += len(step.scheduled)
        outcome.scheduled_tokens += sum(step.scheduled.values())
        free = scheduler.kv.pool.free_blocks
        running, waiting = len(scheduler.running), scheduler.unfinished - len(scheduler.running)
        outcome.load.append((self._now_ns, free, running, waiting))
        if self._watch is not None:
            names = {request.request_id: count for request, count in step.scheduled.items()}
            preempted = tuple(request.request_id for request in step.preempted)
            line = StepLine(
                self._number,
                self._now_ns,
                names,
                preempted,
                running,
                waiting,
                free,
            )
            self._watch(line, scheduler)
        outcome.end_ns = self._now_ns + duration_ns
        return duration_ns

    def _admitted(self, request: Request, step: Step) -> None:
        outcome, life = self.outcome, self._lives[request]
        hit = request.computed_tokens - step.scheduled[request]
        if life.admitted_ns is None:
            life.admitted_ns = self._now_ns
            life.cached_tokens = hit
            outcome.cached_tokens += hit
            outcome.looked_up_tokens += request.tokens
        else:
            again = max(0, request.lost_tokens - hit)
            life.recomputed_tokens += again
            outcome.recomputed_tokens += again

    def _take_in(self, step: Step, end_ns: int) -> Taken:
        outcome, intake = self.outcome, self._intake
        taken = self.scheduler.take_in(step)
        for request, tokens in taken.tokens.items():
            life = self._lives[request]
            life.output_tokens += tokens
            if life.first_token_ns is None:
                life.first_token_ns = end_ns
                intake.first_token(request.prompt_tokens)
            else:
                outcome.gaps[end_ns - request.last_token_ns] += 1
            request.last_token_ns = end_ns
        for request in taken.finished:
            self._lives.pop(request).finished_ns = end_ns
            intake.finished(request.request_id, end_ns)
        return taken
