"""The runs of bench/ramps.py: each one drawn from a seed, no two alike.

What a pool can take is estimated from how long a request stays in it, so that a ramp reaches the
ceiling in its time and a healthy run stays below. The model is the `small` shape of dev/engine.py
on one core: a step takes about 5 ms and 0.8 ms for each running request, and a prompt about 0.45 ms
for each token.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, replace

from dev.load import Load

BLOCK_TOKENS = 128
STEP_S, STEP_PER_REQUEST_S, PROMPT_TOKEN_S = 0.005, 0.0008, 0.00045
POOLS = (64, 128, 192)
COMMON = ("--max-model-len", "4096", "--max-num-seqs", "96")


@dataclass(frozen=True, slots=True)
class Run:
    """One run: the engine's flags, the load, and the cause that is right for it.

    `lead_s`: shifts the load against the watcher's rhythm. `after_harm_s`: how long the run goes on
    after the first harm.
    """

    name: str
    cause: str
    flags: tuple[str, ...]
    load: Load
    lead_s: float
    longest_s: float
    after_harm_s: float = 18.0


def blocks_held(prompt_tokens: float, output_tokens: float) -> float:
    """Blocks that a request holds on average over its stay: its prompt at once, its output as it
    grows, half a block of rounding.
    """
    return (prompt_tokens + output_tokens / 2) / BLOCK_TOKENS + 0.5


def stay_s(running: float, prompt_tokens: float, output_tokens: float) -> float:
    """How long a request stays where that many run: its own steps, and the prompts of as many
    others.
    """
    return (
        output_tokens * (STEP_S + STEP_PER_REQUEST_S * running)
        + running * prompt_tokens * PROMPT_TOKEN_S
    )


def ramps(count: int, seed: int) -> list[Run]:
    """Ramps into pressure: mostly by growing rate or concurrency with outputs that outgrow the
    pool, every fourth by long prompts.
    """
    dice = random.Random(f"ramps {seed}")
    runs = []
    for index in range(count):
        pool = POOLS[index % len(POOLS)]
        queueing = index % 4 == 3
        prompt = dice.randint(500, 800) if queueing else dice.randint(120, 360)
        output = dice.randint(120, 200) if queueing else dice.randint(300, 600)
        fits = (pool - 1) / blocks_held(prompt, output)
        ramp_s = dice.uniform(60, 120)
        shape = Load(
            prompt_tokens=(int(prompt * 0.7), int(prompt * 1.3)),
            output_tokens=(int(output * 0.6), int(output * 1.4)),
        )
        if index % 2:
            top = 2.2 * fits / stay_s(fits, prompt, output)
            load = replace(
                shape,
                rate_from_per_s=0.1 * top,
                rate_per_s=top,
                ramp_s=ramp_s,
                seed=dice.randrange(10**6),
                most_in_flight=90,
            )
            kind = "rate"
        else:
            load = replace(
                shape,
                clients=min(90, max(6, int(dice.uniform(1.7, 2.2) * fits))),
                ramp_s=ramp_s,
                seed=dice.randrange(10**6),
            )
            kind = "clients"
        flags = (
            "--num-gpu-blocks-override",
            str(pool),
            *COMMON,
            *(("--watermark", "0.04") if queueing else ()),
        )
        cause = "kv-admission-queueing" if queueing else "kv-preemption-thrash"
        name = f"{'queue' if queueing else 'thrash'}-{kind}-{pool}-{index}"
        runs.append(Run(name, cause, flags, load, lead_s=dice.uniform(0, 5), longest_s=ramp_s + 70))
    return runs


def healthy_runs(count: int, seed: int) -> list[Run]:
    """Busy runs that fit: at about three quarters of the pool; every other one grows by a sixth on
    the way.
    """
    dice = random.Random(f"healthy {seed}")
    runs = []
    for index in range(count):
        pool = POOLS[index % len(POOLS)]
        prompt, output = dice.randint(100, 400), dice.randint(150, 500)
        shape = Load(
            prompt_tokens=(int(prompt * 0.7), int(prompt * 1.3)),
            output_tokens=(int(output * 0.6), int(output * 1.4)),
        )
        # Lengths vary by 40 % and the requests of a run that starts at once grow together: that
        # much room is left above the mean.
        clients = max(
            3, min(60, int(dice.uniform(0.68, 0.80) * (pool - 1) / blocks_held(prompt, output)))
        )
        # Traffic that grows without end and traffic that only breathes are told apart by how much:
        # these grow by a sixth.
        ramp_s = 0.0 if index % 2 else dice.uniform(15, 35)
        load = replace(
            shape,
            clients=clients,
            clients_at_once=clients * 5 // 6,
            ramp_s=ramp_s,
            seed=dice.randrange(10**6),
        )
        flags = ("--num-gpu-blocks-override", str(pool), *COMMON)
        name = f"healthy-{'grows' if ramp_s else 'at-once'}-{pool}-{index}"
        runs.append(
            Run(name, "healthy-busy", flags, load, lead_s=dice.uniform(0, 5), longest_s=ramp_s + 45)
        )
    return runs
