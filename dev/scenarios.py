"""States of the real engine, each brought about by one cause and by no other.

Every scenario says which flags and which load it takes, and why what follows is that cause. The CPU
build's blocks hold 128 tokens and block 0 is never handed out, so `--num-gpu-blocks-override 64`
leaves 63 blocks = 8,064 tokens.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from dev.engine import ENVIRONMENT, Engine
from dev.load import Background, Load


@dataclass(frozen=True, slots=True)
class Scenario:
    """One state and how to get there.

    `settle_s`: how long the load runs before the state is steady. `stops`: the role of the process
    that gets SIGSTOP after that. `load` None: no request; `beside`: a second kind of request on top
    of it. An empty `cause` is never used: the name of the cause that the diagnosis has to give.
    `recorded_only`: shown by its recording; one of its kind is brought about live, which costs a
    minute. `adapters`: names of LoRA adapters that lie in `adapters/`, where the engine is started.
    `thrashing`: of several data-parallel engines the index of the one whose cause it is.
    """

    name: str
    cause: str
    why: str
    flags: tuple[str, ...]
    load: Load | None = None
    beside: Load | None = None
    shape: str = "small"
    settle_s: float = 8.0
    stops: str = ""
    model: str = ""
    listens: bool = True
    recorded_only: bool = False
    adapters: tuple[str, ...] = ()
    thrashing: str = ""

    def engine(self) -> Engine:
        """The engine of this scenario, not started."""
        engine = Engine(*self.flags, shape=self.shape, model=self.model or None)
        if self.adapters:
            program = Path(__file__).with_name("tiny_adapter.py")
            target = engine.folder / "adapters"
            command = [
                ENVIRONMENT / "bin" / "python", program, engine.model, target, *self.adapters,
            ]  # fmt: skip
            subprocess.run([str(word) for word in command], check=True, timeout=300)
        return engine


_SMALL_POOL = ("--max-model-len", "4096", "--num-gpu-blocks-override", "64", "--max-num-seqs", "64")
_LARGE_POOL = ("--max-model-len", "4096", "--max-num-seqs", "64")
_FEW = (
    "--max-model-len",
    "6144",
    "--num-gpu-blocks-override",
    "64",
    "--max-num-seqs",
    "64",
    "--no-enable-prefix-caching",
)
"""A pool of 63 usable blocks in front of prompts that take 12 to 40 of them: two to six requests
fit.
"""

_ADAPTERS = ("red", "green", "blue")

SCENARIOS: tuple[Scenario, ...] = (
    Scenario(
        "kv-preemption-thrash",
        "kv-preemption-thrash",
        "a prompt holds 2-4 blocks at admission and grows to 4-8: the pool admits 20 of "
        "which 10 fit to the end, so growth preempts",
        _SMALL_POOL,
        Load(clients=40, prompt_tokens=(200, 400), output_tokens=(300, 600)),
        settle_s=12.0,
    ),
    Scenario(
        "kv-admission-queueing",
        "kv-admission-queueing",
        "prompts fill the pool at admission and grow little, for which a watermark keeps "
        "room: the queue waits, nobody is thrown out",
        (
            "--max-model-len",
            "4096",
            "--num-gpu-blocks-override",
            "192",
            "--max-num-seqs",
            "64",
            "--watermark",
            "0.04",
        ),
        Load(clients=48, prompt_tokens=(500, 900), output_tokens=(120, 250)),
        settle_s=16.0,
    ),
    Scenario(
        "slot-bound",
        "slot-bound",
        "four slots and a pool for hundreds: the queue waits for a slot while the cache is "
        "nearly empty",
        ("--max-model-len", "4096", "--max-num-seqs", "4"),
        Load(clients=24, prompt_tokens=(100, 200), output_tokens=(80, 160)),
    ),
    Scenario(
        "prefill-bound",
        "prefill-bound",
        "long prompts and two tokens of output against 256 tokens a step: every step is "
        "full of prompt, neither slots nor cache are",
        ("--max-model-len", "4096", "--max-num-seqs", "64", "--max-num-batched-tokens", "256"),
        Load(clients=16, prompt_tokens=(1500, 2500), output_tokens=(8, 16)),
    ),
    Scenario(
        "host-bound-text",
        "host-bound",
        "prompts of 28 kB of text that differ at their end only: the prefix cache spares "
        "the engine the work, nobody spares the tokenizer",
        ("--max-model-len", "8192", "--max-num-seqs", "256"),
        Load(clients=32, prompt_text_bytes=28_000, output_tokens=(2, 4)),
        shape="feather",
    ),
    Scenario(
        "hung-engine",
        "hung-engine",
        "the engine core is stopped while requests run: /health and /metrics still answer, "
        "and no token comes",
        _LARGE_POOL,
        Load(clients=8, prompt_tokens=(100, 200), output_tokens=(200, 300)),
        stops="EngineCore",
    ),
    Scenario(
        "hung-engine-idle",
        "hung-engine",
        "the engine core is stopped while nothing runs: only a request can tell this from "
        "an idle engine",
        _LARGE_POOL,
        settle_s=1.0,
        stops="EngineCore",
    ),
    Scenario(
        "healthy-busy",
        "healthy-busy",
        "41 clients whose requests hold three blocks each from first token to last, in a "
        "pool of 127: nearly full for ever, nobody waits",
        ("--max-model-len", "4096", "--num-gpu-blocks-override", "128", "--max-num-seqs", "64"),
        Load(clients=41, prompt_tokens=(257, 262), output_tokens=(80, 120)),
        settle_s=15.0,
    ),
    Scenario("healthy-idle", "healthy-idle", "no request at all", _LARGE_POOL, settle_s=1.0),
    Scenario(
        "bad-config-argument",
        "bad-config",
        "--swap-space is unknown since 0.18.0: the parser ends the process with status 2",
        ("--swap-space", "4"),
        listens=False,
    ),
    Scenario(
        "bad-config-model",
        "bad-config",
        "there is no such model folder",
        (),
        model="/models/not-there",
        listens=False,
    ),
    Scenario(
        "kv-pool-too-small",
        "kv-pool-too-small",
        "sixteen blocks hold 2,048 tokens and one request of the allowed length needs "
        "4,096: the start-up check refuses",
        ("--max-model-len", "4096", "--num-gpu-blocks-override", "16"),
        listens=False,
    ),
    Scenario(
        "few-large-half-empty",
        "kv-admission-queueing",
        "a prompt takes 33 to 37 of 63 blocks: while one runs the pool is 56 % used, and "
        "the next one does not fit",
        _FEW,
        Load(clients=6, prompt_tokens=(4200, 4700), output_tokens=(60, 120)),
        settle_s=12.0,
    ),
    Scenario(
        "few-large-three",
        "kv-admission-queueing",
        "a prompt takes 17 to 18 of 63 blocks and grows by one: three fit, 84 % used, and "
        "the fourth waits",
        _FEW,
        Load(clients=9, prompt_tokens=(2100, 2240), output_tokens=(40, 60)),
        settle_s=12.0,
        recorded_only=True,
    ),
    Scenario(
        "few-large-growing",
        "kv-preemption-thrash",
        "a prompt takes 6 to 7 blocks at admission and grows by 7 to 10: nine are let in "
        "where four can end",
        _FEW,
        Load(clients=10, prompt_tokens=(700, 800), output_tokens=(900, 1200)),
        settle_s=25.0,
        recorded_only=True,
    ),
    Scenario(
        "large-bursts-on-small",
        "kv-admission-queueing",
        "small requests leave two thirds of the pool free, which prompts of half the pool "
        "do not find twice: the second holds up the queue",
        _FEW,
        Load(clients=8, prompt_tokens=(100, 200), output_tokens=(60, 120)),
        Load(clients=3, prompt_tokens=(3600, 4200), output_tokens=(300, 400)),
        settle_s=20.0,
        recorded_only=True,
    ),
    Scenario(
        "few-large-watermark",
        "kv-admission-queueing",
        "a tenth of the pool is kept free at admission, so the third prompt of 18 blocks "
        "does not fit although 27 are free",
        (*_FEW, "--watermark", "0.15"),
        Load(clients=6, prompt_tokens=(2200, 2300), output_tokens=(100, 200)),
        settle_s=12.0,
        recorded_only=True,
    ),
    Scenario(
        "few-large-whole-prompts",
        "kv-admission-queueing",
        "without chunked prefill a prompt is computed in one step; two of 24 to 26 blocks "
        "fit, and the third waits for the pool",
        (*_FEW, "--no-enable-chunked-prefill", "--max-num-batched-tokens", "8192"),
        Load(clients=6, prompt_tokens=(3000, 3300), output_tokens=(60, 120)),
        settle_s=12.0,
        recorded_only=True,
    ),
    Scenario(
        "few-large-active-limit",
        "slot-bound",
        "one active sequence at most: the second waits for it while two thirds of the pool "
        "are free",
        (*_FEW, "--max-num-active-seqs", "1"),
        Load(clients=5, prompt_tokens=(1500, 2000), output_tokens=(60, 120)),
        settle_s=12.0,
        recorded_only=True,
    ),
    Scenario(
        "few-large-healthy",
        "healthy-busy",
        "two clients whose requests hold a third of the pool each: two thirds used for "
        "ever, nobody waits",
        _FEW,
        Load(clients=2, prompt_tokens=(2100, 2240), output_tokens=(200, 300)),
        settle_s=12.0,
        recorded_only=True,
    ),
    Scenario(
        "rare-preemption",
        "kv-admission-queueing",
        "requests grow by a block or two after they were let in: now and then the last "
        "block is not there, in one of some thirty requests",
        (
            "--max-model-len",
            "4096",
            "--num-gpu-blocks-override",
            "64",
            "--max-num-seqs",
            "64",
            "--watermark",
            "0.05",
        ),
        Load(clients=24, prompt_tokens=(400, 500), output_tokens=(60, 140)),
        settle_s=12.0,
        recorded_only=True,
    ),
    Scenario(
        "adapter-slots",
        "slot-bound",
        "one of three adapters at a time: the requests of the others wait for its slot; the engine "
        "lists only adapters that have run",
        (*_SMALL_POOL, "--enable-lora", "--max-loras", "1", "--max-lora-rank", "8",
         "--lora-modules", *(f"{name}=adapters/{name}" for name in _ADAPTERS)),
        Load(clients=60, prompt_tokens=(200, 400), output_tokens=(300, 600), models=_ADAPTERS),
        settle_s=75.0,
        recorded_only=True,
        adapters=_ADAPTERS,
    ),
    Scenario(
        "thrash-speculation",
        "kv-preemption-thrash",
        "the n-gram drafter adds up to three tokens to each request's step; the pool admits 20 of "
        "which 10 fit to the end",
        (*_SMALL_POOL, "--speculative-config",
         '{"method": "ngram", "num_speculative_tokens": 3, "prompt_lookup_max": 3}'),
        Load(clients=40, prompt_tokens=(200, 400), output_tokens=(300, 600)),
        settle_s=60.0,
        recorded_only=True,
    ),
    Scenario(
        "thrash-one-rank-of-two",
        "kv-preemption-thrash",
        "a router pins 40 clients to rank 0 and two to rank 1: the one thrashes, the other is busy",
        (*_SMALL_POOL, "--data-parallel-size", "2"),
        Load(clients=40, prompt_tokens=(200, 400), output_tokens=(300, 600), rank=0),
        Load(clients=2, prompt_tokens=(200, 400), output_tokens=(300, 600), rank=1),
        settle_s=15.0,
        recorded_only=True,
        thrashing="0",
    ),
)  # fmt: skip


def scenario(name: str) -> Scenario:
    """The scenario of that name. Errors: KeyError."""
    return {one.name: one for one in SCENARIOS}[name]


@contextlib.contextmanager
def brought_about(one: Scenario, engine: Engine) -> Iterator[Background | None]:
    """The ready engine is in the scenario's state; afterwards it is free of load and goes on."""
    with contextlib.ExitStack() as stack:
        load = stack.enter_context(Background(engine.url, one.load)) if one.load else None
        if one.beside:
            stack.enter_context(Background(engine.url, one.beside))
        time.sleep(one.settle_s)
        if one.stops:
            pid = engine.pid_of(one.stops)
            os.kill(pid, signal.SIGSTOP)
            stack.callback(os.kill, pid, signal.SIGCONT)
        yield load
