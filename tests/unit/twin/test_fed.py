"""An engine that is fed as it runs does what it does when it knows all that will come."""

from __future__ import annotations

import random

import pytest

from barostat.twin.fed import FedEngine
from barostat.twin.forms import state_for
from barostat.twin.linear_pace import LinearPace
from barostat.twin.request import Row
from barostat.twin.scheduler.run import Steps
from barostat.twin.settings import KvGroup, Settings

LAYOUTS = (
    (KvGroup(16),),
    (KvGroup(16), KvGroup(16, 128)),
    (KvGroup(16), KvGroup(16, chunk_tokens=256)),
    (KvGroup(16), KvGroup(16, state="align")),
)
PACE = LinearPace(0.01, 1e-5, 5e-5, 2e-8)


def rows(seed: int, count: int = 150) -> list[Row]:
    dice = random.Random(seed)
    at = 0.0
    made = []
    for number in range(count):
        at += dice.expovariate(12.0)
        made.append(Row(str(number), round(at, 6), dice.randint(1, 700), dice.randint(1, 200)))
    return made


@pytest.mark.parametrize(
    "seed", [0, *(pytest.param(seed, marks=pytest.mark.sweep) for seed in range(1, 6))]
)
@pytest.mark.parametrize("stretch_s", [0.05, 0.7])
@pytest.mark.parametrize("groups", LAYOUTS)
def test_fed_in_stretches_equals_known_beforehand(
    seed: int, stretch_s: float, groups: tuple[KvGroup, ...]
) -> None:
    settings = Settings(
        kv_blocks=(220 + 60 * seed) * len(groups),
        groups=groups,
        max_model_len=4096,
        max_num_seqs=24,
        max_num_batched_tokens=512,
        prefix_caching=groups[-1].state != "",
    )
    wanted = Steps(settings, rows(seed), PACE).run()
    engine = FedEngine(settings, PACE, state_for(settings, rows(seed)))
    coming = rows(seed)
    ended: list[tuple[str, int]] = []
    at_s = 0.0
    while coming or engine.busy:
        at_s += stretch_s
        while coming and coming[0].arrival_s < at_s:
            row = coming.pop(0)
            engine.put(row, row.arrival_s)
        while more := engine.advance(round(at_s * 1e9)):
            ended += more
    assert {life.request_id: life for life in engine.lives} == {
        life.request_id: life for life in wanted.lives
    }
    assert engine.load[3] == wanted.preemptions
    assert wanted.preemptions > 0 or seed or len(groups) > 1
    assert dict(ended) == {life.request_id: life.finished_ns for life in wanted.lives}


def test_progress_is_what_each_has_produced() -> None:
    engine = FedEngine(Settings(kv_blocks=100, prefix_caching=False), LinearPace(0.01))
    engine.put(Row("a", 0.0, 10, 50), 0.0)
    engine.advance(round(0.2005 * 1e9))
    ((name, tokens),) = engine.progress()
    assert (name, tokens) == ("a", 21)
    used, running, waiting, preemptions = engine.load
    assert (round(used * 99), running, waiting, preemptions) == (2, 1, 0, 0)
