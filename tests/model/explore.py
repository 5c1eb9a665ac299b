"""`make explore`: every interleaving of the remedy in small worlds, for each law and each kind of
workload, every sequence of events through the operator's step, and a seeded defect for each that
must be caught.

python -m tests.model.explore                 the full walks, then the defects
python -m tests.model.explore small           the worlds of `make test`
python -m tests.model.explore defects         the defects alone
python -m tests.model.explore kind Rollout    the walks of one kind
python -m tests.model.explore law L4          the walk in which the defect of that law, or kind, must be caught (on a patched copy)
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path

from tests.model.cluster import Setting
from tests.model.explorer import Found, explore
from tests.model.operator_walk import walk as walk_operator

from barostat.remedy.plan import ROLLBACK

ROOT = Path(__file__).resolve().parents[2]
DEFECTS = Path(__file__).resolve().parent / "defects"
ONE = ("fewer-slots",)
TWO = ("fewer-slots", "watermark")
BACK = ("fewer-slots", ROLLBACK)

FULL: dict[str, Setting] = {
    "three replicas, one spare GPU, two levers; crashes, strays": Setting(others=(), aborts=False),
    "three replicas, one spare GPU, one lever; other people, aborts": Setting(
        levers=ONE, crashes=False
    ),
    "three replicas, in place, two levers; crashes, strays, aborts": Setting(
        strategy="in-place", gpus=3, others=()
    ),
    "two replicas, two spare GPUs, one lever; crashes, strays": Setting(
        replicas=2, gpus=4, levers=ONE, others=(), aborts=False
    ),
    "one replica, one spare GPU, two levers; everything": Setting(replicas=1, gpus=2),
    "one replica, one spare GPU, one lever; handed off and resumed": Setting(
        replicas=1, gpus=2, levers=ONE, strays=False, resumes=True
    ),
    "three replicas, a stuck rollout; everything, handed off and resumed": Setting(
        strategy="stuck-rollout", levers=ONE, others=("template", "claim", "rival"), resumes=True
    ),
    "one replica, one spare GPU, one lever; an owner that stays paused; everything": Setting(
        replicas=1, gpus=2, levers=ONE, owner="git-ops"
    ),
    "one replica and one more, one lever; GitOps; handed off and resumed": Setting(
        replicas=1,
        gpus=2,
        strategy="scale-out",
        levers=ONE,
        owner="git-ops",
        strays=False,
        resumes=True,
    ),
    "two replicas, in place, one lever; an autoscaler; crashes, strays, aborts": Setting(
        replicas=2, gpus=2, strategy="in-place", levers=ONE, owner="autoscaler", others=("rival",)
    ),
    "one replica and one more, two levers; an autoscaler; everything": Setting(
        replicas=1, gpus=2, strategy="scale-out", owner="autoscaler"
    ),
    "one replica and one more, one lever; GitOps that has it again; everything": Setting(
        replicas=1, gpus=2, strategy="scale-out", levers=ONE, owner="git-ops"
    ),
    (
        "one replica, a gateway that holds two limits one after the other; everything, handed "
        "off and resumed"
    ): Setting(replicas=1, gpus=1, strategy="edge-live", resumes=True),
    "two replicas and one more, two levers; everything": Setting(
        replicas=2, gpus=3, strategy="scale-out"
    ),
    "one replica, one spare GPU; the version before is kept and taken back; everything": Setting(
        replicas=1, gpus=2, levers=BACK, keeps=True, others=("template", "claim", "rival", "gpu")
    ),
    "one replica, one spare GPU; kept and taken back; handed off and resumed": Setting(
        replicas=1, gpus=2, levers=BACK, keeps=True, strays=False, others=("gpu",), resumes=True
    ),
    "two replicas, one spare GPU; the version before is kept and taken back; crashes, strays": (
        Setting(gpus=3, replicas=2, levers=BACK, keeps=True, others=("gpu",), aborts=False)
    ),
}
_CALM = Setting(replicas=2, gpus=3, levers=ONE, others=(), aborts=False, crashes=False, attempts=1)
SMALL: dict[str, Setting] = {
    "one replica, one spare GPU; crashes, strays": replace(_CALM, replicas=1, gpus=2, crashes=True),
    "two replicas, one spare GPU; other people": replace(_CALM, others=("template", "rival")),
    "two replicas, in place; aborts": replace(_CALM, gpus=2, strategy="in-place", aborts=True),
    "two replicas, a stuck rollout; everything": replace(
        _CALM, strategy="stuck-rollout", others=("template", "rival"), crashes=True, aborts=True
    ),
    "one replica, one spare GPU; an owner that stays paused": replace(
        _CALM, replicas=1, gpus=2, owner="git-ops", crashes=True
    ),
    "one replica and one more; GitOps that has it again": replace(
        _CALM, replicas=1, gpus=2, strategy="scale-out", owner="git-ops", crashes=True, aborts=True
    ),
    "one replica, a gateway that holds a limit; everything": replace(
        _CALM,
        replicas=1,
        gpus=1,
        strategy="edge-live",
        others=("template", "claim", "rival"),
        crashes=True,
        aborts=True,
    ),
    "one replica and one more; crashes, strays": replace(
        _CALM, replicas=1, gpus=2, strategy="scale-out", crashes=True
    ),
    "one replica, one spare GPU; kept and taken back; a GPU taken": replace(
        _CALM, replicas=1, gpus=2, levers=BACK, keeps=True, others=("gpu",), crashes=True
    ),
    "one replica, one spare GPU; kept, then another change": replace(
        _CALM, replicas=1, gpus=2, levers=TWO, keeps=True, crashes=True, aborts=True
    ),
}
_NUMBERED = replace(_CALM, rolls="ordinals")
_GROUPS = replace(_NUMBERED, releases=False)
_CANARY = replace(_CALM, strategy="canary", rolls="canary", canary="live", crashes=True)
_OWNED = replace(_CALM, rolls="owner", crashes=True)
_IN_PLACE = replace(_OWNED, strategy="rolling", gpus=2, surge=0, unavailable=1)
KINDS: dict[str, dict[str, Setting]] = {
    "StatefulSet": {
        "a spare; other people": replace(_NUMBERED, others=("template", "rival")),
        "a spare without a GPU": replace(_NUMBERED, gpus=2),
        "one unit, a spare; crashes, aborts": replace(
            _NUMBERED, replicas=1, gpus=2, crashes=True, aborts=True
        ),
        "in place; crashes": replace(_NUMBERED, strategy="in-place", gpus=2, crashes=True),
        "one unit in place; crashes, aborts": replace(
            _NUMBERED, strategy="in-place", replicas=1, gpus=1, crashes=True, aborts=True
        ),
        "one more unit; crashes": replace(
            _NUMBERED, strategy="scale-out", replicas=1, gpus=2, crashes=True
        ),
        "a stuck rollout; crashes, aborts": replace(
            _NUMBERED, strategy="stuck-rollout", crashes=True, aborts=True
        ),
        "one unit, a spare; GitOps that stays paused": replace(
            _NUMBERED, replicas=1, gpus=2, owner="git-ops", crashes=True
        ),
    },
    "LeaderWorkerSet": {
        "a spare group; aborts": replace(_GROUPS, aborts=True),
        "a spare group without GPUs": replace(_GROUPS, gpus=2),
        "one group, a spare; crashes, other people": replace(
            _GROUPS, replicas=1, gpus=2, crashes=True, others=("template", "rival")
        ),
        "in place; crashes": replace(_GROUPS, strategy="in-place", gpus=2, crashes=True),
        "one more group; crashes": replace(
            _GROUPS, strategy="scale-out", replicas=1, gpus=2, crashes=True
        ),
    },
    "InferenceService": {
        "a spare, then a surge; crashes": _OWNED,
        "a spare without a GPU": replace(_OWNED, gpus=2),
        "a spare that stays, one unavailable; aborts": replace(
            _OWNED, surge=0, unavailable=1, crashes=False, aborts=True
        ),
    },
    "LLMInferenceService": {
        "one unit, a spare; crashes, aborts": replace(_OWNED, replicas=1, gpus=2, aborts=True),
        "one unit, a spare; aborts, other people": replace(
            _OWNED, replicas=1, gpus=2, crashes=False, aborts=True, others=("template", "rival")
        ),
        "no spare, a surge; crashes": replace(_OWNED, strategy="rolling"),
    },
    "Rollout": {
        "canary steps; crashes": _CANARY,
        "canary steps; aborts, other people": replace(
            _CANARY, crashes=False, aborts=True, others=("template", "rival")
        ),
    },
    "RayService": {
        "in place, one unavailable; crashes, aborts": replace(_IN_PLACE, aborts=True),
        "in place, one unavailable; other people": replace(
            _IN_PLACE, crashes=False, others=("template", "rival")
        ),
    },
}
"""Walks for each kind that a remedy changes besides Deployments; all of them are in `make test`."""
SMALL |= {
    f"{kind}, {name}": setting for kind, walks in KINDS.items() for name, setting in walks.items()
}
QUICKEST = ("two replicas, a stuck rollout; everything",)
"""That of them that `make check` walks; `make test` walks all."""
LAWS: dict[str, Setting] = {f"L{number}": _CALM for number in range(1, 15)} | {
    "L1": replace(_CALM, replicas=1, gpus=2, crashes=True),
    "L7": replace(_CALM, replicas=1, gpus=2, levers=("fewer-slots", "watermark")),
    "L8": replace(_CALM, replicas=1, gpus=2, others=("template",)),
    "L11": replace(_CALM, replicas=1, gpus=2, owner="git-ops"),
    "L12": replace(_CALM, replicas=1, gpus=1, strategy="edge-live"),
    "L13": replace(_CALM, replicas=1, gpus=2, levers=BACK, keeps=True),
    "L14": replace(_CALM, replicas=1, gpus=2, levers=BACK, keeps=True),
}
"""The smallest world in which the defect of each law can show."""
SEEDED: dict[str, Setting] = LAWS | {
    "StatefulSet": replace(_NUMBERED, replicas=1, gpus=2),
    "LeaderWorkerSet": _GROUPS,
    "InferenceService": replace(_OWNED, replicas=1, gpus=2),
    "LLMInferenceService": replace(_OWNED, replicas=1, gpus=2, crashes=False),
    "Rollout": replace(_CANARY, crashes=False),
    "RayService": _IN_PLACE,
}
"""The same, with the world in which the defect of each kind can show."""

OPERATOR = tuple(f"O{number}" for number in range(1, 14))
"""Laws of the operator's step: tests/model/operator_walk.py."""
EVENTS, FEW_EVENTS = 3, 2
"""After the first harm: of the full walk, and enough for each seeded defect."""


