"""Self-calibration against reality: a real vLLM is seen at its three lowest loads through /metrics
alone, and the other nine of the sweep are forecast.

    python bench/self_calibration.py [--seconds 15] [--shape small] [--out FILE.json]

Twelve levels of clients that wait for each answer, sent by `barostat load`. From the scrapes of the
three lowest (no log, no restart) the pace is what `barostat what-if --from URL` would take; the twin
then runs each level with as many clients. Compared: mean ITL, output tokens/s and mean KV usage, as
the engine's own counters have them. Forecasts of levels that were seen are printed too.

Aims: 10 % for each figure of the nine, and nine tenths of them within the stated interval. Prints a
table; exits 1 where an aim is missed. A machine that does something else besides gives other runs.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import threading
import time
from dataclasses import asdict, dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from bench.forecast_calibration import settings_of, warm_up
from dev.engine import Engine, is_installed
from dev.engine_says import scrape

from barostat.engines.vllm.metrics.exposition import Exposition
from barostat.engines.vllm.metrics.scrapes import EngineScrapes, in_order
from barostat.engines.vllm.metrics.signals import read
from barostat.judge.calibration.step_times import FittedStepTimes, fitted_step_times
from barostat.twin.forms import simulate
from barostat.twin.linear_pace import LinearPace
from barostat.twin.settings import Settings
from barostat.twin.summary import summarise
from barostat.twin.workload.made import make, parse_spec

MAX_NUM_SEQS, MAX_NUM_BATCHED_TOKENS, MAX_MODEL_LEN, KV_BLOCKS = 64, 2048, 4096, 192
FLAGS = (
    "--max-model-len", str(MAX_MODEL_LEN), "--num-gpu-blocks-override", str(KV_BLOCKS), "--max-num-seqs", str(MAX_NUM_SEQS),
    "--max-num-batched-tokens", str(MAX_NUM_BATCHED_TOKENS),
)  # fmt: skip
LEVELS = (1, 2, 3, 4, 6, 8, 10, 12, 16, 20, 24, 32)
SEEN = 3
LENGTHS = "input=240,output=80,spread=0.3"
AIM_RATIO, WITHIN_SHARE = 0.10, 0.9
FIGURES = ("itl_s", "tokens_per_s", "kv_usage")
_EVERY_S, _FEWEST_SCRAPES = 1.0, 2
Scrape = tuple[float, Exposition, str]


@dataclass(frozen=True)
class Seen:
    """One level: means over it, by the engine's own counters."""

    itl_s: float
    tokens_per_s: float
    kv_usage: float


class Watched:
    """The engine's metrics every second while a level runs."""

    def __init__(self, engine: Engine) -> None:
        self._engine, self._over = engine, threading.Event()
        self.scrapes: list[Scrape] = []
        self._thread = threading.Thread(target=self._run, daemon=True)

    def _run(self) -> None:
        while not self._over.wait(_EVERY_S):
            self.scrapes.append((time.time(), read(scrape(self._engine)), "metrics"))

    def __enter__(self) -> Watched:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()


def workload(clients: int) -> str:
    """The level's traffic, as `barostat load` and the twin both make it."""
    return f"closed:clients={clients},requests={400 * clients},{LENGTHS}"


def run_level(engine: Engine, clients: int, for_s: float) -> list[Scrape]:
    """Send the level; return the scrapes while all its clients were served, but the first."""
    command = [
        sys.executable, "-m", "barostat", "load", engine.url, "--workload", workload(clients), "--for", f"{for_s:g}s",
        "--allow-live-traffic", "--quiet", "-o", "json",
    ]  # fmt: skip
    with Watched(engine) as watched:
        subprocess.run(command, capture_output=True, check=False, timeout=for_s + 120)
    busy = [
        one for one in watched.scrapes if _total(one[1], "vllm:num_requests_running") >= clients
    ]
    return busy[1:]


def seen(scrapes: list[Scrape]) -> Seen:
    """What the counters say of the level.

    Errors: RuntimeError where it was too short, or nothing was generated.
    """
    ordered = EngineScrapes("0", in_order(scrapes)[0])

    def grown(name: str) -> float:
        return max(0.0, _total(scrapes[-1][1], name) - _total(scrapes[0][1], name))

    if len(scrapes) < _FEWEST_SCRAPES:
        raise RuntimeError("a level was too short: give more --seconds")
    over_s = scrapes[-1][0] - scrapes[0][0]
    tokens = grown("vllm:generation_tokens_total")
    steps, waited_s = (
        grown("vllm:inter_token_latency_seconds_count"),
        grown("vllm:inter_token_latency_seconds_sum"),
    )
    if not steps or not over_s or not ordered.scrapes:
        raise RuntimeError("a level generated nothing")
    usage = statistics.fmean(_total(one[1], "vllm:kv_cache_usage_perc") for one in scrapes)
    return Seen(waited_s / steps, tokens / over_s, usage)


