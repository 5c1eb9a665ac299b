"""Replicas of the twin with clients that keep their connections, in virtual time: what a scrape every
few seconds would show of each. For tests of verdicts on changes.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field

from barostat.catalog.signals import signal
from barostat.core.window import Window
from barostat.twin.linear_pace import LinearPace
from barostat.twin.scheduler.live import LiveEngine, LiveRequest, Tick
from barostat.twin.settings import Settings

STEP_S = 5.0
"""Between two scrapes."""
_NS = 10**9


@dataclass(frozen=True, slots=True)
class Clients:
    """Clients of one replica that send the next request when they have the answer.

    `count`, `longer`: at an instant, how many there are, and the factor on the length of answers.
    `same`: prompt tokens that every request begins with.
    """

    count: Callable[[float], int]
    longer: Callable[[float], float] = lambda _: 1.0
    prompt: tuple[int, int] = (150, 250)
    output: tuple[int, int] = (100, 300)
    same: int = 0


@dataclass(slots=True)
class _Open:
    """A request under way. `token_at`: when its last token came, None before the first."""

    sent_at: float
    left: int
    token_at: float | None = None


@dataclass(slots=True)
class _Tally:
    """What came in one interval."""

    arrivals: int = 0
    prompt_tokens: int = 0
    tokens: int = 0
    preempted: int = 0
    gaps: list[float] = field(default_factory=list)
    firsts: list[float] = field(default_factory=list)


class TwinReplica:
    """One engine with its clients. Mutable."""

    def __init__(
        self,
        name: str,
        settings: Settings,
        pace: LinearPace,
        clients: Clients,
        seed: int,
        *,
        restarts: float = 0.0,
    ) -> None:
        """Nothing has run. `restarts`: of its container, from then on."""
        self.name, self._settings, self._clients = name, settings, clients
        self._engine = LiveEngine(settings, pace)
        self._dice = random.Random(seed)
        self._open: dict[str, _Open] = {}
        self._sent, self._now = 0, 0
        self._points: dict[str, list[tuple[float, float]]] = {}
        self._restarts = restarts

    def run(self, from_s: float, until_s: float) -> None:
        """The scrapes from one instant to another, the first of them at the end of an interval."""
        at = from_s
        self._now = max(self._now, int(from_s * _NS))
        while at + STEP_S <= until_s:
            at += STEP_S
            tally = _Tally()
            self._note(at, tally, self._interval(at, tally))

    def window(self, at: float, since: float = 0.0) -> Window:
        """What was seen from `since` on, at that instant."""
        made = {
            name: found
            for name, points in self._points.items()
            if (found := signal(name, [one for one in points if since <= one[0] <= at], "twin"))
        }
        return Window(self.name, at, made)

    def _interval(self, until_s: float, tally: _Tally) -> Tick:
        self._send(tally)
        tick = self._engine.tick(self._now)
        while True:
            for output in tick.outputs:
                self._take(output.request_id, output.finished, tally)
                tally.preempted += output.preemptions
            self._send(tally)
            following = tick.until_ns
            if following is None or following > until_s * _NS:
                self._now = max(self._now, int(until_s * _NS))
                return tick
            self._now = following
            tick = self._engine.tick(self._now)

    def _send(self, tally: _Tally) -> None:
        now = self._now / _NS
        while len(self._open) < self._clients.count(now):
            name = f"{self.name}-{self._sent}"
            fresh = self._dice.randint(*self._clients.prompt)
            first = self._dice.randrange(10**6)
            prompt = [*range(self._clients.same), *range(first, first + fresh)]
            tokens = int(self._dice.randint(*self._clients.output) * self._clients.longer(now))
            request = LiveRequest(
                name,
                prompt,
                tokens,
                lambda place: place,
                self._settings,
                now_ns=self._now,
                arrival_s=now,
            )
            self._sent += 1
            self._open[name] = _Open(now, tokens)
            self._engine.add(request)
            tally.arrivals += 1
            tally.prompt_tokens += len(prompt)

    def _take(self, name: str, finished: bool, tally: _Tally) -> None:
        now, one = self._now / _NS, self._open[name]
        if one.token_at is None:
            tally.firsts.append(now - one.sent_at)
        else:
            tally.gaps.append(now - one.token_at)
        one.token_at = now
        tally.tokens += 1
        if finished:
            del self._open[name]

    def _note(self, at: float, tally: _Tally, end: Tick) -> None:
        values = {
            "arrivals_per_s": tally.arrivals / STEP_S,
            "prompt_tokens_per_s": tally.prompt_tokens / STEP_S,
            "generation_tokens_per_s": tally.tokens / STEP_S,
            "preemptions_per_s": tally.preempted / STEP_S,
            "running_requests": float(end.running),
            "waiting_requests": float(end.waiting),
            "kv_usage_ratio": end.usage_ratio,
            "pod_restarts": self._restarts,
        }
        if tally.gaps:
            values["itl_mean_s"] = sum(tally.gaps) / len(tally.gaps)
        if tally.firsts:
            values["ttft_mean_s"] = sum(tally.firsts) / len(tally.firsts)
        for name, value in values.items():
            self._points.setdefault(name, []).append((at, value))
