"""Random configurations and workloads for the scheduler's parity: small pools, so that they queue,
preempt, evict and hit.
"""

from __future__ import annotations

import random
from typing import Any

from barostat.core.units import ceil_div
from barostat.twin.drafting import Drafting
from barostat.twin.pace import EverySteps
from barostat.twin.request import Row
from barostat.twin.scheduler.run import StepLine, Steps
from barostat.twin.scheduler.scheduler import Scheduler
from barostat.twin.settings import KvGroup, Settings, check

LAYOUTS: tuple[tuple[KvGroup, ...], ...] = (
    (KvGroup(16),), (KvGroup(4),), (KvGroup(8, 20),), (KvGroup(16), KvGroup(16, 40)), (KvGroup(8, 24), KvGroup(8)),
    (KvGroup(8), KvGroup(8, 16), KvGroup(8, 16)), (KvGroup(16), KvGroup(8, 30)), (KvGroup(8, 20), KvGroup(16)),
    (KvGroup(8, 12), KvGroup(8, 40)), (KvGroup(8), KvGroup(16, 33), KvGroup(8, 9)), (KvGroup(16, 50), KvGroup(16, 50)),
    (KvGroup(8), KvGroup(8, chunk_tokens=32)), (KvGroup(16), KvGroup(16, chunk_tokens=40), KvGroup(16, chunk_tokens=40)),
    (KvGroup(8), KvGroup(8, 20), KvGroup(8, chunk_tokens=24)), (KvGroup(8, chunk_tokens=16),),
)  # fmt: skip
STATES: tuple[tuple[KvGroup, ...], ...] = (
    (KvGroup(16), KvGroup(16, state="align")), (KvGroup(8), KvGroup(8, state="align"), KvGroup(8, state="align")),
    (KvGroup(32), KvGroup(32, state="align"), KvGroup(32, state="align"), KvGroup(32, state="align")), (KvGroup(16, state="align"),),
    (KvGroup(16), KvGroup(16, state="all")), (KvGroup(8), KvGroup(8, state="all"), KvGroup(8, state="all")),
    (KvGroup(8), KvGroup(8, 20), KvGroup(8, state="align")),
)  # fmt: skip


def state_case(seed: int) -> tuple[Settings, list[Row]]:
    """A model with states: cached ones with prefix caching, in chunks of prompts; or one block of a
    request's length without.
    """
    settings, _ = case(seed)
    dice = random.Random(seed)
    if dice.random() < 0.2:
        count = dice.randint(1, 3)
        groups = (KvGroup(16), *(KvGroup(settings.max_model_len) for _ in range(count)))
        settings = replaced(
            settings,
            groups=groups,
            prefix_caching=False,
            kv_blocks=settings.kv_blocks + count * settings.max_num_seqs,
        )
    else:
        groups = dice.choice(STATES)
        usable = dice.choice((dice.randint(1, 8), dice.randint(8, 40))) + ceil_div(
            settings.max_model_len, groups[0].block_tokens
        ) * len(groups)
        batched = max(settings.max_num_batched_tokens, settings.max_num_seqs)
        settings = replaced(
            settings,
            groups=groups,
            prefix_caching=True,
            chunked_prefill=True,
            kv_blocks=usable + 1,
            max_num_batched_tokens=batched,
        )
    check(settings)
    return settings, _rows(dice, settings)


def adapter_case(seed: int) -> tuple[Settings, list[Row]]:
    """Requests of more LoRA adapters than may run together, and of the base model."""
    settings, rows = state_case(seed) if seed % 5 == 0 else case(seed)
    dice = random.Random(seed + 1)
    settings = replaced(settings, max_loras=dice.choice((1, 1, 2, 3)))
    names: list[str | None] = [f"adapter-{place}" for place in range(dice.randint(1, 6))]
    names += [None] * dice.randint(0, 2)
    return settings, [row._replace(adapter=dice.choice(names)) for row in rows]


METHODS = {"ngram": (False, False), "draft_model": (True, False), "eagle": (True, True)}
"""Whether slots are reserved past the scheduled tokens, and a cached prefix loses its last block."""


def draft_case(seed: int) -> tuple[Settings, list[Row]]:
    """Speculative decoding by one of the kinds of drafter, some with adapters as well."""
    settings, rows = adapter_case(seed * 5 + 1) if seed % 3 == 0 else case(seed)
    dice = random.Random(seed + 2)
    method, tokens = dice.choice(tuple(METHODS)), dice.randint(1, 5)
    looks_ahead, drops = METHODS[method]
    drafting = Drafting(
        tokens,
        dice.choice((0.0, 0.3, 0.7, 0.9, 1.0)),
        tokens if looks_ahead else 0,
        1 if method == "draft_model" else 0,
        drops,
        seed,
    )
    if drops and not (len(settings.groups) == 1 and settings.groups[0].is_full):
        settings = replaced(settings, prefix_caching=False)
    threshold = settings.long_prefill_token_threshold
    settings = replaced(
        settings,
        drafting=drafting,
        max_num_batched_tokens=max(settings.max_num_batched_tokens, 2 * tokens + 2),
        kv_blocks=settings.kv_blocks + tokens * len(settings.groups),
        long_prefill_token_threshold=max(threshold, tokens + 1) if threshold else 0,
        async_scheduling=settings.async_scheduling and method != "ngram",
    )
    check(settings)
    return settings, rows


