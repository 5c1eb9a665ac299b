"""The twin beside what strangers measured on their cards: which settings preempt, how much they
give, and preemptions counted by the number of clients.

    python bench/strangers.py [--experiments tuner-a10g.jsonl] [--config CONFIG.json] [--keep]

Experiments: a tuner's on an A10G (flags, then means of a window), each through `barostat simulate`
with as many clients as ran and waited. Clients: the table of a study of vLLM 0.29.0 on half of an
RTX PRO 4500, through `barostat simulate --trace FILE --clients N`; steps take a line through the
study's rates, lengths are drawn from its percentiles. Of two such lines the one whose preemption
counts came closer was kept (docs/decisions/event-skipping.md). Prints two tables and the figures; exits 1 where a figure misses its aim.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import math
import random
import statistics
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from bench.kept import Figure, Kept, keep  # noqa: E402

from barostat.shells.cli.main import main as barostat  # noqa: E402

CASES = ROOT.parent / "shared" / "dev-cases"
MODEL = "Qwen__Qwen2.5-7B-Instruct.json"
INPUT_TOKENS, OUTPUT_TOKENS = 512, 128
RIGHT_OF_ALL = 80 / 81
THROUGHPUT_WITHIN, RANK, CLIENTS_WITHIN = 0.05, 0.85, 0.08
DEEP_CLIENTS = 512

# The study's clients over both engines -> (running, waiting, preemptions in 265 s).
COUNTED = {
    320: (318.3, 0.0, 0),
    384: (376.2, 5.3, 1313),
    512: (407.9, 101.1, 7046),
    640: (401.0, 235.2, 7332),
    768: (393.4, 371.3, 7117),
}
WINDOW_S, WARM_UP_S = 265.0, 60.0
STEADY_RATIO = 0.6  # of the run: later, clients with short answers have sent all of theirs
# Requests running on one engine -> its output tokens/s.
RATES = {
    8: 533,
    16: 942,
    32: 1566,
    48: 1965,
    64: 2161,
    95: 2360,
    127: 2330,
    159: 2299,
    188: 2256,
    204: 2226,
}
OUTPUT_AT = ((0.0, 1), (0.01, 11), (0.05, 30), (0.1, 55), (0.25, 121), (0.5, 241), (0.75, 357), (0.9, 517), (0.95, 635), (0.99, 781),
             (1.0, 1237))  # fmt: skip
PROMPT_MEDIAN, PROMPT_MEAN = 25.0, 68.0
POOL_BLOCKS = 56_000 // 16 + 1


@dataclass(frozen=True)
class Compared:
    """One experiment: preemptions/s and output tokens/s, the twin's and as measured."""

    number: int
    twin_preempts: bool
    preempted: bool
    twin_tokens_per_s: float
    tokens_per_s: float


def simulated(words: Sequence[str]) -> dict[str, Any]:
    """What `barostat simulate` says.

    Errors: RuntimeError with its message where it does not run.
    """
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        barostat(["simulate", *words, "-o", "json"])
    if not out.getvalue():
        raise RuntimeError(err.getvalue().strip())
    found: dict[str, Any] = json.loads(out.getvalue())
    return found


def experiment(case: dict[str, Any], config: Path) -> Compared:
    """One experiment of the tuner."""
    flags, measured = case["flags"], case["measured"]
    clients = round(measured["num_requests_running"] + measured["num_requests_waiting"])
    load = f"closed:clients={clients},requests={max(1500, 5 * clients)},input={INPUT_TOKENS},output={OUTPUT_TOKENS},spread=0"
    words = [
        "--model-config",
        str(config),
        "--gpu",
        "A10G",
        "--engine-version",
        "0.22.0",
        "--workload",
        load,
    ]
    for name in ("max_num_seqs", "max_num_batched_tokens", "max_model_len", "gpu_memory_utilization", "block_size", "kv_cache_dtype",
                 "max_cudagraph_capture_size", "long_prefill_token_threshold"):  # fmt: skip
        if flags.get(name) is not None:
            words += [f"--{name.replace('_', '-')}", str(flags[name])]
    words += ["--policy", flags["scheduling_policy"]]
    words.append("--async-scheduling" if flags["async_scheduling"] else "--no-async-scheduling")
    if flags["enforce_eager"]:
        words.append("--enforce-eager")
    found = simulated(words)
    return Compared(
        case["experiment"],
        found["preemptions"] > 0,
        measured["preemption_rate"] > 0,
        found["goodput"]["outputTokensPerSecond"],
        measured["decode_token_throughput"],
    )