def _total(page: Exposition, name: str) -> float:
    return sum(sample.value for sample in page.samples if sample.name == name)


def forecast(settings: Settings, pace: LinearPace, clients: int) -> Seen:
    """The same level on the twin, in its steady middle."""
    rows = make(parse_spec(workload(clients)), 0)[: max(40, 30 * clients)]
    outcome = simulate(settings, rows, pace)
    found = summarise(outcome, settings.usable_blocks, front_s=pace.front_s)
    begin_s, end_s = 0.1 * found.duration_s, 0.8 * found.duration_s
    usage = [one.usage_mean_ratio for one in found.bins if begin_s <= one.at_s <= end_s]
    return Seen(found.itl.mean or 0.0, found.output_tokens_per_s, statistics.fmean(usage))


def compared(
    settings: Settings, fitted: FittedStepTimes, levels: dict[int, Seen]
) -> tuple[list[str], float, float]:
    """The rows of the table, the largest error of the levels not seen, and the share of their
    figures within the interval.
    """
    paces = [fitted.pace, *fitted.others]
    paces += [fitted.pace.scaled(1 + sign * fitted.pace.error_ratio) for sign in (-1, 1)]
    rows, worst, inside = [], 0.0, []
    for clients, real in levels.items():
        told = [forecast(settings, pace, clients) for pace in paces]
        cells = []
        for name in FIGURES:
            values = [getattr(one, name) for one in told]
            measured = getattr(real, name)
            error = values[0] / measured - 1 if measured else 0.0
            cells.append(f"{values[0]:9.4g} {measured:9.4g} {error:+6.1%}")
            if clients > LEVELS[SEEN - 1]:
                worst = max(worst, abs(error))
                inside.append(min(values) <= measured <= max(values))
        mark = "seen" if clients <= LEVELS[SEEN - 1] else ""
        rows.append(f"{clients:7} {mark:5} " + "  ".join(cells))
    return rows, worst, sum(inside) / len(inside)


def main() -> int:
    """Run the sweep, calibrate on its lowest levels, compare."""
    parser = argparse.ArgumentParser(description="Self-calibration against a real vLLM.")
    parser.add_argument("--seconds", type=float, default=15.0, help="of each level")
    parser.add_argument("--shape", default="small")
    parser.add_argument("--out", type=Path)
    chosen = parser.parse_args()
    if not is_installed():
        print("self_calibration: vLLM is not installed here; run `make vllm`", file=sys.stderr)
        return 2
    scrapes: dict[int, list[Scrape]] = {}
    with Engine(*FLAGS, shape=chosen.shape) as engine:
        engine.wait_ready()
        warm_up(engine)
        settings = settings_of(engine, MAX_NUM_SEQS, MAX_NUM_BATCHED_TOKENS, MAX_MODEL_LEN)
        for clients in LEVELS:
            scrapes[clients] = run_level(engine, clients, chosen.seconds)
            print(f"{clients} clients: {len(scrapes[clients])} scrapes", flush=True)
    levels = {clients: seen(pages) for clients, pages in scrapes.items()}
    known = [page for clients in LEVELS[:SEEN] for page in scrapes[clients]]
    fitted = fitted_step_times(EngineScrapes("0", in_order(known)[0]), None, MAX_NUM_BATCHED_TOKENS)
    if fitted is None:
        print("self_calibration: the lowest levels show no steps", file=sys.stderr)
        return 1
    print(fitted.note)
    rows, worst, inside = compared(settings, fitted, levels)
    print(
        f"{'clients':>7} {'':5} "
        + "  ".join(f"{name + ': forecast, real':>26}" for name in FIGURES)
    )
    print(*rows, sep="\n")
    off = f"not seen: at most {worst:.1%} off (aim {AIM_RATIO:.0%})"
    print(f"{off}; {inside:.0%} of the figures within the interval (aim {WITHIN_SHARE:.0%})")
    if chosen.out:
        chosen.out.write_text(json.dumps({str(key): asdict(one) for key, one in levels.items()}))
    return 0 if worst <= AIM_RATIO and inside >= WITHIN_SHARE else 1


if __name__ == "__main__":
    sys.exit(main())
