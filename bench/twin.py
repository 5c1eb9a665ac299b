"""How many request-steps per second: the twin beside the real scheduler of vLLM driven offline, in
one run, on one core each.

    python bench/twin.py [TRACES] [--blis FOLDER]     TRACES: a folder with azure2023_conv.csv.gz and mooncake_conversation.csv.gz

A request-step is one running request in one engine step. Seconds are of the process's own time, the
best of three runs. The real scheduler (where `make vllm` has been run) takes the first rows of the
same workload with the same settings; BLIS, where a built checkout is given, all rows of those
without caching (bench/twin_peers.py). Prints one table and, last, one line of JSON with the ratios.
Then models with several KV groups, each load beside the same with one full group in the same run:
sliding windows, local chunks, states, without caching, with it, and with prefixes in common. Last,
four replicas behind the gateway's decisions, beside one engine with a quarter of the requests.

Exits 1 if a promise is broken: 1e7 without prefix caching, 2e6 with it (1e6
where prompts have hundreds of blocks); several groups half the
speed of one, a quarter with prefix caching; a sixth behind the gateway. The promise is of a machine
on which the real scheduler makes 7e4; where it makes less, beside it in the same run, the promise
is less in proportion, and the table says so.
"""

from __future__ import annotations

import argparse
import gc
import json
import random
import subprocess
import sys
import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from bench.twin_peers import blis  # noqa: E402

from barostat.admit.rules import Rules  # noqa: E402
from barostat.io.input_files.requests_file import read_requests  # noqa: E402
from barostat.judge.experiments.gated import Fleet, GatedRun, Traffic  # noqa: E402
from barostat.twin.forms import simulate  # noqa: E402
from barostat.twin.pace import EverySteps  # noqa: E402
from barostat.twin.request import Row  # noqa: E402
from barostat.twin.scheduler.run import Steps  # noqa: E402
from barostat.twin.settings import KvGroup, Settings  # noqa: E402

REAL = ROOT / ".vllm" / "bin" / "python"
ORACLE = ROOT / "tests" / "parity" / "oracle_scheduler.py"
REAL_REQUEST_STEPS = 120_000
ROUNDS = 3
PROMISED = {False: 1e7, True: 2e6}
PROMISED_LONG = 1e6
"""With prefix caching where prompts have hundreds of blocks: each is taken, registered and given back."""
_LONG_TOKENS = 4_000
REAL_WHERE_PROMISED = 7e4
PROMISED_OF_ONE = {False: 0.5, True: 0.25}
"""Speed of several KV groups over that of one, without prefix caching and with it."""
PROMISED_GATED = 1 / 6
ONE = (KvGroup(16),)
LAYOUTS = {
    "window 128 (gpt-oss)": (KvGroup(16), KvGroup(16, 128)),
    "3 windows of 1024 (Gemma)": (KvGroup(16), *(KvGroup(16, 1024) for _ in range(3))),
    "3 of chunks of 8192 (Llama 4)": (
        KvGroup(16),
        *(KvGroup(16, chunk_tokens=8192) for _ in range(3)),
    ),
}
UNCACHED_STATES = {"3 of states": (KvGroup(16), *(KvGroup(16_384) for _ in range(3)))}
CACHED_STATES = {"3 of states": (KvGroup(16), *(KvGroup(16, state="align") for _ in range(3)))}
"""One layout of states without prefix caching, and with it: a model of each kind."""


@dataclass(frozen=True)
class Load:
    """A workload with its settings. `step_s`: seconds per step."""

    name: str
    settings: Settings
    rows: list[Row]
    step_s: float


def made(
    name: str,
    per_s: float,
    seconds: float,
    tokens: tuple[int, int],
    settings: Settings,
    step_s: float,
    seed: int = 5,
) -> Load:
    """Poisson arrivals, lengths spread around their means."""
    dice = random.Random(seed)
    at = 0.0
    rows: list[Row] = []
    while (at := at + dice.expovariate(per_s)) < seconds:
        prompt, output = (
            max(1, min(8000, round(dice.lognormvariate(0, 0.6) * mean / 1.197))) for mean in tokens
        )
        rows.append(Row(str(len(rows)), at, prompt, output))
    return Load(name, settings, rows, step_s)


def loads(folder: Path) -> list[Load]:
    """The workloads, each with prefix caching off and on."""
    base = Settings(
        kv_blocks=8_000, max_model_len=16_384, max_num_seqs=128, max_num_batched_tokens=8_192
    )
    found = [
        made(
            "an hour of 20 requests/s",
            20,
            3600,
            (600, 200),
            replace(base, kv_blocks=24_000, max_num_seqs=512),
            0.03,
        ),
        made(
            "a burst that thrashes",
            200,
            20,
            (300, 600),
            replace(base, kv_blocks=6_000, max_num_seqs=256),
            0.03,
        ),
    ]
    azure, mooncake = folder / "azure2023_conv.csv.gz", folder / "mooncake_conversation.csv.gz"
    if azure.exists():
        found.append(Load("Azure 2023 conversation hour", base, read_requests(azure, 16)[0], 0.03))
    if mooncake.exists():
        long = replace(base, kv_blocks=50_000, max_model_len=131_072)
        found.append(Load("Mooncake conversation", long, read_requests(mooncake, 16)[0], 0.06))
    return [
        replace(load, settings=replace(load.settings, prefix_caching=caching))
        for load in found
        for caching in (False, True)
    ]


