"""Budgets in a real Redis: never exceeded, always back to zero, whatever dies, and whatever its
clock does.
"""

from __future__ import annotations

import asyncio
import itertools
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Coroutine, Iterator
from pathlib import Path
from typing import Any

import pytest
import redis
from dev import setup_redis
from dev.free_port import free_port
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from barostat.io.redis.budget_scripts import scripts
from barostat.io.redis.shared_budget import (
    BudgetClaim,
    BudgetFull,
    SharedBudget,
    Taken,
    Unreachable,
)

LIMIT = {"pool": 100, "tenant": 40}
NAMES = itertools.count()
_LOOK = """
local parts = {}
for _, key in ipairs(redis.call('KEYS', KEYS[1] .. ':of:*')) do
  for _, text in ipairs(redis.call('HVALS', key)) do table.insert(parts, text) end
end
return cjson.encode({held = redis.call('HGETALL', KEYS[1] .. ':held'), parts = parts})
"""
_CLOCK = "redis.call('HMGET', 'test-clock', 's', 'us')"


def _pairs(flat: list[str]) -> Iterator[tuple[str, str]]:
    return zip(flat[::2], flat[1::2], strict=True)


class Server:
    """A Redis of our own, that can be killed and come back."""

    def __init__(self, folder: Path) -> None:
        self.port = free_port()
        self.folder = folder
        self.url = f"redis://127.0.0.1:{self.port}/0"
        self.start()

    def start(self) -> None:
        """It answers."""
        self._process = setup_redis.start(self.port, self.folder)
        self.client = redis.Redis(port=self.port, decode_responses=True)
        end = time.monotonic() + 10
        while True:
            try:
                assert self.client.ping()
                return
            except redis.ConnectionError:
                assert time.monotonic() < end, "Redis does not start"
                time.sleep(0.02)

    def kill(self) -> None:
        """It is gone, as if the machine had lost power."""
        self.client.close()
        self._process.kill()
        self._process.wait()

    def held(self, namespace: str) -> dict[str, int]:
        """What all gateways hold, by budget; the same as the sum of what each holds."""
        seen = json.loads(str(self.client.eval(_LOOK, 1, "{" + namespace + "}")))
        held = {name: int(tokens) for name, tokens in _pairs(list(seen["held"]))}
        parts: dict[str, int] = {}
        for text in seen["parts"]:
            for name, tokens in json.loads(text).items():
                parts[name] = parts.get(name, 0) + int(tokens)
        assert held == parts
        return held


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    if not setup_redis.is_installed():
        why = "a real Redis is not set up here: run `make redis`"
        if os.environ.get("CI") == "true":
            pytest.fail(why)
        pytest.skip(why)
    started = Server(tmp_path_factory.mktemp("redis"))
    yield started
    started.kill()


@pytest.fixture
def namespace() -> str:
    return f"test-{next(NAMES)}"


def _claims(**tokens: int) -> dict[str, BudgetClaim]:
    return {name: BudgetClaim(count, LIMIT[name]) for name, count in tokens.items()}


# -- against a model, on a clock of the test


