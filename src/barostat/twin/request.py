"""A request on its way through the scheduler, and the row of a workload that it comes from."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Literal, NamedTuple

Remote = Literal["", "prefill", "decode"]


class Row(NamedTuple):
    """One request of a workload. Without ids its prompt shares no prefix with any other. (A tuple:
    there are many, and it is soon made.)

    Units: `arrival_s` in seconds from the start of the run; tokens. `id_tokens`: tokens per entry
    of `hash_ids`. `after_id`: the request whose end this one waits for (a client's next, a
    session's next turn): it arrives `arrival_s` after that end, and not at all where that would be
    later than `latest_s`. `output_limit`: the max_tokens that it states, None if that is not known.
    `adapter`: the LoRA adapter that it asks for, None for the base model. `rank`: the data-parallel
    rank that a router before the engine asks for, None if the engine chooses. `remote`: the part of
    the request that another engine does (do_remote_prefill: its KV is fetched, do_remote_decode:
    its KV is held until it was fetched).
    """

    request_id: str
    arrival_s: float
    input_tokens: int
    output_tokens: int
    priority: int = 0
    prompt_token_ids: tuple[int, ...] | None = None
    hash_ids: tuple[int, ...] | None = None
    id_tokens: int | None = None
    session_id: str | None = None
    after_id: str | None = None
    latest_s: float = math.inf
    output_limit: int | None = None
    adapter: str | None = None
    rank: int | None = None
    remote: Remote = ""


class State(IntEnum):
    """Scheduling state of a request."""

    WAITING = 0
    RUNNING = 1
    PREEMPTED = 2
    FINISHED = 3
    LOADING = 4  # WAITING_FOR_REMOTE_KVS


@dataclass(slots=True)
class Moving:
    """A state that moves on with its request: the place of the one before in the table, and how
    many places need no look any more.
    """

    last: int | None = None
    retired: int = 0


@dataclass(slots=True, eq=False)
class Request:
    """A request as known to the scheduler. Mutable: the scheduler owns it.

    `tokens` = prompt and output so far; `computed_tokens` is advanced when a step is scheduled;
    `placeholders` are output tokens scheduled and not yet known (asynchronous scheduling);
    `blocks[g]` is the block table of group g, 0 the null block, `hashed_blocks[g]` how many of its
    leading blocks have been offered to the prefix cache, `moving[g]` where its state is.
    `lost_tokens` is what the last preemption threw away. `draft_tokens` wait to be verified in the
    next step that has room for them; `accepted` says how many of them are,
    by how many tokens the request has produced. `remote_tokens` of its prompt are still to be
    fetched from another engine; where it `hands_over`, its blocks are held after its end until
    another engine has fetched them. `last_step`: the number of the last step that computes it.
    """

    request_id: str
    arrival_s: float
    prompt_tokens: int
    output_limit: int
    priority: int
    own_key: int
    shared_keys: tuple[int, ...]
    groups: int
    tokens: int = 0
    computed_tokens: int = 0
    placeholders: int = 0
    in_flight_tokens: int = 0
    stale_tokens: int = 0
    preemptions: int = 0
    lost_tokens: int = 0
    last_token_ns: int = 0
    state: State = State.WAITING
    shared_boundary_tokens: int = 0
    blocks: list[list[int]] = field(default_factory=list)
    hashed_blocks: list[int] = field(default_factory=list)
    moving: dict[int, Moving] = field(default_factory=dict)
    adapter: str | None = None
    draft_tokens: int = 0
    accepted: Callable[[int], int] | None = None
    is_prefilling: bool = True
    remote_tokens: int = 0
    hands_over: bool = False
    last_step: int = 0

    def __post_init__(self) -> None:
        self.tokens = self.prompt_tokens
        self.blocks = [[] for _ in range(self.groups)]
        self.hashed_blocks = [0] * self.groups

    @property
    def output_tokens(self) -> int:
        """Tokens generated so far."""
        return self.tokens - self.prompt_tokens

    def key(self, index: int) -> int:
        """The content key of hash block `index`."""
        return self.shared_keys[index] if index < len(self.shared_keys) else self.own_key + index

    @property
    def order(self) -> tuple[int, float, str]:
        """Place in a queue by priority: lower is earlier."""
        return (self.priority, self.arrival_s, self.request_id)