def sharing(rows: list[Row]) -> list[Row]:
    """The rows with half of each prompt shared among twenty, and the rest with nobody."""
    shared = []
    for row in rows:
        number, blocks = int(row.request_id), row.input_tokens // 16
        chain, own = number % 20 * 1000, 10**6 + number * 1000
        ids = (*range(chain, chain + blocks // 2), *range(own, own + blocks - blocks // 2))
        shared.append(row._replace(hash_ids=ids, id_tokens=16))
    return shared


def several_groups() -> list[tuple[str, Load, float]]:
    """(layout, load, speed promised over one full group), the one group first of each load."""
    base = Settings(
        kv_blocks=24_000, max_model_len=16_384, max_num_seqs=512, max_num_batched_tokens=8_192
    )
    hour = made("600 s of 20 requests/s", 20, 600, (600, 200), base, 0.03)
    burst = replace(base, kv_blocks=6_000, max_num_seqs=256)
    burst_load = made("a burst that thrashes", 200, 10, (300, 600), burst, 0.03)
    found: list[tuple[str, Load, float]] = []
    for load in (hour, burst_load):
        for caching, rows in ((False, load.rows), (True, load.rows), (True, sharing(load.rows))):
            states = CACHED_STATES if caching else UNCACHED_STATES
            for layout, groups in {"one full group": ONE, **LAYOUTS, **states}.items():
                blocks = load.settings.kv_blocks * sum(
                    group.block_tokens < load.settings.max_model_len for group in groups
                ) + load.settings.max_num_seqs * len(groups)
                settings = replace(
                    load.settings, groups=groups, kv_blocks=blocks, prefix_caching=caching
                )
                told = "shared" if rows is not load.rows else ("on" if caching else "off")
                name = f"{load.name}, caching {told}"
                promised = 0.0 if groups is ONE else PROMISED_OF_ONE[caching]
                found.append((layout, Load(name, settings, rows, load.step_s), promised))
    return found


def beside_one_group() -> tuple[dict[str, float], list[str]]:
    """Prints the speed of several groups beside one: (ratios, what is below the promise)."""
    ratios: dict[str, float] = {}
    broken: list[str] = []
    one = 0.0
    print(f"\n{'workload':44} {'KV groups':30} {'per second':>11} {'of one':>7} {'preempted':>9}")
    for layout, load, promised in several_groups():
        steps, seconds, preempted = ours(load)
        rate = steps / seconds
        one = one if promised else rate
        ratios[f"{load.name}, {layout}"] = round(rate / one, 2)
        print(
            f"{load.name:44} {layout:30} {rate:11.3g} {rate / one:7.2f} {preempted:9,}", flush=True
        )
        if rate / one < promised:
            broken.append(
                f"{load.name}, {layout}: {rate / one:.2f} of one group, promised {promised:g}"
            )
    return ratios, broken


def behind_gateway() -> tuple[dict[str, float], list[str]]:
    """Prints the speed of four replicas behind the gateway beside one engine's: (ratio, what is
    below the promise).
    """
    base = Settings(
        kv_blocks=24_000, max_model_len=16_384, max_num_seqs=512, max_num_batched_tokens=8_192,
        prefix_caching=False,
    )  # fmt: skip
    name, pace = "300 s of 80 requests/s, four replicas", EverySteps(30_000_000)
    many = made(name, 80, 300, (600, 200), base, 0.03)
    alone = made("300 s of 20 requests/s", 20, 300, (600, 200), base, 0.03)
    steps, seconds, _ = ours(alone)
    taken = []
    for _ in range(ROUNDS):
        gc.collect()
        start = time.process_time()
        run = GatedRun(Fleet(4, base, pace), Rules(queue_deadline_s=60.0), Traffic(many.rows, 2000))
        outcome = run.run()
        taken.append(time.process_time() - start)
    gated = sum(life.output_tokens for life in outcome.lives.values())
    rate, one = gated / min(taken), steps / seconds
    print(
        f"\n{name}, gateway: {rate:.3g} tokens/s, {rate / one:.2f} of one engine's {one:.3g} request-steps/s"
    )
    missed = [] if rate / one >= PROMISED_GATED else [f"{name}: {rate / one:.2f} of one engine"]
    return {name: round(rate / one, 2)}, missed


def ours(load: Load) -> tuple[int, float, int]:
    """Request-steps, seconds and preemptions of the twin."""
    taken = []
    for _ in range(ROUNDS):
        gc.collect()
        start = time.process_time()
        outcome = simulate(load.settings, load.rows, EverySteps(round(load.step_s * 1e9)))
        taken.append(time.process_time() - start)
    return outcome.request_steps, min(taken), outcome.preemptions


def real(load: Load) -> tuple[int, float] | None:
    """Request-steps and seconds of the real scheduler on the first rows; None without it."""
    if not REAL.exists():
        return None
    rows, seen = [], 0
    for row in load.rows:
        rows.append(row)
        seen += row.output_tokens
        if seen > REAL_REQUEST_STEPS:
            break
    steps = Steps(load.settings, rows, EverySteps(round(load.step_s * 1e9))).run().end_ns / (
        load.step_s * 1e9
    )
    case: dict[str, Any] = {
        "settings": {
            name: getattr(load.settings, name)
            for name in Settings.__slots__
            if name not in ("groups", "behaviour")
        },
        "groups": [[group.block_tokens, group.window_tokens] for group in load.settings.groups],
        "rows": [
            {
                **row._asdict(),
                "arrival_s": row.arrival_s / load.step_s,
                "prompt_token_ids": _tokens(row),
            }
            for row in rows
        ],
        "steps": round(steps) + 1000,
        "timed": True,
    }
    done = subprocess.run(
        [str(REAL), str(ORACLE)],
        input=json.dumps(case) + "\n",
        capture_output=True,
        text=True,
        check=True,
    )
    answer = json.loads(done.stdout)
    return answer["requestSteps"], answer["seconds"]


def _tokens(row: Row) -> list[int]:
    """Token ids that share exactly the prefix that the row's ids say."""
    size, ids = row.id_tokens or 1, row.hash_ids or ()
    shared = [
        ids[place // size] * size + place % size
        for place in range(min(row.input_tokens, len(ids) * size))
    ]
    own = 10**12 + int(row.request_id) * 10**6
    return shared + list(range(own, own + row.input_tokens - len(shared)))


def main() -> int:
    """The table, then the ratios."""
    parser = argparse.ArgumentParser(
        description="Request-steps per second of the twin, beside the real scheduler and BLIS."
    )
    parser.add_argument("traces", nargs="?", type=Path, default=ROOT.parent / "shared" / "traces")
    parser.add_argument(
        "--blis", type=Path, help="a checkout of BLIS with the program `blis` built in it"
    )
    chosen = parser.parse_args()
    ratios: dict[str, float] = {}
    ratios_blis: dict[str, float] = {}
    broken = []
    print(
        f"{'workload':32} {'caching':>7} {'request-steps':>14} {'seconds':>8} "
        f"{'per second':>11} {'real':>9} {'ratio':>7}"
        f" {'BLIS':>9} {'ratio':>7} {'preempted':>9}"
    )
    for load in loads(chosen.traces):
        steps, seconds, preempted = ours(load)
        rate = steps / seconds
        caching = load.settings.prefix_caching
        beside = real(load)
        name = f"{load.name}, caching {'on' if caching else 'off'}"
        told, told_blis = ("-", "-"), ("-", "-")
        if beside is not None:
            real_rate = beside[0] / beside[1]
            ratios[name] = round(rate / real_rate, 1)
            told = (f"{real_rate:.3g}", f"{rate / real_rate:.0f}x")
        if chosen.blis is not None and not caching:
            tokens, blis_s = blis(chosen.blis, load.settings, load.rows)
            per_token = sum(row.output_tokens for row in load.rows) / seconds / (tokens / blis_s)
            ratios_blis[name] = round(per_token, 1)
            told_blis = (f"{tokens / blis_s:.3g}", f"{per_token:.0f}x")
        columns = (
            f"{load.name:32} {'on' if caching else 'off':>7} {steps:14,} {seconds:8.2f} "
            f"{rate:11.3g}"
        )
        print(
            f"{columns} {told[0]:>9} {told[1]:>7} {told_blis[0]:>9} {told_blis[1]:>7} "
            f"{preempted:9,}",
            flush=True,
        )
        slower = 1.0 if beside is None else min(1.0, beside[0] / beside[1] / REAL_WHERE_PROMISED)
        promised = PROMISED[caching]
        if caching and sum(row.input_tokens for row in load.rows) > _LONG_TOKENS * len(load.rows):
            promised = PROMISED_LONG
        if rate < promised * slower:
            broken.append(f"{name}: {rate:.3g} request-steps/s, promised {promised * slower:.2g}")
        elif rate < promised:
            print(
                f"  under {promised:.0g}, over the "
                f"{promised * slower:.2g} of a machine as slow as this"
            )
    of_one, slow = beside_one_group()
    gated, late = behind_gateway()
    of_one |= gated
    broken += slow + late
    for line in broken:
        print(f"below the promise: {line}")
    found = {"ratioToRealScheduler": ratios, "ratioToBlis": ratios_blis, "ratioToOneGroup": of_one}
    print(json.dumps(found))
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
