"""An incident that ended well, with what was measured before and after."""

from __future__ import annotations

import math
from dataclasses import replace

from tests.support.remedy_dialogue import a_plan

from barostat.core.change import pressure_relieved
from barostat.core.signal import Point
from barostat.judge.mitigation.measurements import OVER_TIME, Look, When
from barostat.remedy.acts import PodRef
from barostat.remedy.state import Condition, Entry, State

AT = 1_763_788_800.0
TIMES = (
    (0, "Confirming", "kv-preemption-thrash: max-num-seqs, --max-num-seqs: 64 -> 16"), (32, "Planned", ""), (41, "Approved", ""),
    (41, "Preparing", ""), (42, "ClaimHome", ""), (43, "CreateSpare", "index 0"), (131, "AwaitSpare", "spare-0"), (131, "Changing", ""),
    (133, "JoinRotation", "spare-0"), (133, "Draining", ""), (135, "Detach", "home-0"), (172, "AwaitDrained", "home-0"),
    (172, "Verifying", ""), (307, "Observe", "preemptions_per_s 0, at most 0.01; arrivals_per_s 3.1, 0.98 of before"),
    (307, "Promoting", ""), (330, "PatchTemplate", ""), (421, "AwaitHome", ""), (440, "ReleaseHome", ""), (441, "Done", "it is in force"),
)  # fmt: skip
SPARE, HOME = "vllm-spare-a1b2c3-0-x7", "vllm-5d8f-qk2wz"


def series(from_s: int, until_s: int, level: float, swing: float) -> tuple[Point, ...]:
    return tuple(
        Point(AT + at, round(max(0.0, level + swing * math.sin(at / 9.0)), 4))
        for at in range(from_s, until_s + 1, 5)
    )


def a_look(when: When, pod: str, from_s: int, until_s: int, *levels: tuple[float, float]) -> Look:
    found = {
        name: series(from_s, until_s, *level) for name, level in zip(OVER_TIME, levels, strict=True)
    }
    for mean, p99 in (("ttft_mean_s", "ttft_p99_s"), ("itl_mean_s", "itl_p99_s")):
        found[p99] = (Point(AT + until_s, 1.8 * found[mean][0].value),)
    return Look(when, pod, "", found)


ILL = (
    (0.985, 0.015),
    (3.1, 1.4),
    (52.0, 6.0),
    (21.0, 8.0),
    (610.0, 70.0),
    (2.9, 0.9),
    (0.11, 0.03),
)
WELL = (
    (0.74, 0.05),
    (0.0, 0.0),
    (15.0, 1.0),
    (9.0, 4.0),
    (790.0, 25.0),
    (0.9, 0.2),
    (0.034, 0.002),
)
LOOKS = (
    a_look("before", HOME, -45, -15, *ILL),
    a_look("before", "vllm-5d8f-zz9tp", -45, -15, *((0.97 * level, swing) for level, swing in ILL)),
    a_look("before", HOME, 2, 32, *ILL),
    a_look("after", SPARE, 172, 307, *WELL),
)
PLAN = replace(
    a_plan(replicas=2),
    made_at=AT - 10.0,
    expectation=pressure_relieved(2.0, 0.1),
    baseline=(
        ("arrivals_per_s", 3.2),
        ("generation_tokens_per_s", 640.0),
        ("preemptions_per_s", 3.1),
    ),
)
STATE = State(
    PLAN,
    phase="Done",
    why="--max-num-seqs: 64 -> 16 is in force",
    timeline=tuple(Entry(AT + at, event, detail) for at, event, detail in TIMES),
    conditions=(Condition("Verified", "True", "preemptions_per_s 0, at most 0.01", AT + 307.0),),
    pods=(("home-0", PodRef(HOME, "u1")), ("spare-0", PodRef(SPARE, "u2"))),
)
