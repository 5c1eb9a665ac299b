"""What clients in a closed loop see of an engine: each sends a request, waits for all of its
answer, and sends the next.

    |<---- front ----|-- waits --|-- its prompt, in steps with the others' tokens --|-- a token a step ... --| next request
    ttft_s ------------------------------------------------------------------------>|
                                                             tpot_s: the rest, over its tokens less
                                                             one

Steps are taken one after the other as vLLM's scheduler takes them (running requests first, prompts
in chunks of what is left of the budget, first come first served, no more requests than the pool
holds); those between two arrivals or ends are taken at once. Prompts and answers are spread evenly
between their shortest and longest, without dice. All clients begin together, as load generators do:
that first wave waits for its prompts one after the other, and is a tenth of the mean over ten.
"""

from __future__ import annotations

import heapq
import math
from collections import deque
from dataclasses import dataclass, field
from typing import Protocol

from barostat.kv.step_time.model import StepLoad

_GOLDEN, _PLASTIC = (
    0.6180339887,
    0.7548776662,
)  # steps round the circle that spread evenly, for prompts and for answers
_MEAN_PROGRESS = 0.5  # of its answer, that a decoding request holds in the cache on average


@dataclass(frozen=True, slots=True)
class Clients:
    """Clients and what they ask for. `shortest_ratio`: the shortest prompt over the longest, and so
    for answers. `waves`: requests of each client.
    """

    number: int
    prompt_tokens: int
    output_tokens: int
    shortest_ratio: float = 1.0
    waves: int = 10

    def prompts(self) -> list[int]:
        """The tokens of every prompt, in order of sending."""
        return self._spread(self.prompt_tokens, _GOLDEN, 1)

    def outputs(self) -> list[int]:
        """The tokens of every answer."""
        return self._spread(self.output_tokens, _PLASTIC, 2)

    def _spread(self, longest: int, turn: float, least: int) -> list[int]:
        width = 1 - self.shortest_ratio
        return [
            max(least, round(longest * (1 - width * (place * turn % 1))))
            for place in range(self.number * self.waves)
        ]


@dataclass(frozen=True, slots=True)
class SeenByClients:
    """Means over all requests. `running`: requests that decode, on average over the time."""

    ttft_s: float
    tpot_s: float
    running: float


class Steps(Protocol):
    """Step times, and the latency that clients see in addition."""

    def step_s(self, load: StepLoad) -> float:
        """How long a step of this load takes."""

    def front_s(self, prompt_tokens: float) -> float:
        """From a client to the scheduler."""

    @property
    def delivery_steps(self) -> float:
        """Steps that pass before and after those that compute a prompt, until its client has the
        first token.
        """


@dataclass(slots=True)
class _Run:
    """One closed loop under way. `prefilled`: tokens of waiting prompts that earlier steps took.
    `left`: tokens that each decoding request still has to make.
    """

    model: Steps
    prompts: list[int]
    outputs: list[int]
    budget_tokens: int
    pool_tokens: float
    max_running: int
    now_s: float = 0.0
    sent: int = 0
    coming: list[tuple[float, int]] = field(default_factory=list)
    waiting: deque[int] = field(default_factory=deque)
    prefilled: dict[int, int] = field(default_factory=dict)
    left: dict[int, int] = field(default_factory=dict)
    sent_s: list[float] = field(default_factory=list)
    first_s: dict[int, float] = field(default_factory=dict)
    ended_s: dict[int, float] = field(default_factory=dict)
    cached_tokens: float = 0.0
    held_tokens: float = 0.0
    decoding_s: float = 0.0

    def send(self) -> None:
        """The next request leaves its client now, if there is one."""
        if self.sent < len(self.prompts):
            self.sent_s.append(self.now_s)
            heapq.heappush(
                self.coming, (self.now_s + self.model.front_s(self.prompts[self.sent]), self.sent)
            )
            self.sent += 1

    def step(self) -> None:
        """Run one step, or all identical steps until a request arrives or ends."""
        while self.coming and self.coming[0][0] <= self.now_s:
            self.waiting.append(heapq.heappop(self.coming)[1])
        parts, pairs = self._scheduled()
        running = len(self.left)
        if not parts and not running:
            self.now_s = max(self.now_s, self.coming[0][0])
            return
        steps = 1
        if parts:
            tokens = sum(taken for _, taken in parts)
            ending = sum(self.prefilled[place] >= self.prompts[place] for place, _ in parts)
            took_s = self.model.step_s(StepLoad(tokens, running, self.cached_tokens, pairs, ending))
        else:
            steps = min(self.left.values())
            took_s = self.model.step_s(
                StepLoad(decodes=running, cached_tokens=self.cached_tokens + running * steps / 2)
            )
            if self.coming:
                steps = max(1, min(steps, math.ceil((self.coming[0][0] - self.now_s) / took_s)))
        self.now_s += took_s * steps
        self.decoding_s += took_s * steps * running
        self._produce(steps)
        self._begin(parts)

    def _scheduled(self) -> tuple[list[tuple[int, int]], float]:
        """Waiting prompts and how many of their tokens fit into the step, and the pairs that these
        make.
        """
        room, pairs = self.budget_tokens - len(self.left), 0.0
        parts: list[tuple[int, int]] = []
        for place in self.waiting:
            before = self.prefilled.get(place, 0)
            needs = 0.0 if before else self.prompts[place] + self.outputs[place] * _MEAN_PROGRESS
            alone = not self.left and not parts
            full = (
                self.held_tokens + needs > self.pool_tokens
                or len(self.left) + len(parts) >= self.max_running
            )
            if room <= 0 or (full and not before and not alone):
                break
            taken = min(room, self.prompts[place] - before)
            self.held_tokens += needs
            self.prefilled[place] = before + taken
            pairs += taken * before + taken * taken / 2
            room -= taken
            parts.append((place, taken))
        return parts, pairs

    def _produce(self, steps: int) -> None:
        self.cached_tokens += len(self.left) * steps
        for place in list(self.left):
            self.left[place] -= steps
            if self.left[place] <= 0:
                del self.left[place]
                self.cached_tokens -= self.prompts[place] + self.outputs[place]
                self.held_tokens -= self.prompts[place] + self.outputs[place] * _MEAN_PROGRESS
                self.ended_s[place] = self.now_s
                self.send()

    def _begin(self, parts: list[tuple[int, int]]) -> None:
        for place, _ in parts:
            if self.prefilled[place] >= self.prompts[place]:
                self.waiting.remove(place)
                self.first_s[place] = self.now_s
                self.left[place] = self.outputs[place] - 1
                self.cached_tokens += self.prompts[place] + 1


def closed_loop(
    model: Steps,
    clients: Clients,
    *,
    budget_tokens: int = 8192,
    pool_tokens: float = math.inf,
    max_running: int = 1024,
) -> SeenByClients:
    """Return the latencies and throughput that the clients see. `budget_tokens`:
    max_num_batched_tokens; `pool_tokens`: that the KV cache holds.
    """
    run = _Run(model, clients.prompts(), clients.outputs(), budget_tokens, pool_tokens, max_running)
    for _ in range(clients.number):
        run.send()
    total = len(run.prompts)
    while len(run.ended_s) < total:
        run.step()
    tpot_s = (
        sum(
            (run.ended_s[place] - run.first_s[place]) / (run.outputs[place] - 1)
            for place in range(total)
        )
        / total
    )
    ttft_s = sum(run.first_s[place] - run.sent_s[place] for place in range(total)) / total
    return SeenByClients(ttft_s + model.delivery_steps * tpot_s, tpot_s, run.decoding_s / run.now_s)