def case(seed: int) -> tuple[Settings, list[Row]]:
    """The settings and the rows of that seed; every request fits in the pool alone."""
    dice = random.Random(seed)
    groups = LAYOUTS[0] if dice.random() < 0.45 else dice.choice(LAYOUTS)
    usable = dice.randint(10, 80) * len(groups)
    max_model_len = dice.choice((64, 100, 160, 256, 400))
    slots = dice.choice((1, 2, 3, 4, 8, 16, 32))
    chunked = dice.random() < 0.9
    batched = max(
        slots,
        dice.choice((16, 32, 48, 64, 128, 256, 512))
        if chunked
        else max_model_len + dice.choice((0, 64)),
    )
    draft = Settings(
        kv_blocks=usable + 1, groups=groups, max_model_len=max_model_len, max_num_seqs=slots, max_num_batched_tokens=batched,
        max_num_active_seqs=dice.choice((None, None, None, max(1, slots // 2))),
        long_prefill_token_threshold=dice.choice((0, 0, 0, 24, 48)), watermark_ratio=dice.choice((0.0, 0.0, 0.02, 0.05, 0.1)),
        policy=dice.choice(("fcfs", "fcfs", "priority")), prefix_caching=dice.random() < 0.6, chunked_prefill=chunked,
        async_scheduling=dice.random() < 0.5, reserve_full_isl=dice.random() < 0.7,
        max_queued_requests=dice.choice((None, None, None, slots + dice.randint(0, 6))),
        max_queued_tokens=dice.choice((None, None, None, dice.choice((100, 300, 1000)))),
    )  # fmt: skip
    need = sum(ceil_div(max_model_len, group.block_tokens) for group in groups)
    if need > usable:
        longest = max(
            32, min(max_model_len, usable // len(groups) * min(g.block_tokens for g in groups))
        )
        draft = replaced(
            draft,
            max_model_len=longest,
            long_prefill_token_threshold=min(draft.long_prefill_token_threshold, longest),
        )
    check(draft)
    return draft, _rows(dice, draft)


def replaced(settings: Settings, **values: Any) -> Settings:
    """The settings with these fields, unchecked."""
    return Settings(**{**{name: getattr(settings, name) for name in Settings.__slots__}, **values})


def _rows(dice: random.Random, settings: Settings) -> list[Row]:
    prefixes = [
        [dice.randrange(1000) for _ in range(settings.max_model_len)]
        for _ in range(dice.randint(1, 4))
    ]
    spread = dice.choice((0, 1, 3, 8))
    at, rows = 0, []
    for index in range(dice.randint(4, 40)):
        at += dice.randint(0, spread)
        total = dice.randint(4, settings.max_model_len)
        prompt = max(
            1,
            min(
                total - 1,
                dice.choice((dice.randint(1, total), dice.randint(1, max(1, total // 3)))),
            ),
        )
        shared = dice.choice((0, 0, prompt // 2, prompt, dice.randint(0, prompt)))
        tokens = dice.choice(prefixes)[:shared] + [
            10_000 + index * 1000 + place for place in range(prompt - shared)
        ]
        output = dice.randint(1, total - prompt)
        rows.append(
            Row(str(index), float(at), prompt, output, dice.choice((0, 0, 1, 2)), tuple(tokens))
        )
    return rows


def as_json(settings: Settings, rows: list[Row], steps: int) -> dict[str, Any]:
    """The case as the oracle reads it."""
    plain = {
        name: getattr(settings, name)
        for name in Settings.__slots__
        if name not in ("groups", "behaviour", "drafting")
    }
    drafting = settings.drafting
    if drafting is not None:
        plain["drafting"] = {"method": _method(drafting), "tokens": drafting.tokens}
    return {
        "settings": plain,
        "groups": [
            [group.block_tokens, group.window_tokens, group.chunk_tokens, _state(settings, group)]
            for group in settings.groups
        ],
        "rows": [
            {
                **row._asdict(),
                "prompt_token_ids": list(row.prompt_token_ids or ()),
                "accepted": _accepted(drafting, row),
                "transfer_steps": transfer_steps(row),
            }
            for row in rows
        ],
        "steps": steps,
    }


def transfer_steps(row: Row) -> int:
    """Steps that a transfer of the request's KV takes."""
    return 1 + int(row.request_id) * 7 % 13


def _method(drafting: Drafting) -> str:
    kind = (drafting.lookahead_tokens > 0, drafting.drops_block)
    return next(method for method, known in METHODS.items() if known == kind)


def _accepted(drafting: Drafting | None, row: Row) -> list[int]:
    """Accepted drafts by how many tokens the request has produced."""
    if drafting is None:
        return []
    accepted = drafting.of_request(row.request_id)
    return [accepted.at(place) for place in range(row.output_tokens + 1)]


def _state(settings: Settings, group: KvGroup) -> str:
    """The mode of a group of states; one that is not cached is a block of the longest request."""
    return group.state or (
        "none"
        if group.block_tokens == settings.max_model_len and not settings.prefix_caching
        else ""
    )


class SeenSteps:
    """The steps of the twin, in the oracle's words."""

    def __init__(self) -> None:
        self.lines: list[list[Any]] = []

    def watch(self, line: StepLine, scheduler: Scheduler) -> None:
        """Note a step and the free blocks after it."""
        free = scheduler.kv.pool.free_block_ids()
        assert len(free) == line.free_blocks
        scheduled = [[name, count] for name, count in line.scheduled.items()]
        self.lines.append(
            [line.step, scheduled, sorted(line.preempted), line.running, line.waiting, free]
        )


def ours(settings: Settings, rows: list[Row]) -> dict[str, Any]:
    """What the twin does with the case, in the oracle's words."""
    seen = SeenSteps()
    outcome = Steps(settings, rows, EverySteps(10**9), seen.watch).run()
    return {
        "steps": seen.lines,
        "rejected": [[rejection.request_id, rejection.reason] for rejection in outcome.rejections],
        "finished": sorted(
            [life.request_id, life.finished_ns // 10**9 - 1]
            for life in outcome.lives
            if life.finished_ns is not None
        ),
        "stuck": outcome.stuck,
    }