def ranks(values: Sequence[float]) -> list[float]:
    """The place of each value among all."""
    order = sorted(range(len(values)), key=values.__getitem__)
    found = [0.0] * len(values)
    for place, index in enumerate(order):
        found[index] = float(place)
    return found


def step_line() -> tuple[float, float]:
    """Seconds of a step, and more for each request that decodes, nearest to the study's rates."""
    points = [(running, running / rate) for running, rate in RATES.items()]
    weights = [1 / step_s**2 for _, step_s in points]
    total = sum(weights)
    mean_n = sum(w * n for w, (n, _) in zip(weights, points, strict=True)) / total
    mean_s = sum(w * s for w, (_, s) in zip(weights, points, strict=True)) / total
    over = sum(w * (n - mean_n) * (s - mean_s) for w, (n, s) in zip(weights, points, strict=True))
    under = sum(w * (n - mean_n) ** 2 for w, (n, _) in zip(weights, points, strict=True))
    return mean_s - over / under * mean_n, over / under


def drawn(count: int, seed: int = 1) -> list[dict[str, Any]]:
    """Rows with the study's lengths."""
    dice = random.Random(seed)
    sigma = math.sqrt(2 * math.log(PROMPT_MEAN / PROMPT_MEDIAN))
    rows = []
    for _ in range(count):
        share = dice.random()
        (low, less), (high, more) = next(
            pair for pair in pairwise(OUTPUT_AT) if share <= pair[1][0]
        )
        output = less + (more - less) * (share - low) / (high - low)
        prompt = min(2800, max(1, round(PROMPT_MEDIAN * math.exp(dice.gauss(0.0, sigma)))))
        rows.append(
            {"arrival_s": 0, "input_tokens": prompt, "output_tokens": max(1, round(output))}
        )
    return rows


