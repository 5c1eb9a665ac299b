"""The running requests of one step of the fast form: all at once where order decides nothing, one
by one where it does.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from barostat.twin.event_skipping.state import DECODE, ENDING, PREFILL, EventSkippingState, Mover


@dataclass(slots=True)
class StepPlan:
    """Tokens scheduled by a step. Every decoding request not in `held_back` has its token; `chunks`
    are prompts, in order.
    """

    budget: int
    chunks: list[tuple[Mover, int]] = field(default_factory=list)
    held_back: list[Mover] = field(default_factory=list)
    preempted: int = 0
    stuck: Mover | None = None


def plan_running(state: EventSkippingState, limit: int) -> StepPlan | None:
    """The plan, with its blocks taken, where nobody is preempted or left out for it; None if
    that takes a walk.
    """
    decode_need = state.decode_need()
    need, grown = decode_need, []
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
            if (count := state.chunk(mover, mover.computed, count)) <= 0:
                continue
            more = state.chunk_need(mover, count)
            need += more
            grown.append((mover, count, more))
            plan.chunks.append((mover, count))
            plan.budget -= count
        if not in_order and state.tells_blocks_apart:
            return None
    if need > state.pool.free:
        return None
    state.serve_decodes(decode_need)
    for mover, count, more in grown:
        state.serve_chunk(mover, count, more)
    return plan


def squeeze_running(state: EventSkippingState, limit: int) -> StepPlan | None:
    """The plan where the pool is short, first come first served, and prompts come after all that
    decode; else None.

    Only those whose blocks change meet the shortage; the victim is always the last, and never one
    that was served before in the step.
    """
    if state.settings.policy != "fcfs" or not state.prefills_are_last():
        return None
    running = state.running
    plan = StepPlan(0)
    for seq in sorted(state.due()):
        mover = running.get(seq)
        if mover is not None and not _make_room(state, plan, mover, 1):
            return plan
    plan.budget = state.settings.max_num_batched_tokens - state.decodes
    for mover in tuple(state.prefills):
        if plan.budget <= 0 or mover.seq not in running:
            break
        count = mover.tokens - mover.computed
        if 0 < limit < count:
            count = limit
        count = state.chunk(mover, mover.computed, min(count, plan.budget))
        if count <= 0:
            continue
        if not _make_room(state, plan, mover, count):
            return plan
        plan.chunks.append((mover, count))
        plan.budget -= count
    return plan


def _make_room(state: EventSkippingState, plan: StepPlan, mover: Mover, count: int) -> bool:
    """True, and the request has room for so many tokens, after preempting from the end as long as
    it takes; False if it takes the request itself.
    """
    while not state.extend(mover, count):
        victim = next(reversed(state.running.values()))
        state.preempt(victim, 0)
        plan.preempted += 1
        if victim is mover:
            if not state.running:
                plan.stuck = mover
            return False
    return True


def walk_running(state: EventSkippingState, limit: int) -> StepPlan:
    """The plan, request by request in the order of admission, preempting where the pool is out of
    blocks.
    """
    settings = state.settings
    by_priority = settings.policy == "priority"
    order = list(state.running.values())
    plan = StepPlan(settings.max_num_batched_tokens)
    given: dict[Mover, int] = {}
    due = state.due()
    index = 0
    while index < len(order) and plan.budget > 0:
        mover = order[index]
        if mover.mode is ENDING:
            index += 1
            continue
        if mover.mode is DECODE:
            if mover.seq not in due:
                given[mover] = 1
                plan.budget -= 1
                index += 1
                continue
            count = 1
        else:
            count = mover.tokens - mover.computed
            if 0 < limit < count:
                count = limit
            count = state.chunk(mover, mover.computed, min(count, plan.budget))
            if count <= 0:
                index += 1
                continue
        preempted_itself = False
        while not state.extend(mover, count):
            place = len(order) - 1
            if by_priority:
                place = max(
                    range(len(order)), key=lambda at: (order[at].priority, order[at].arrival_s, -at)
                )
            victim = order.pop(place)
            granted = given.pop(victim, 0)
            plan.budget += granted
            plan.preempted += 1
            state.preempt(victim, granted)
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
        given[mover] = count
        plan.budget -= count
        index += 1
    plan.chunks = [(mover, count) for mover, count in given.items() if mover.mode is PREFILL]
    plan.held_back = [mover for mover in order if mover.mode is DECODE and mover not in given]
    return plan