class _Model(RuleBasedStateMachine):
    """Two gateways, a clock that steps, deaths. The model: who holds what, by the rules of the
    docstrings.
    """

    server: Server

    @initialize()
    def begin(self) -> None:
        self.loop = asyncio.new_event_loop()
        self.namespace = f"model-{next(NAMES)}"
        self.wall_ms, self.steady = 1_000_000_000, 0
        self.seen_ms: int | None = None
        self.leases: dict[str, int] = {}
        self.holds: dict[str, dict[int, dict[str, int]]] = {}
        self.gateways: list[SharedBudget] = []
        self._tell_time()
        for _ in range(2):
            self.new_gateway()

    def run(self, what: Coroutine[Any, Any, Any]) -> Any:
        return self.loop.run_until_complete(what)

    def _tell_time(self) -> None:
        self.server.client.hset(
            "test-clock", mapping={"s": self.wall_ms // 1000, "us": self.wall_ms % 1000 * 1000}
        )

    def _name(self, gateway: SharedBudget) -> str:
        return str(gateway._own[0])

    def _now(self) -> int:
        if self.seen_ms is not None:
            self.steady += max(0, min(self.wall_ms - self.seen_ms, 3000))
        self.seen_ms = self.wall_ms
        return self.steady

    def _reap(self, at: int) -> None:
        for name in [name for name, ends in self.leases.items() if ends <= at]:
            del self.leases[name], self.holds[name]

    def _beaten(self, gateway: SharedBudget) -> None:
        at = self._now()
        self.leases[self._name(gateway)] = at + 9000
        self._reap(at)
        self.holds[self._name(gateway)] = {
            number: dict(amounts or {}) for number, amounts in gateway.live.items()
        }

    def _sum(self, budget: str) -> int:
        return sum(
            amounts.get(budget, 0) for held in self.holds.values() for amounts in held.values()
        )

    @precondition(lambda self: len(self.gateways) < 3)
    @rule()
    def new_gateway(self) -> None:
        gateway = SharedBudget(
            self.server.url, self.namespace, f"g{next(NAMES)}", within_s=5, texts=scripts(_CLOCK)
        )
        self.gateways.append(gateway)
        assert self.run(gateway.beat())
        self._beaten(gateway)

    @rule(by_ms=st.sampled_from([-10_000_000, -500, 100, 2500, 4000, 10_000, 10_000_000]))
    def clock(self, by_ms: int) -> None:
        self.wall_ms += by_ms
        self._tell_time()

    @rule(which=st.integers(0, 2), pool=st.integers(0, 60), tenant=st.integers(0, 30))
    def take(self, which: int, pool: int, tenant: int) -> None:
        gateway = self.gateways[which % len(self.gateways)]
        outcome = self.run(gateway.take(_claims(pool=pool, tenant=tenant)))
        at = self._now()
        self._reap(at)
        if self._name(gateway) not in self.leases:
            self._beaten_before(gateway, outcome)
        fits = self._sum("pool") + pool <= 100 and self._sum("tenant") + tenant <= 40
        assert isinstance(outcome, Taken if fits else BudgetFull)
        if isinstance(outcome, Taken):
            self.holds[self._name(gateway)][outcome.number] = {"pool": pool, "tenant": tenant}

    def _beaten_before(self, gateway: SharedBudget, outcome: object) -> None:
        self._beaten(gateway)
        if isinstance(outcome, Taken):
            del self.holds[self._name(gateway)][outcome.number]

    @rule(which=st.integers(0, 2), index=st.integers(0, 20))
    def give_back(self, which: int, index: int) -> None:
        gateway = self.gateways[which % len(self.gateways)]
        if gateway.live:
            number = list(gateway.live)[index % len(gateway.live)]
            self.run(gateway.give_back(number))
            self.run(gateway.give_back(number))
            self.holds.get(self._name(gateway), {}).pop(number, None)

    @rule(which=st.integers(0, 2))
    def beat(self, which: int) -> None:
        gateway = self.gateways[which % len(self.gateways)]
        assert self.run(gateway.beat())
        self._beaten(gateway)

    @precondition(lambda self: len(self.gateways) > 1)
    @rule(which=st.integers(0, 2))
    def dies(self, which: int) -> None:
        gateway = self.gateways.pop(which % len(self.gateways))
        self.run(gateway._client.aclose())

    @invariant()
    def redis_holds_what_the_model_holds(self) -> None:
        if hasattr(self, "loop"):
            held = self.server.held(self.namespace)
            assert {name: held.get(name, 0) for name in LIMIT} == {
                name: self._sum(name) for name in LIMIT
            }

    def teardown(self) -> None:
        """The last one gives back what it has; what the dead held comes back within a lease of its
        beats: zero.
        """
        if not hasattr(self, "loop"):
            return
        last = self.gateways[0]
        for gateway in self.gateways[1:]:
            self.run(gateway.close())
        for number in list(last.live):
            self.run(last.give_back(number))
        for _ in range(5):
            self.wall_ms += 2900
            self._tell_time()
            assert self.run(last.beat())
        assert self.server.held(self.namespace) == {}
        self.run(last.close())
        self.loop.close()


def test_any_interleaving_keeps_to_the_model(server: Server) -> None:
    class _OnServer(_Model):
        pass

    _OnServer.server = server
    run_state_machine_as_test(
        _OnServer,
        settings=settings(
            max_examples=60,
            stateful_step_count=30,
            deadline=None,
            suppress_health_check=list(HealthCheck),
        ),
    )


# -- races and deaths, on Redis's own clock


def test_two_gateways_at_once_never_exceed_one_budget(server: Server, namespace: str) -> None:
    async def main() -> tuple[int, int, int]:
        pair = [
            SharedBudget(server.url, namespace, f"race-{index}", within_s=5) for index in range(2)
        ]
        for gateway in pair:
            assert await gateway.start()
        holding = most = full = 0

        async def work(gateway: SharedBudget) -> None:
            nonlocal holding, most, full
            for turn in range(40):
                outcome = await gateway.take(_claims(pool=7 + turn % 5))
                if isinstance(outcome, Taken):
                    holding += 7 + turn % 5
                    most = max(most, holding)
                    await asyncio.sleep(0)
                    holding -= 7 + turn % 5
                    await gateway.give_back(outcome.number)
                else:
                    assert isinstance(outcome, BudgetFull)
                    full += 1

        await asyncio.gather(*(work(gateway) for gateway in pair for _ in range(12)))
        held = server.held(namespace)
        for gateway in pair:
            await gateway.close()
        return most, full, sum(held.values())

    most, full, left = asyncio.run(main())
    assert 50 < most <= 100
    assert full > 0
    assert left == 0


_HOLDER = """
import asyncio, sys
from barostat.io.redis.shared_budget import BudgetClaim, SharedBudget
async def main():
    budget = SharedBudget(sys.argv[1], sys.argv[2], "holder", lease_s=0.9, within_s=5)
    await budget.start()
    for _ in range(9):
        print(await budget.take({"pool": BudgetClaim(10, 100)}), flush=True)
    await asyncio.sleep(60)
asyncio.run(main())
"""


def test_what_a_killed_gateway_held_comes_back_after_its_lease(
    server: Server, namespace: str
) -> None:
    async def main() -> None:
        other = SharedBudget(server.url, namespace, "other", lease_s=0.9, within_s=5)
        assert await other.start()
        holder = subprocess.Popen(
            [sys.executable, "-c", _HOLDER, server.url, namespace],
            stdout=subprocess.PIPE,
            text=True,
        )
        assert holder.stdout is not None
        for _ in range(9):
            assert "Taken" in await asyncio.to_thread(holder.stdout.readline)
        await asyncio.sleep(1.5)  # it lives: more than a lease changes nothing
        assert isinstance(await other.take(_claims(pool=20)), BudgetFull)
        holder.send_signal(signal.SIGKILL)
        holder.wait()
        assert isinstance(await other.take(_claims(pool=20)), BudgetFull)
        await asyncio.sleep(2.5)
        assert isinstance(await other.take(_claims(pool=100)), Taken)
        await other.close()

    asyncio.run(main())
    assert server.held(namespace) == {}


@pytest.mark.parametrize("forgets", [False, True])
def test_redis_gone_and_back(tmp_path: Path, server: Server, namespace: str, forgets: bool) -> None:
    del server  # one of its own is killed here; the fixture says whether there is any
    own = Server(tmp_path / "own")

    async def main() -> None:
        closed = SharedBudget(own.url, namespace, "closed", within_s=1)
        opens = SharedBudget(own.url, namespace, "open", opens=True, within_s=1)
        assert await closed.start()
        assert await opens.start()
        before = await opens.take(_claims(pool=30))
        returned = await closed.take(_claims(pool=10))
        assert isinstance(before, Taken)
        assert isinstance(returned, Taken)
        own.kill()
        assert await closed.take(_claims(pool=5)) == Unreachable()
        passed = await opens.take(_claims(pool=50))
        assert isinstance(passed, Taken)
        assert not passed.accounted
        await closed.give_back(returned.number)
        assert not await closed.beat()
        if forgets:
            shutil.rmtree(own.folder)
        own.start()
        assert await closed.beat()
        assert await opens.beat()
        assert own.held(namespace) == {"pool": 80}  # what runs, told by those who know
        assert isinstance(await closed.take(_claims(pool=30)), BudgetFull)
        for number in (before.number, passed.number):
            await opens.give_back(number)
        assert own.held(namespace) == {}
        await closed.close()
        await opens.close()

    asyncio.run(main())
    own.kill()