def at_clients(clients: int, trace: Path) -> tuple[float, float, float]:
    """(running, waiting, preemptions in the study's window) of both engines at so many clients."""
    base_s, decode_s = step_line()
    words = ["--trace", str(trace), "--clients", str(clients // 2), "--kv-blocks", str(POOL_BLOCKS), "--engine-version", "0.29.0",
             "--max-num-seqs", "256", "--max-num-batched-tokens", "2048", "--max-model-len", "4096", "--no-enable-prefix-caching",
             "--latency", f"base={base_s:.6g},decode={decode_s:.6g}"]  # fmt: skip
    found = simulated(words)
    over_s = found["durationSeconds"]
    bins = found["kvUsage"]["overTime"]
    steady = [one for one in bins if WARM_UP_S <= one["atSeconds"] <= STEADY_RATIO * over_s]
    running = statistics.fmean(one["running"] for one in steady)
    waiting = statistics.fmean(one["waiting"] for one in steady)
    return 2 * running, 2 * waiting, 2 * found["preemptions"] * WINDOW_S / over_s


def main() -> int:
    """Both tables."""
    parser = argparse.ArgumentParser(description="The twin beside what strangers measured.")
    parser.add_argument("--experiments", type=Path, default=CASES / "tuner-a10g.jsonl")
    parser.add_argument("--config", type=Path, default=CASES / "configs" / MODEL)
    parser.add_argument("--keep", action="store_true", help="write bench/results/strangers.json")
    chosen = parser.parse_args()
    broken: list[str] = []
    cases = [json.loads(line) for line in chosen.experiments.read_text().splitlines()]
    compared: list[Compared] = []
    skipped: list[str] = []
    for case in cases:
        if case["state"] != "FINISHED":
            continue
        try:
            compared.append(experiment(case, chosen.config))
        except RuntimeError as error:
            skipped.append(f"experiment {case['experiment']}: {error}")
    right = [one for one in compared if one.twin_preempts == one.preempted]
    ratio = statistics.median(one.twin_tokens_per_s / one.tokens_per_s for one in compared)
    rank = statistics.correlation(
        ranks([one.twin_tokens_per_s for one in compared]), ranks([one.tokens_per_s for one in compared])
    )  # fmt: skip
    for one in compared:
        if one not in right:
            print(
                f"experiment {one.number}: measured {'' if one.preempted else 'not '}to preempt, the twin says otherwise"
            )
    for line in skipped:
        print(f"not run: {line}")
    print(f"{len(right)} of {len(compared)} experiments: preempts or not as measured")
    print(f"output tokens/s: {ratio:.2f} of the measured (median), rank correlation {rank:.2f}\n")
    if len(right) < RIGHT_OF_ALL * len(compared) - 1e-9 and len(compared) - len(right) > 1:
        broken.append(f"preempts or not: {len(right)} of {len(compared)}")
    if abs(ratio - 1) > THROUGHPUT_WITHIN:
        broken.append(f"throughput {ratio:.2f} of the measured, aim within {THROUGHPUT_WITHIN:.0%}")
    if rank < RANK:
        broken.append(f"rank correlation {rank:.2f}, aim {RANK}")
    print(f"{'clients':>7} {'running':>15} {'waiting':>15} {'preempted in 265 s':>20}")
    table = {}
    with tempfile.TemporaryDirectory() as folder:
        trace = Path(folder) / "lengths.jsonl"
        trace.write_text("".join(json.dumps(row) + "\n" for row in drawn(9000)))
        for clients, (running, waiting, counted) in COUNTED.items():
            ours = at_clients(clients, trace)
            table[clients] = [round(value, 1) for value in ours]
            print(
                f"{clients:7} {ours[0]:7.1f} {running:7.1f} {ours[1]:7.1f} {waiting:7.1f} {ours[2]:10,.0f} {counted:9,}",
                flush=True,
            )
            if clients >= DEEP_CLIENTS and abs(ours[2] / counted - 1) > CLIENTS_WITHIN:
                broken.append(f"{clients} clients: {ours[2]:,.0f} preempted, counted {counted:,}")
    print("each pair: the twin, the study")
    for line in broken:
        print(f"misses its aim: {line}")
    found = {"preemptsOrNot": [len(right), len(compared)], "notRun": len(skipped), "throughputRatio": round(ratio, 3),
             "rankCorrelation": round(rank, 3), "clients": table}  # fmt: skip
    print(json.dumps(found))
    if chosen.keep:
        keep("strangers", _kept(compared, right, ratio, rank, table))
    return 1 if broken else 0


def _kept(
    compared: Sequence[Compared],
    right: Sequence[Compared],
    ratio: float,
    rank: float,
    table: dict[int, list[float]],
) -> Kept:
    half = "half of an RTX PRO 4500"
    figures = [
        Figure("preempts or not, from flags alone", f"{len(right)} of {len(compared)} right", len(compared), "NVIDIA", "A10G"),
        Figure("output tokens/s, twin over measured", f"{ratio:.2f} in the median", len(compared), "NVIDIA", "A10G"),
        Figure("output tokens/s, rank correlation", f"{rank:.2f}", len(compared), "NVIDIA", "A10G"),
        *(
            Figure(
                f"preemptions in 265 s at {clients} clients", f"counted {COUNTED[clients][2]:,}, twin {ours[2]:,.0f}", 1,
                "NVIDIA", half,
            )
            for clients, ours in table.items()
        ),
    ]  # fmt: skip
    return Kept(
        "python bench/strangers.py --keep",
        "graz-dev/vllm-benchmark@468bffc (84 experiments of a tuner, half of them on file) and "
        "akamaslabs/vllm-benchmark@8846e6a8 (study 26, vLLM 0.29.0); facts only",
        figures,
        [
            "In the table of clients the steps are a line through the study's own rates, so that it judges decisions, not step times.",
            "At the knee (384 clients) a few per cent of the pool decide, and the pool is known to about 3 %.",
            "No study of an AMD card that counts preemptions is known.",
        ],
    )  # fmt: skip


if __name__ == "__main__":
    sys.exit(main())
