"""The fast form: the same decisions as the step-by-step form, at a cost that follows events instead
of tokens.

A step decides nothing if every running request decodes, no request can be admitted and the pool has
the blocks that this step's bucket needs: a run of such steps is taken in one loop that touches no
request but those that end. Every other step is taken with the decoding requests counted, and walked
through one by one only where their order decides (the pool or the budget runs out).

Identical to `Steps`: tests hold the two together. The state says how blocks are kept: counted
(`EventSkippingState`), tracked individually (`BlockLeapState`), or in several groups
(`CountedGroups`, `BlockGroups`).
"""

from __future__ import annotations

from collections.abc import Iterable

from barostat.twin.event_skipping.state import DECODE, ENDING, EventSkippingState, Mover
from barostat.twin.event_skipping.walk import StepPlan, plan_running, squeeze_running, walk_running
from barostat.twin.intake import NS, Intake
from barostat.twin.linear_pace import LinearPace
from barostat.twin.outcome import DRY, Life, Outcome
from barostat.twin.pace import EverySteps, Pace, attended
from barostat.twin.request import Row
from barostat.twin.scheduler.waiting import has_slot
from barostat.twin.settings import Settings

_NEVER = 1 << 62


class EventSkippingRun:
    """The run of one workload. Mutable; `run` takes it to its end."""

    def __init__(
        self,
        settings: Settings,
        rows: Iterable[Row],
        pace: Pace,
        state: EventSkippingState | None = None,
    ) -> None:
        self._settings = settings
        self._pace = pace
        self._intake = Intake(settings, rows)
        self._state = state or EventSkippingState(settings)
        self._outcome = Outcome()
        self._each_ns = pace.each_ns if isinstance(pace, EverySteps) else 0
        self._now_ns = 0
        self._blocked = (
            False  # the first that waits cannot be admitted until something ends or arrives
        )
        self._in_flight = False
        self._ending: list[Mover] = []
        self._prompts_count = (
            settings.max_queued_tokens is not None
        )  # the front end refuses by the prompts that are not through
        self._through_prefill = 0
        self._dry = 0
        self._running_limit = settings.running_limit
        self._dry_steps = settings.dry_steps
        self._async = settings.async_scheduling
        self._threshold = settings.long_prefill_token_threshold

    def run(self) -> Outcome:
        """Run to the end and return the outcome."""
        state, intake, outcome = self._state, self._intake, self._outcome
        while True:
            arrival = intake.next_ns
            if not state.running and not state.waiting:
                if arrival is None:
                    break
                self._now_ns = max(self._now_ns, self._pace.start_ns(arrival))
            if arrival is not None and arrival <= self._now_ns:
                self._arrive()
            if not (self._quiet() and self._leap()) and not self._step():
                break
        for mover in (*state.running.values(), *state.waiting.everyone()):
            if mover.mode is DECODE:
                mover.tokens = mover.base + state.clock + 1
            mover.life.output_tokens = mover.tokens - mover.prompt
        outcome.steps, outcome.end_ns = len(outcome.load), state.last_end_ns
        outcome.rejections = intake.rejections
        outcome.clamped_outputs = intake.clamped
        return outcome

    def _quiet(self) -> bool:
        """True if all that runs decodes, and nothing else is due."""
        state = self._state
        return not (state.prefills or state.starved or self._through_prefill)

    def _arrive(self) -> None:
        lives, waiting, arrived = self._outcome.lives, self._state.waiting, self._state.arrived
        for at_ns, row, output_tokens in self._intake.until(self._now_ns):
            life = Life(row.request_id, at_ns, row.input_tokens)
            lives.append(life)
            waiting.add(arrived(row, output_tokens, life))
        self._blocked = False

    def _leap(self) -> bool:
        """Run steps that neither admit nor preempt, until one that might. False if there is none."""
        state, intake, load = self._state, self._intake, self._outcome.load
        before = len(load)
        while state.decodes and (not state.waiting or (self._blocked and not self._ending)):
            arrival = intake.next_ns
            if not self._stride(_NEVER if arrival is None else arrival):
                break
        return len(load) > before

    def _stride(self, until_ns: int) -> bool:
        """Steps up to one in which requests end, or after which those hold nothing that did: True
        if there was such a step.
        """
        state, outcome, pace, each = self._state, self._outcome, self._pace, self._each_ns
        buckets, size, ends, add, gaps = (
            state.buckets,
            state.size,
            state.ends,
            outcome.load.append,
            outcome.gaps,
        )
        decodes, base_sum = state.decodes, state.base_sum
        running, waiting = len(state.running), len(state.waiting)
        clock, now, free = state.clock, self._now_ns, state.pool.free
        first, last = clock, clock if self._ending else _NEVER
        line = pace.decoding(decodes) if isinstance(pace, LinearPace) else None
        step_s, kv_token_s = line or (0.0, 0.0)
        one_by_one, anyone_waits = state.served_one_by_one, waiting > 0
        while now < until_ns:
            if one_by_one:
                state.clock = clock
                if not state.serve_step(waiting=anyone_waits):
                    break
                free = state.pool.free
            else:
                need = len(buckets[clock % size])
                if need > free:
                    break
                free -= need
            add((now, free, running, waiting))
            clock += 1
            if each:
                now += each
            else:
                kv = base_sum + decodes * clock
                took = (
                    round((step_s + kv_token_s * kv) * NS) or 1
                    if line
                    else pace.step_ns(0, decodes, kv)
                )
                gaps[took] = gaps.get(took, 0) + decodes
                now += took
            if clock > last or clock - 1 in ends:
                break
        steps = clock - first
        if not steps:
            return False
        if each:
            gaps[each] += decodes * steps
        if not one_by_one:
            state.grow_buckets(first, clock, state.pool.free - free)
        outcome.request_steps += decodes * steps
        outcome.scheduled_tokens += decodes * steps
        self._dry = 0
        self._in_flight = self._async
        ending, self._ending = self._ending, []
        if clock - 1 in ends:
            state.clock = clock - 1
            self._end_decoding(now)
        state.clock, self._now_ns, state.last_end_ns = clock, now, now
        if not self._async:
            ending, self._ending = self._ending, []
        if ending:
            self._settle(ending, 0)
        return bool(ending or self._ending)

    def _step(self) -> bool:
        """One step with whatever it decides. False if nothing will ever happen again."""
        settings, state, outcome = self._settings, self._state, self._outcome
        arrival = self._intake.next_ns
        if arrival is not None and arrival <= self._now_ns:
            self._arrive()
        state.step_starts()
        limit = self._threshold
        if (
            limit
            and settings.behaviour.lone_request_unthrottled
            and len(state.running) + len(state.waiting) <= 1
        ):
            limit = 0
        plan = (
            plan_running(state, limit)
            or squeeze_running(state, limit)
            or walk_running(state, limit)
        )
        outcome.preemptions += plan.preempted
        if plan.preempted:
            self._blocked = False
        elif state.waiting:
            self._admit(plan, limit)
        decodes = state.decodes - len(plan.held_back)
        waited, ending = self._in_flight, self._ending
        self._ending, through_prefill, self._through_prefill = [], self._through_prefill, 0
        scheduled = bool(decodes or plan.chunks)
        self._dry += 1
        if scheduled:
            self._take(plan, decodes)
        elif plan.held_back or plan.preempted or waited:
            for mover in plan.held_back:
                state.hold_back(mover)
            self._now_ns += self._pace.empty_ns
            state.clock += 1
        if self._async:
            self._in_flight = scheduled
        else:
            ending, through_prefill = self._ending, self._through_prefill
            self._ending, self._through_prefill = [], 0
            waited = False
        if ending or through_prefill:
            self._settle(ending, through_prefill)
        if self._dry > self._dry_steps:
            outcome.stuck = DRY.format(self._dry_steps)
            return False
        return (
            plan.stuck is None and (scheduled or waited or plan.preempted > 0)
        ) or self._wait_out(plan)

    def _admit(self, plan: StepPlan, limit: int) -> None:
        settings, state, outcome = self._settings, self._state, self._outcome
        waiting, running, most = state.waiting, state.running, self._running_limit
        self._blocked = True
        state.admission_starts()
        in_use: set[str | None] | None = None
        passed_over: list[Mover] = []
        while waiting:
            if plan.budget <= 0:
                self._blocked = False
                break
            if len(running) >= most:
                break
            mover = waiting.first()
            if mover.adapter is not None:
                if in_use is None:
                    in_use = self._adapters_of(plan)
                if not has_slot(mover.adapter, in_use, settings.max_loras):
                    passed_over.append(waiting.take())
                    continue
            hit = state.find(mover) if settings.prefix_caching else 0
            tokens = mover.tokens
            count = tokens - hit
            if 0 < limit < count:
                count = limit
            if not settings.chunked_prefill and count > plan.budget:
                self._blocked = (
                    not plan.chunks
                )  # the next step has a budget without other prompts in it
                break
            if count > plan.budget:
                count = plan.budget
            if (count := state.chunk(mover, hit, count)) <= 0:
                self._blocked = False
                break
            reached = hit + count
            if not state.admit(
                mover, hit, reached, tokens if settings.reserve_full_isl else reached
            ):
                break
            waiting.take()
            if in_use is not None and mover.adapter is not None:
                in_use.add(mover.adapter)
            plan.chunks.append((mover, count))
            plan.budget -= count
            life = mover.life
            if life.admitted_ns is None:
                life.admitted_ns = self._now_ns
                life.cached_tokens = hit
                outcome.cached_tokens += hit
                outcome.looked_up_tokens += tokens
            else:
                again = max(0, mover.lost - hit)
                life.recomputed_tokens += again
                outcome.recomputed_tokens += again
        if passed_over:
            waiting.put_back_all(passed_over)

    def _adapters_of(self, plan: StepPlan) -> set[str | None]:
        """The adapters of the requests that the step serves."""
        state = self._state
        served = [mover for mover in state.running.values() if mover.mode is DECODE]
        in_use = {mover.adapter for mover in served if mover not in plan.held_back}
        return (in_use | {mover.adapter for mover, _ in plan.chunks}) - {None}

    def _take(self, plan: StepPlan, decodes: int) -> None:
        """The step runs: its load is noted, its tokens reach their requests."""
        state, outcome = self._state, self._outcome
        clock = state.clock
        end = self._now_ns + (self._each_ns or self._step_ns(plan, decodes))
        outcome.request_steps += decodes + len(plan.chunks)
        outcome.scheduled_tokens += decodes
        outcome.load.append((self._now_ns, state.pool.free, len(state.running), len(state.waiting)))
        if decodes:
            self._dry = 0
        for mover in plan.held_back:
            state.hold_back(mover)
        regular = decodes
        if state.starved:
            regular -= self._resume_starved(plan.held_back, end)
        if regular:
            gaps, gap = outcome.gaps, end - state.last_end_ns
            gaps[gap] = gaps.get(gap, 0) + regular
        if clock in state.ends:
            self._end_decoding(end)
        for mover, count in plan.chunks:
            outcome.scheduled_tokens += count
            mover.computed += count
            if mover.computed == mover.tokens:
                self._sample(mover, end)
        state.clock = clock + 1
        self._now_ns = state.last_end_ns = end

    def _step_ns(self, plan: StepPlan, decodes: int) -> int:
        """How long the step takes."""
        clock = self._state.clock
        kv = self._state.base_sum + self._state.decodes * (clock + 1)
        for mover in plan.held_back:
            kv -= mover.base + clock + 1
        prefill, single, pairs = 0, decodes, 0
        for mover, count in plan.chunks:
            reached = mover.computed + count
            kv += reached
            if count == 1 and reached == mover.tokens:
                single += 1
            else:
                prefill += count
                pairs += attended(count, reached)
        return self._pace.step_ns(prefill, single, kv, pairs)

    def _end_decoding(self, end: int) -> None:
        """Finish requests whose last token this step computes."""
        state, clock = self._state, self._state.clock
        for mover in state.ends.pop(clock):
            if mover.end_clock == clock and mover.mode is DECODE:
                state.stop_decoding(mover, served=True)
                mover.computed += 1
                self._finish(mover, end)

    def _resume_starved(self, held_back: list[Mover], end: int) -> int:
        """Those that a step had left out and this one has not: each has its own gap."""
        starved = self._state.starved
        back = [mover for mover in starved.values() if mover not in held_back]
        for mover in back:
            self._outcome.gaps[end - mover.last_ns] += 1
            mover.starved = False
            del starved[mover.seq]
        return len(back)

    def _sample(self, mover: Mover, end: int) -> None:
        """The prompt (and what was generated before a preemption) is through: the step produces a
        token.
        """
        state, life = self._state, mover.life
        self._dry = 0
        if life.first_token_ns is None:
            life.first_token_ns = end
            if self._prompts_count:
                self._through_prefill += mover.prompt
        else:
            self._outcome.gaps[end - mover.last_ns] += 1
        state.prefills.remove(mover)
        mover.tokens += 1
        if mover.tokens - mover.prompt >= mover.limit:
            mover.fresh_clock = state.clock + 1
            self._finish(mover, end)
        else:
            state.start_decoding(mover, state.clock + 1)

    def _finish(self, mover: Mover, end: int) -> None:
        mover.mode = ENDING
        mover.tokens = mover.prompt + mover.limit
        mover.life.finished_ns = end
        mover.life.output_tokens = mover.limit
        self._ending.append(mover)

    def _settle(self, ending: list[Mover], through_prefill: int) -> None:
        """The output of a step is taken in: what ended in it holds nothing any more, and the front
        end knows of it.
        """
        state, intake = self._state, self._intake
        if through_prefill:
            intake.first_token(through_prefill)
        if len(ending) > 1:
            ending.sort(key=_admission)
        for mover in ending:
            intake.finished(mover.name, mover.life.finished_ns or 0)
            if mover.mode is ENDING:
                state.release(mover, mover.computed, mover.computed, again=False)
                del state.running[mover.seq]
            else:  # preempted while its last token was on its way
                state.waiting.remove(mover)
            self._blocked = False

    def _wait_out(self, plan: StepPlan) -> bool:
        """True if something can still change although nothing was scheduled; else the run is stuck,
        and says why.
        """
        state, arrival = self._state, self._intake.next_ns
        if plan.stuck is not None:
            self._outcome.stuck = (
                f"request {plan.stuck.name} needs more blocks than there are: it preempts "
                "itself for ever"
            )
            return False
        if not state.running and not state.waiting:
            return True
        if arrival is None or self._settings.policy == "fcfs" or state.running:
            name = state.waiting.first().name if state.waiting else "?"
            self._outcome.stuck = (
                f"request {name} fits in no empty pool: nothing behind it is admitted"
            )
            return False
        self._now_ns = max(self._now_ns + 1, self._pace.start_ns(arrival))
        return True


def _admission(mover: Mover) -> int:
    return mover.seq
