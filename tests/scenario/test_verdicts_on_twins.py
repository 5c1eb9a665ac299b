"""Changes on a small cluster of twins, judged as `mitigate` judges them: no correct one is taken back,
no wrong one is kept.

Two replicas serve; after the look, one of them is replaced by a spare with the change, and the other
stays as it was. Their clients keep their connections and send the next request when they have the
answer.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import pytest
from tests.support.twin_replicas import STEP_S, Clients, TwinReplica

from barostat.core.change import ConfigChange
from barostat.core.diagnosis import CauseName
from barostat.core.limits import ServiceLevel
from barostat.judge.mitigation.promise import promise
from barostat.remedy.acts import Judged
from barostat.remedy.verify import is_over, verify
from barostat.twin.linear_pace import LinearPace
from barostat.twin.settings import Settings

TODAY = Settings(
    kv_blocks=401, max_num_seqs=64, max_num_batched_tokens=2048, max_model_len=4096,
    prefix_caching=False,
)  # fmt: skip
"""6,400 tokens of pool: 16 requests of 400 tokens."""
ROOMY = replace(TODAY, kv_blocks=1001, max_num_seqs=12)
PACE = LinearPace(base_s=0.03, prefill_token_s=4e-4, decode_s=5e-4)
LOOK_S, SETTLE_S, SUSTAINED_S, VERIFY_S = 60.0, 10.0, 120.0, 600.0
CHANGED_AT = 100.0
TWENTY_FOUR = Clients(lambda _: 24)


def argument(name: str, value: str, former: str | None = None) -> ConfigChange:
    return ConfigChange("argument", name, former, value)


@dataclass(frozen=True, slots=True)
class Tried:
    """A change. `after`, `pace`: of the replica that has it; `clients`: of both kinds of replica
    before and of the unchanged one; `of_spare`: those of the spare, where they are others.
    """

    change: ConfigChange
    after: Settings
    pace: LinearPace = PACE
    today: Settings = TODAY
    clients: Clients = TWENTY_FOUR
    of_spare: Clients | None = None
    cause: CauseName = "kv-preemption-thrash"
    replicas: int = 2
    restarts: float = 0.0


def slower(factor: float) -> LinearPace:
    return replace(PACE, base_s=PACE.base_s * factor, decode_s=PACE.decode_s * factor)


def from_then(before: float, after: float) -> Callable[[float], float]:
    return lambda at: before if at < CHANGED_AT + 20.0 else after


def clients_from_then(before: int, after: int) -> Clients:
    return Clients(lambda at: before if at < CHANGED_AT + 20.0 else after)


CORRECT = {
    "twice the pool": Tried(argument("--kv-cache-memory-bytes", "2G", "1G"), replace(TODAY, kv_blocks=801)),
    "more memory for the pool": Tried(
        argument("--gpu-memory-utilization", "0.95", "0.8"), replace(TODAY, kv_blocks=701)
    ),
    "fp8 blocks, each step a tenth slower": Tried(
        argument("--kv-cache-dtype", "fp8"), replace(TODAY, kv_blocks=801), slower(1.1)
    ),
    "fewer graphs captured, each step a tenth slower": Tried(
        argument("--cudagraph-capture-sizes", "[1,2,4]"), replace(TODAY, kv_blocks=701), slower(1.1)
    ),
    "fewer sequences": Tried(
        argument("--max-num-seqs", "14", "64"), replace(TODAY, max_num_seqs=14)
    ),
    "fewer active sequences": Tried(
        argument("--max-num-active-seqs", "13"), replace(TODAY, max_num_active_seqs=13)
    ),
    "more cards for each replica": Tried(
        argument("--tensor-parallel-size", "2", "1"), replace(TODAY, kv_blocks=1201), slower(0.7)
    ),
    "the same beginnings are shared": Tried(
        argument("--enable-prefix-caching", "True"),
        replace(TODAY, kv_blocks=501, prefix_caching=True),
        today=replace(TODAY, kv_blocks=501),
        clients=Clients(lambda _: 24, prompt=(20, 40), same=176),
    ),
    "twice the pool, of the only replica": Tried(
        argument("--kv-cache-memory-bytes", "2G", "1G"), replace(TODAY, kv_blocks=801), replicas=1
    ),
    "twice the pool, while answers become longer": Tried(
        argument("--kv-cache-memory-bytes", "2G", "1G"),
        replace(TODAY, kv_blocks=1001),
        clients=Clients(lambda _: 24, longer=from_then(1.0, 1.4)),
    ),
    "twice the pool, while a third of the clients leave": Tried(
        argument("--kv-cache-memory-bytes", "2G", "1G"),
        replace(TODAY, kv_blocks=801),
        clients=clients_from_then(30, 20),
    ),
    "more sequences where slots are short": Tried(
        argument("--max-num-seqs", "48", "12"), replace(ROOMY, max_num_seqs=48), today=ROOMY,
        cause="slot-bound",
    ),
}  # fmt: skip
WRONG = {
    "a setting without effect": Tried(argument("--max-model-len", "4000", "4096"), TODAY),
    "a tenth of the pool less": Tried(
        argument("--gpu-memory-utilization", "0.75", "0.8"), replace(TODAY, kv_blocks=361)
    ),
    "too little more pool": Tried(
        argument("--gpu-memory-utilization", "0.81", "0.8"), replace(TODAY, kv_blocks=421)
    ),
    "one sequence at a time": Tried(
        argument("--max-num-seqs", "1", "64"), replace(TODAY, max_num_seqs=1)
    ),
    "three sequences at a time": Tried(
        argument("--max-num-seqs", "3", "64"), replace(TODAY, max_num_seqs=3)
    ),
    "a larger pool with steps three times as slow": Tried(
        argument("--cpu-offload-gb", "8"), replace(TODAY, kv_blocks=801), slower(3.0)
    ),
    "more tokens in a step": Tried(
        argument("--max-num-batched-tokens", "8192", "2048"),
        replace(TODAY, max_num_batched_tokens=8192),
    ),
    "no effect, and half of all clients leave": Tried(
        argument("--max-model-len", "4000", "4096"), TODAY, clients=clients_from_then(24, 12)
    ),
    "no effect, and the clients stay with the other replica": Tried(
        argument("--max-model-len", "4000", "4096"), TODAY, of_spare=Clients(lambda _: 10)
    ),
    "no effect, and answers become short": Tried(
        argument("--max-model-len", "4000", "4096"),
        TODAY,
        clients=Clients(lambda _: 24, longer=from_then(1.0, 0.3)),
    ),
    "no effect, of the only replica, and half of its clients leave": Tried(
        argument("--max-model-len", "4000", "4096"), TODAY, replicas=1,
        clients=clients_from_then(24, 12),
    ),
    "twice the pool, and it restarts": Tried(
        argument("--kv-cache-memory-bytes", "2G", "1G"), replace(TODAY, kv_blocks=801), restarts=1.0
    ),
    "no effect where slots are short, and some clients leave": Tried(
        argument("--max-model-len", "4000", "4096"), ROOMY, today=ROOMY, cause="slot-bound",
        clients=clients_from_then(24, 17),
    ),
    "no effect where slots are short, and the clients stay with the other replica": Tried(
        argument("--max-model-len", "4000", "4096"), ROOMY, today=ROOMY, cause="slot-bound",
        of_spare=Clients(lambda _: 16),
    ),
    "fewer sequences where slots are short": Tried(
        argument("--max-num-seqs", "8", "12"), replace(ROOMY, max_num_seqs=8), today=ROOMY,
        cause="slot-bound",
    ),
}  # fmt: skip


def verdict(tried: Tried, seed: int = 1) -> tuple[Judged, float]:
    """The verdict, and seconds until it was there."""
    names = [f"vllm-{place}" for place in range(tried.replicas)]
    fleet = [
        TwinReplica(name, tried.today, PACE, tried.clients, seed + place)
        for place, name in enumerate(names)
    ]
    for replica in fleet:
        replica.run(0.0, CHANGED_AT)
    windows = [replica.window(CHANGED_AT, CHANGED_AT - LOOK_S) for replica in fleet]
    worst = max(windows, key=lambda window: window["preemptions_per_s"].mean)
    expectation, former = promise(
        tried.cause, tried.change, worst, ServiceLevel(), replicas=tried.replicas,
        sustained_s=SUSTAINED_S, fleet=windows,
    )  # fmt: skip
    spare = TwinReplica(
        "spare", tried.after, tried.pace, tried.of_spare or tried.clients, seed + 10,
        restarts=tried.restarts,
    )  # fmt: skip
    unchanged = fleet[1:]
    since, at = CHANGED_AT + SETTLE_S, CHANGED_AT
    while True:
        for replica in (spare, *unchanged):
            replica.run(at, at + STEP_S)
        at += STEP_S
        if at < since + SUSTAINED_S:
            continue
        control = [replica.window(at, since) for replica in unchanged]
        judged = verify(expectation, dict(former), spare.window(at, since), since, control)
        left_s = CHANGED_AT + VERIFY_S - at
        if left_s <= 0 or is_over(judged, left_s, fresh=True):
            return judged, at - CHANGED_AT


@pytest.mark.sweep
@pytest.mark.parametrize("named", CORRECT)
def test_a_correct_change_stays(named: str) -> None:
    judged, _ = verdict(CORRECT[named])
    assert judged.outcome == "better", judged.reasons


@pytest.mark.sweep
@pytest.mark.parametrize("named", WRONG)
def test_a_wrong_change_is_taken_back(named: str) -> None:
    judged, _ = verdict(WRONG[named])
    assert judged.outcome != "better", judged.reasons