def told(found: Found, name: str, seconds: float) -> str:
    """The figures of one walk, and its counter-example where there is one."""
    ends = ", ".join(f"{phase} {count:,}" for phase, count in sorted(found.ends.items()))
    lines = [
        f"{name}: {found.states:,} states, {found.edges:,} edges, {seconds:.1f} s of CPU",
        (
            f"    ({found.machines:,} states of the machine, {found.worlds:,} of the world; "
            f"ends: {ends})"
        ),
    ]
    if found.broken:
        lines += [f"  {law}" for law in found.broken]
        lines += [f"    {number:3}. {step}" for number, step in enumerate(found.trace, 1)]
    return "\n".join(lines)


def walk(name: str, setting: Setting) -> bool:
    """True where every law holds; the figures are printed."""
    start = time.process_time()
    found = explore(setting)
    print(told(found, name, time.process_time() - start), flush=True)
    return not found.broken


def walk_of_operator(events: int) -> bool:
    """True where every law of the operator holds; the figures are printed."""
    start = time.process_time()
    broken = walk_operator(events)
    print(
        f"operator, {EVENTS} events after the first harm: {time.process_time() - start:.1f} s of CPU"
    )
    for law in broken:
        print(f"  {law}")
    return not broken


def caught(name: str) -> bool:
    """True if the patch of that law or kind, on a copy of the package, makes the walk end with a
    counter-example (of that law).
    """
    patch = next(DEFECTS.glob(f"{name}-*.patch"))
    with tempfile.TemporaryDirectory() as place:
        shutil.copytree(
            ROOT / "src", Path(place) / "src", ignore=shutil.ignore_patterns("__pycache__")
        )
        subprocess.run(["git", "apply", "-p1", str(patch)], cwd=place, check=True)
        environment = {
            **os.environ,
            "PYTHONPATH": f"{place}/src{os.pathsep}{ROOT}",
            "PYTHONDONTWRITEBYTECODE": "1",
        }
        command = [sys.executable, "-m", "tests.model.explore", "law", name]
        done = subprocess.run(command, cwd=place, env=environment, capture_output=True, text=True)
    broken = "\n  " if name in KINDS else f"\n  {name}: "
    found = done.returncode == 1 and broken in done.stdout
    print(
        f"defect {patch.stem}: {'caught' if found else 'NOT CAUGHT'}\n{done.stdout}{done.stderr}",
        flush=True,
    )
    return found


def main(arguments: list[str]) -> int:
    """0 where every law holds and every defect is caught, 1 where not, 2 for words it does not
    know.
    """
    match arguments:
        case ["law", name] if name in SEEDED:
            results = [walk(f"for {name}", SEEDED[name])]
        case ["law", name] if name in OPERATOR:
            results = [walk_of_operator(FEW_EVENTS)]
        case ["kind", kind] if kind in KINDS:
            results = [walk(name, setting) for name, setting in KINDS[kind].items()]
        case ["small"]:
            results = [walk(name, setting) for name, setting in SMALL.items()]
        case ["defects"]:
            results = [caught(name) for name in (*SEEDED, *OPERATOR)]
        case []:
            every = {
                **FULL,
                **{
                    f"{kind}, {name}": found
                    for kind, walks in KINDS.items()
                    for name, found in walks.items()
                },
            }
            results = [walk(name, setting) for name, setting in every.items()]
            results.append(walk_of_operator(EVENTS))
            results += [caught(name) for name in (*SEEDED, *OPERATOR)]
        case _:
            print(__doc__, file=sys.stderr)
            return 2
    return 0 if all(results) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
