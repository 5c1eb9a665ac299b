"""One scheduling step after another, as vLLM's V1 scheduler takes them.

There is no prefill and no decode: each step brings every request's computed tokens closer to its
known tokens, within a budget. Running requests come first, in the order of admission, and preempt
the last (or the least important) where the pool is out of blocks; requests are admitted only in a
step without preemptions, and the first that does not fit stops all behind it.

With a KV connector, a request whose prompt another engine has computed holds its blocks while their
KV is fetched, beside those that run (`holding`, admitted before the others), and one that hands its
KV over holds its blocks after its end, until it was fetched.

Source: vLLM 0.32.0, Scheduler.schedule, Scheduler.update_from_output, AsyncScheduler.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from barostat.twin.block_pool.kv_cache import KvCache
from barostat.twin.block_pool.moving_state import chunk_end
from barostat.twin.block_pool.prefix_lookup import Hit
from barostat.twin.pace import Pace, attended
from barostat.twin.request import Request, State
from barostat.twin.scheduler.waiting import has_slot, queue_for
from barostat.twin.settings import Settings


@dataclass(slots=True)
class Step:
    """One scheduled step: tokens per request in scheduling order, and the requests preempted for
    it.

    `sampling` are the requests that produce a token in it; `admitted` those that began to run with
    it. `hit_tokens` counts what the prefix cache spared the admitted. `drafts`: draft tokens among
    the scheduled; those of `padded` requests fill up a batch and are all rejected. `loading`:
    tokens whose KV is fetched from now on, for requests that begin to hold blocks for it.
    """

    scheduled: dict[Request, int] = field(default_factory=dict)
    preempted: list[Request] = field(default_factory=list)
    admitted: list[Request] = field(default_factory=list)
    sampling: set[Request] = field(default_factory=set)
    hit_tokens: int = 0
    drafts: dict[Request, int] = field(default_factory=dict)
    padded: set[Request] = field(default_factory=set)
    loading: dict[Request, int] = field(default_factory=dict)
    self_preempted_alone: Request | None = None

    def duration_ns(self, pace: Pace) -> int:
        """How long the step takes at this pace: prompt tokens and the pairs that they attend to,
        decodes, and the KV that is read.
        """
        prefill = decodes = kv = pairs = 0
        for request, count in self.scheduled.items():
            kv += request.computed_tokens
            drafts = self.drafts.get(request, 0)
            if count == 1 + drafts and request in self.sampling:
                decodes += 1
                prefill += drafts
                pairs += attended(drafts, request.computed_tokens)
            else:
                prefill += count
                pairs += attended(count, request.computed_tokens)
        return pace.step_ns(prefill, decodes, kv, pairs)


@dataclass(slots=True)
class Taken:
    """Effect of a step's output: tokens by request, finished requests, and those of them that hold
    blocks until another engine has fetched them.
    """

    tokens: dict[Request, int] = field(default_factory=dict)
    finished: list[Request] = field(default_factory=list)
    handed_over: list[Request] = field(default_factory=list)


class Scheduler:
    """The requests of one engine. Mutable; `schedule` and `take_in` are its two moves."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.kv = KvCache(settings)
        self.running: list[Request] = []
        self.waiting = queue_for(settings.policy, Request)
        self.holding = queue_for(settings.policy, Request)
        self._connected = bool(settings.kv_role)
        self._drops_stale = settings.hands_over_kv
        # What is fetched is not ordered against the step under way: its blocks are free after it.
        self._frees_late = settings.fetches_kv and settings.async_scheduling
        self._made_steps = self._taken_steps = 0
        self._prefills: dict[Request, None] = {}  # under way: they will need more blocks
        self._fetched: set[Request] = set()
        self._by_priority = settings.policy == "priority"
        self._state_tokens = settings.state_tokens
        drafting = settings.drafting
        self._drafts = 0 if drafting is None else drafting.tokens
        self._batch_slots = 0 if drafting is None else drafting.batch_slots

    def add(self, request: Request) -> None:
        """Queue a request."""
        self.waiting.add(request)

    def abort(self, request: Request) -> None:
        """The request, which runs or waits, is finished and holds nothing. What is under way for it
        is not taken in.
        """
        if request.state is State.RUNNING:
            self.running = [one for one in self.running if one is not request]
        else:
            self.waiting.remove(request)
        request.state = State.FINISHED
        self.kv.release(request)

    @property
    def unfinished(self) -> int:
        """Requests that run or wait."""
        return len(self.running) + len(self.waiting) + len(self.holding)

    @property
    def first_waiting(self) -> Request | None:
        """The request that is admitted next; None if none waits."""
        queue = self.holding if len(self.holding) else self.waiting
        return queue.first() if len(queue) else None

    def transferred(self, request: Request) -> None:
        """The request's KV is here, or another engine has fetched it."""
        if request.state is State.LOADING:
            self._fetched.add(request)
        else:
            self.kv.release(request)

    def schedule(self) -> Step:
        """The next step. Computed tokens are advanced at once: the step is taken to be under
        way.
        """
        step = Step()
        self.kv.step_starts()
        budget = self._schedule_running(
            step, self.settings.max_num_batched_tokens, self._prefill_limit()
        )
        if not step.preempted:
            self._admit(step, budget, self._prefill_limit())
        self._under_way(step)
        return step

    def _prefill_limit(self) -> int:
        """Most tokens of one request in this step; 0 for no limit."""
        if self.settings.behaviour.lone_request_unthrottled and self.unfinished <= 1:
            return 0
        return self.settings.long_prefill_token_threshold

    def _to_state(self, request: Request, start: int, count: int) -> int:
        """The chunk, ended where the request's state can be kept."""
        most = self.settings.longest_chunk_tokens
        return chunk_end(request, start, count, self._state_tokens, most)

    def _schedule_running(self, step: Step, budget: int, limit: int) -> int:
        settings, running, slots = self.settings, self.running, self._batch_slots
        index = 0
        while index < len(running) and budget > slots:
            request = running[index]
            if (
                request.placeholders
                and request.computed_tokens + 2 - request.placeholders
                >= request.prompt_tokens + request.output_limit
            ):
                index += 1  # the step under way ends it
                continue
            count = request.tokens + request.draft_tokens + request.placeholders
            count -= request.computed_tokens
            if 0 < limit < count:
                count = limit
            count = min(count, budget - slots, settings.max_model_len - request.computed_tokens - 1)
            if self._state_tokens and count > 0:
                count = self._to_state(request, request.computed_tokens, count)
            if count <= 0:
                index += 1
                continue
            while not (fits := self.kv.extend(request, count)):
                place = self._victim_place()
                if self._frees_late and running[place].last_step > self._taken_steps:
                    break  # the step under way still writes its blocks
                victim, given_back = self._take_victim(step, place)
                budget += given_back
                if place < index:
                    index -= 1
                if victim is request:
                    break
            if not fits:
                if not running:
                    step.self_preempted_alone = request
                if self._by_priority and settings.behaviour.self_preempted_skips_on:
                    continue
                break
            step.scheduled[request] = count
            if request.draft_tokens:
                self._schedule_drafts(step, request, count)
            budget -= count + slots
            index += 1
        return budget

    @staticmethod
    def _schedule_drafts(step: Step, request: Request, count: int) -> None:
        """Note how many of the request's scheduled tokens are drafts; the rest of them is lost."""
        known = request.tokens + request.placeholders - request.computed_tokens
        if count > known:
            step.drafts[request] = min(count - known, request.draft_tokens)
        request.draft_tokens = 0

    def _victim_place(self) -> int:
        """The place of the least important running request."""
        running = self.running
        if not self._by_priority:
            return len(running) - 1
        return max(
            range(len(running)),
            key=lambda at: (running[at].priority, running[at].arrival_s, -at),
        )

    def _take_victim(self, step: Step, place: int) -> tuple[Request, int]:
        """The running request at that place waits again and holds nothing: (it, tokens it gives
        back to the step).
        """
        victim = self.running.pop(place)
        given_back = step.scheduled.pop(victim, 0)
        if given_back:
            given_back += self._batch_slots
        step.drafts.pop(victim, None)
        victim.draft_tokens = 0
        self.kv.release(victim)
        victim.state = State.PREEMPTED
        victim.lost_tokens = victim.computed_tokens
        victim.computed_tokens = 0
        victim.stale_tokens = victim.in_flight_tokens
        victim.placeholders = 0
        victim.preemptions += 1
        self._prefills.pop(victim, None)
        self.waiting.put_back(victim)
        step.preempted.append(victim)
        return victim, given_back

    def _admit(self, step: Step, budget: int, limit: int) -> None:
        settings, slots = self.settings, self._batch_slots
        passed_over: list[Request] = []
        holding: list[Request] = []  # passed over with blocks
        adapters = {request.adapter for request in step.scheduled} - {None}
        pads = self._pads(step)
        while budget > slots and len(self.running) < settings.running_limit:
            waiting = self.holding if len(self.holding) else self.waiting
            if not len(waiting):
                break
            request = waiting.first()
            if request.state is State.LOADING and not self._resumes(request):
                holding.append(waiting.take())
                continue
            # A token of it is still on its way, or every adapter slot serves another adapter.
            if (request.stale_tokens and not self._drops_stale) or not has_slot(
                request.adapter, adapters, settings.max_loras
            ):
                (holding if request.computed_tokens else passed_over).append(waiting.take())
                continue
            held = bool(request.blocks[0])
            hit = self.kv.nothing if held else self.kv.lookup(request)
            if request.remote_tokens > hit.tokens:
                if not self._fetch(step, request, hit):
                    break
                holding.append(waiting.take())
                continue
            cached = request.computed_tokens or hit.tokens
            count = request.tokens - cached
            padded = count == 1 and pads(cached)
            if padded:
                count += self._drafts
                if count > budget - slots:
                    break
            if 0 < limit < count:
                count = limit
            if not settings.chunked_prefill and count > budget - slots:
                break
            count = min(count, budget - slots)
            if self._state_tokens and not (count := self._to_state(request, cached, count)):
                break
            watermark = settings.watermark_blocks if self.running else 0
            if held:
                fits = self.kv.resume(request, count, watermark)
            else:
                fits = self.kv.admit(request, count, hit, watermark)
            if not fits:
                break
            waiting.take()
            self.running.append(request)
            request.state = State.RUNNING
            request.computed_tokens = cached
            step.scheduled[request] = count
            step.admitted.append(request)
            step.hit_tokens += hit.tokens
            if self._connected and cached + count < request.tokens:
                self._prefills[request] = None
            if request.adapter is not None:
                adapters.add(request.adapter)
            if padded:
                step.drafts[request] = self._drafts
                step.padded.add(request)
            budget -= count + slots
        self.holding.put_back_all(holding)
        self.waiting.put_back_all(passed_over)

    def _fetch(self, step: Step, request: Request, hit: Hit) -> bool:
        """True, and the request holds blocks for KV that is on its way from now on; False if it
        does not fit beside what the prompts under way still need.
        """
        reserved = sum(map(self.kv.left_to_hold, self._prefills))
        watermark = self.settings.watermark_blocks if self.running else 0
        if not self.kv.fetch(request, request.remote_tokens, hit, watermark, reserved):
            return False
        step.loading[request] = request.remote_tokens - hit.tokens
        request.computed_tokens = request.remote_tokens
        request.remote_tokens = 0
        request.state = State.LOADING
        self._prefills[request] = None
        return True

    def _resumes(self, request: Request) -> bool:
        """True if the request's KV is here: others can find it, and its last token is left to
        compute.
        """
        if request not in self._fetched:
            return False
        self._fetched.remove(request)
        self.kv.remember(request, request.computed_tokens)
        request.computed_tokens = min(request.computed_tokens, request.tokens - 1)
        request.state = State.WAITING
        return True

    def _pads(self, step: Step) -> Callable[[int], bool]:
        """Whether a request with one token left to compute, after so many cached, is padded with
        drafts: all others decode with drafts, so that the step keeps its CUDA graph.
        """
        beside = bool(step.scheduled)
        uniform = self._drafts > 0 and not any(one.is_prefilling for one in step.scheduled)
        room = self.settings.max_model_len - self._drafts - 2
        return lambda cached: uniform and (beside or cached > 0) and cached <= room

    def _under_way(self, step: Step) -> None:
        if step.scheduled:
            self._made_steps += 1
        for request, count in step.scheduled.items():
            request.computed_tokens += count
            request.in_flight_tokens += count
            request.is_prefilling = request.computed_tokens < request.tokens + request.placeholders
            if not request.is_prefilling:
                step.sampling.add(request)
                if self.settings.async_scheduling:
                    request.placeholders += 1 + step.drafts.get(request, 0)
                    request.draft_tokens = self._drafts
            if self._connected:
                request.last_step = self._made_steps
                if not request.is_prefilling:
                    self._prefills.pop(request, None)

    def take_in(self, step: Step) -> Taken:
        """The step's output is known: tokens are appended, what is finished is gone and its blocks
        are free.
        """
        taken = Taken()
        gone: set[Request] = set()
        if step.scheduled:
            self._taken_steps += 1
        for request, count in step.scheduled.items():
            request.in_flight_tokens -= count
            stale = request.stale_tokens > 0
            if stale:
                request.stale_tokens -= count
            if request.state is State.FINISHED or request not in step.sampling:
                continue
            if stale and self._drops_stale:
                continue
            was_running = request.state is State.RUNNING
            produced = self._produced(step, request, stale=stale)
            request.tokens += produced
            taken.tokens[request] = produced
            finished = (
                request.tokens >= self.settings.max_model_len
                or request.output_tokens >= request.output_limit
            )
            if self.settings.async_scheduling:
                if not stale:
                    request.placeholders -= produced
                if was_running:
                    self.kv.remember(request, request.computed_tokens - request.placeholders)
            if finished:
                if was_running:
                    gone.add(request)
                else:
                    self.waiting.remove(request)
                request.state = State.FINISHED
                if self._connected:
                    self.kv.leave_windows(request)
                if request.hands_over:
                    taken.handed_over.append(request)
                else:
                    self.kv.release(request)
                taken.finished.append(request)
            elif self._drafts and not self.settings.async_scheduling:
                request.draft_tokens = self._drafts
        if gone:
            self.running = [request for request in self.running if request not in gone]
        return taken

    def _produced(self, step: Step, request: Request, *, stale: bool) -> int:
        """Tokens that the step produced for the request: accepted drafts and one more, up to its
        end. What was computed of rejected drafts no longer counts.
        """
        drafts = step.drafts.get(request, 0)
        if not drafts or request.accepted is None:
            return 1
        accepted = 0
        if request not in step.padded:
            accepted = min(drafts, request.accepted(request.output_tokens))
        if not stale:
            rejected = drafts - accepted
            if request.computed_tokens:
                request.computed_tokens -= rejected
            if request.placeholders:
                request.placeholders -= rejected
        left = min(
            request.output_limit - request.output_tokens,
            self.settings.max_model_len - request.tokens,
        )
        return max(1, min(1 + accepted, left))
