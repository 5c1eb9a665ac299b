"""The running requests of one step of the fast form: all at once where order decides nothing, one
by one where it does.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from barostat.twin.event_skipping.state import DECODE, ENDING, PREFILL, EventSkippingState, Mover


@dataclass(slots=True)
class StepPlan:
    """What a step gives to whom. Every decoding request not in `held_back` has its token; `chunks`
    are prompts, in order.
    """

    budget: int
    chunks: list[tuple[Mover, int]] = field(default_factory=list)
    held_back: list[Mover] = field(default_factory=list)
    preempted: int = 0
    stuck: Mover | None = None


def plan_running(state: EventSkippingState, limit: int) -> StepPlan | None:
    """The plan, with its blocks taken, where nobody is preempted or left out for it; None where
    that takes a walk.
    """
    size = state.size
    bucket = len(state.buckets[state.clock % size]) if state.decodes else 0
    need, grown = bucket, []
    plan = StepPlan(state.settings.max_num_batched_tokens - state.decodes)
    if state.prefills:
        in_order = state.prefills_are_last()
        for mover in state.prefills:
            count = mover.tokens - mover.computed
            if 0 < limit < count:
                count = limit
            if count > plan.budget:
                if not in_order:
                    return None
                if plan.budget <= 0:
                    break
                count = plan.budget
            more = -(-(mover.computed + count) // size) - -(-mover.computed // size)
            need += more
            grown.append((mover, more))
            plan.chunks.append((mover, count))
            plan.budget -= count
        if not in_order and state.tells_blocks_apart:
            return None
    if need > state.pool.free:
        return None
    if bucket:
        state.grow_buckets(state.clock, state.clock + 1, bucket)
    for mover, more in grown:
        state.grow(mover, more)
    for mover, count in plan.chunks:
        state.remember(mover, mover.computed + count)
    return plan


def squeeze_running(state: EventSkippingState, limit: int) -> StepPlan | None:
    """The plan where the pool is short, first come first served, and prompts come after all that
    decode; else None.

    Only those that need a block meet the shortage; the victim is always the last, and never one
    that was served before in the step.
    """
    if state.settings.policy != "fcfs" or not state.prefills_are_last():
        return None
    running = state.running
    plan = StepPlan(0)
    bucket = state.buckets[state.clock % state.size]
    for seq in sorted(bucket):
        if seq in bucket and not _make_room(state, plan, bucket[seq], 1):
            return plan
    plan.budget = state.settings.max_num_batched_tokens - state.decodes
    for mover in tuple(state.prefills):
        if plan.budget <= 0 or mover.seq not in running:
            break
        count = mover.tokens - mover.computed
        if 0 < limit < count:
            count = limit
        count = min(count, plan.budget)
        if not _make_room(
            state,
            plan,
            mover,
            state.blocks_of(mover.computed + count) - state.blocks_of(mover.computed),
        ):
            return plan
        state.remember(mover, mover.computed + count)
        plan.chunks.append((mover, count))
        plan.budget -= count
    return plan


def _make_room(state: EventSkippingState, plan: StepPlan, mover: Mover, need: int) -> bool:
    """True, and the blocks are taken, after preempting from the end as long as it takes; False
    where it takes the request itself.
    """
    while need > state.pool.free:
        victim = next(reversed(state.running.values()))
        state.preempt(victim, 0, 0)
        plan.preempted += 1
        if victim is mover:
            if not state.running:
                plan.stuck = mover
            return False
    state.grow(mover, need)
    return True


def walk_running(state: EventSkippingState, limit: int) -> StepPlan:
    """The plan, request by request in the order of admission, preempting where the pool is out of
    blocks.
    """
    settings, pool, size, clock = state.settings, state.pool, state.size, state.clock
    by_priority = settings.policy == "priority"
    order = list(state.running.values())
    plan = StepPlan(settings.max_num_batched_tokens)
    given: dict[Mover, tuple[int, int]] = {}
    index = 0
    while index < len(order) and plan.budget > 0:
        mover = order[index]
        if mover.mode is ENDING:
            index += 1
            continue
        if mover.mode is DECODE:
            count, need = 1, int(not (mover.base + clock) % size)
        else:
            count = mover.tokens - mover.computed
            if 0 < limit < count:
                count = limit
            count = min(count, plan.budget)
            need = state.blocks_of(mover.computed + count) - state.blocks_of(mover.computed)
        preempted_itself = False
        while need > pool.free:
            place = len(order) - 1
            if by_priority:
                place = max(
                    range(len(order)), key=lambda at: (order[at].priority, order[at].arrival_s, -at)
                )
            victim = order.pop(place)
            granted = given.pop(victim, (0, 0))
            plan.budget += granted[0]
            plan.preempted += 1
            state.preempt(victim, *granted)
            if place < index:
                index -= 1
            if victim is mover:
                preempted_itself = True
                break
        if preempted_itself:
            if not order:
                plan.stuck = mover
            if by_priority and settings.behaviour.self_preempted_skips_on:
                continue
            break
        state.grow(mover, need)
        if mover.mode is PREFILL:
            state.remember(mover, mover.computed + count)
        given[mover] = (count, need)
        plan.budget -= count
        index += 1
    plan.chunks = [(mover, count) for mover, (count, _) in given.items() if mover.mode is PREFILL]
    plan.held_back = [mover for mover in order if mover.mode is DECODE and mover not in given]
    return plan
