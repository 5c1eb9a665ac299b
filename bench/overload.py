"""The gateway under overload, on the real vLLM: 2, 5 and 10 times what fits, beside the bare engine
and the best static limit there is.

    python bench/overload.py [--share 0.3] [--twin] [--json FILE]        (after `make vllm`; let the machine be idle)

static       --max-num-seqs at three values: each at far more than fits, and at 95 % of what it then does; what the best one answers is
             `what fits`. The best of these, at any load, is what the gateway is held against: they
             run on beside it, turn by turn with each step, because a shared machine wanders within
             minutes by more than what is promised
unpressured  default flags at half of what fits: sets the service level (a first token within 3
times its p99 and at least 2 s, a mean gap
             of at most 2.5 times its mean)
step         from nothing to 2, 5, 10 times what fits, without the gateway and, three times, behind one that has just been started
burst        60 % of what fits, and 2, 5, 10 times for a third of the time
below        80 % of what fits, behind the gateway: nobody is refused
tenants      three with keys and equal shares; two ask for a fifth of what fits each, alone and while the third asks for 5 times what fits
prefixes     prompts that share 1,024 of some 1,064 tokens, six kinds of them

Long prompts (300 to 700 tokens), answers of 200 tokens on average and up to 1,024 that end by
chance: neither side can know how long. Clients do not come again, and leave at the end. `--share`
takes so much of the time; below 0.5 only 5 times what fits and two static limits; `--twin` shows
the same on the twin, in real time, where a machine has no vLLM or is busy. Exits 1 where a promise
is broken. About 25 minutes of two cores.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from itertools import cycle, product
from pathlib import Path
from statistics import fmean
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from bench.overload_runs import OUTPUT_LIMIT, OUTPUT_MEAN, RAMP_S, Run, Slo, Stretch, run
from dev.engine import Engine, is_installed
from dev.gateway_process import GatewayProcess
from dev.twin_engine import TwinEngine

BLOCKS, BLOCK_TOKENS = 160, 128
FLAGS = ("--max-model-len", "4096", "--num-gpu-blocks-override", str(BLOCKS))
HELD = 500 + OUTPUT_MEAN + BLOCK_TOKENS // 2
TWIN = "base=0.004,prefill=0.00002,decode=0.0003"
READY_WITHIN_S = 400.0
STATIC = (0.6, 0.85, 1.1)
"""Of the mean number of requests that the pool holds."""
LOADS = (2, 5, 10)
ROUNDS = 3
LONG_S, MUCH_PER_S = 15.0, 60.0
TENANTS_S = 30.0
"""At least: a tenant that asks for a fifth of what fits has some fifty requests then, not ten, of
which one is a tenth.
"""
SHARES = {"red": 1 / 3, "blue": 1 / 3, "green": 1 / 3}
KEYS = {name: f"sk-{name}" for name in SHARES}
PREEMPTED, GOODPUT, THROUGHPUT, OTHERS = 0.01, 0.9, 0.95, 0.95


@dataclass(slots=True)
class Bench:
    """What was measured so far. `rows`: for the report; `broken`: promises not kept."""

    seconds: float
    loads: tuple[int, ...]
    static: tuple[float, ...]
    rounds: int
    twin: bool = False
    slo: Slo = field(default_factory=lambda: Slo(1.0, 1.0))
    rows: list[dict[str, Any]] = field(default_factory=list)
    broken: list[str] = field(default_factory=list)

    @contextmanager
    def engine(self, *flags: str) -> Iterator[Engine]:
        """One with these flags, which has its first steps behind it: they are slow."""
        options = ("--output-tokens", f"{OUTPUT_MEAN},0.8")
        chosen = (
            TwinEngine(*FLAGS, *flags, options=options, latency=TWIN)
            if self.twin
            else Engine(*FLAGS, *flags)
        )
        with chosen as one:
            one.wait_ready(READY_WITHIN_S)
            run(one.url, one.url, [Stretch(2.0, 0.0, RAMP_S + 2)], 0)
            yield one

    def show(self, name: str, one: Run) -> None:
        """One line."""
        refusals = ", ".join(f"{count} x {why}" for why, count in one.refusals().most_common())
        print(f"{name:32} {one.good_per_s(self.slo):6.2f} {one.tokens_per_s:7.0f} {one.preempted_ratio:6.1%}"
              f" {one.ttft_p99_s():6.2f} {one.gap_mean_s() * 1e3:5.1f}  {refusals}", flush=True)  # fmt: skip
        self.rows.append({
            "name": name, "goodPerSecond": one.good_per_s(self.slo), "tokensPerSecond": one.tokens_per_s,
            "preemptedRatio": one.preempted_ratio, "ttftP99Seconds": one.ttft_p99_s(), "gapMeanSeconds": one.gap_mean_s(),
            "refusals": dict(one.refusals()),
        })  # fmt: skip

    def promise(self, kept: bool, what: str) -> None:
        """A promise that is not kept is said, and told at the end."""
        if not kept:
            self.broken.append(what)

    def clear(self, name: str, one: Run) -> None:
        """What every run behind the gateway keeps."""
        unclear = sum(count for why, count in one.refusals().items() if why.startswith("unclear"))
        self.promise(
            one.preempted_ratio <= PREEMPTED, f"{name}: {one.preempted_ratio:.1%} preempted"
        )
        self.promise(unclear == 0, f"{name}: {unclear} refusals that are not clear")
        self.promise(
            one.failed() == 0, f"{name}: {one.failed()} requests came to nothing without a word"
        )


@dataclass(slots=True)
class Static:
    """What one static limit made of it. `near_per_s`: 95 % of what it answers. `shared`: of the
    load that shares prefixes.
    """

    limit: int
    much: Run
    near: Run
    near_per_s: float
    shared: Run

    @property
    def tokens_per_s(self) -> float:
        """Tokens per second, at the better load."""
        return max(self.much.tokens_per_s, self.near.tokens_per_s)


@dataclass(frozen=True, slots=True)
class Best:
    """The best static limits, on engines that run: by good answers, by tokens, and by tokens of
    prompts that share.
    """

    good: tuple[Static, Engine]
    tokens: tuple[Static, Engine]
    shared: tuple[Static, Engine]


@contextmanager
def gateway(engine: Engine, slo: Slo, *, tenants: bool = False) -> Iterator[GatewayProcess]:
    """One that has just been started and knows nothing."""
    promised = f"slo: {{ttftP99Seconds: {slo.ttft_s:g}, itlP99Seconds: {slo.gap_s:g}}}"
    spec = f"request: {{maxOutputTokens: {OUTPUT_LIMIT}}}\n{promised}"
    with tempfile.TemporaryDirectory(prefix="barostat-overload-") as name:
        folder = Path(name)
        options: tuple[str, ...] = ()
        if tenants:
            spec += (
                "\ntenants: ["
                + ", ".join(f"{{name: {one}, share: {share:.3f}}}" for one, share in SHARES.items())
                + "]"
            )
            (folder / "keys.txt").write_text(
                "".join(f"{one}: {key}\n" for one, key in KEYS.items())
            )
            options = ("--keys", str(folder / "keys.txt"))
        with GatewayProcess(folder, spec, engine.url, options=options) as one:
            yield one


def static(bench: Bench) -> tuple[list[Static], float]:
    """Each limit at its best, and what fits: answers per second of the one that answers most."""
    found: list[Static] = []
    for share in bench.static:
        limit = round(share * (BLOCKS - 1) * BLOCK_TOKENS / HELD)
        with bench.engine("--max-num-seqs", str(limit)) as engine:
            much = run(engine.url, engine.url, much_of(bench), 1)
            near_per_s = 0.95 * much.answered_per_s()
            near = run(engine.url, engine.url, [Stretch(near_per_s, 0.0, bench.seconds)], 2)
            shared = run(engine.url, engine.url, much_of(bench, shared_prefix=True), 3)
        found.append(Static(limit, much, near, near_per_s, shared))
    return found, max(one.much.answered_per_s() for one in found)


def much_of(bench: Bench, *, shared_prefix: bool = False) -> list[Stretch]:
    """Far more than fits."""
    return [Stretch(MUCH_PER_S, 0.0, bench.seconds, shared_prefix=shared_prefix)]


@contextmanager
def best_of(bench: Bench, limits: Sequence[Static]) -> Iterator[Best]:
    """The best of them, each on an engine of its limit."""
    good = max(
        limits, key=lambda one: max(one.much.good_per_s(bench.slo), one.near.good_per_s(bench.slo))
    )
    most = max(limits, key=lambda one: one.tokens_per_s)
    shared = max(limits, key=lambda one: one.shared.tokens_per_s)
    with ExitStack() as stack:
        engines = {
            limit: stack.enter_context(bench.engine("--max-num-seqs", str(limit)))
            for limit in {good.limit, most.limit, shared.limit}
        }
        yield Best(
            (good, engines[good.limit]),
            (most, engines[most.limit]),
            (shared, engines[shared.limit]),
        )


def unpressured(engine: Engine, fits_per_s: float, for_s: float) -> tuple[Run, Slo]:
    """Half of what fits, and the service level that follows."""
    calm = run(engine.url, engine.url, [Stretch(0.5 * fits_per_s, 0.0, for_s)], 4)
    return calm, Slo(max(2.0, 3 * calm.ttft_p99_s()), 2.5 * calm.gap_mean_s())


def behind(bench: Bench, engine: Engine, name: str, stretches: Sequence[Stretch], seed: int) -> Run:
    """One run behind a new gateway, which keeps what every run behind it keeps."""
    with gateway(engine, bench.slo) as front:
        one = run(front.url, engine.url, stretches, seed)
    bench.clear(name, one)
    return one


def stepped(bench: Bench, engine: Engine, best: Best, fits_per_s: float) -> None:
    """Steps: without the gateway once, behind it turn by turn with the best static limits, which it
    is held against.
    """
    steps = {load: [Stretch(load * fits_per_s, 0.0, bench.seconds)] for load in bench.loads}
    for load, stretches in steps.items():
        bench.show(f"step x{load} without", run(engine.url, engine.url, stretches, 10 + load))
    found: dict[int, list[Run]] = {load: [] for load in steps}
    beside: tuple[list[Run], list[Run]] = [], []
    near, much = (
        ("x0.95", *best.good, [Stretch(best.good[0].near_per_s, 0.0, bench.seconds)]),
        ("far over", *best.tokens, much_of(bench)),
    )
    statics = cycle(zip(beside, (near, much), strict=True))

    def static_turn(seed: int) -> None:
        runs, (name, limit, one, stretches) = next(statics)
        runs.append(run(one.url, one.url, stretches, seed))
        bench.show(f"--max-num-seqs {limit.limit} {name}, beside", runs[-1])

    for turn, (load, stretches) in product(range(bench.rounds), steps.items()):
        static_turn(100 * turn + load)
        found[load].append(behind(bench, engine, f"step x{load}", stretches, 100 * turn + load))
        bench.show(f"step x{load} behind it", found[load][-1])
    static_turn(1000)
    good = max(fmean(one.good_per_s(bench.slo) for one in runs) for runs in beside)
    tokens = max(fmean(one.tokens_per_s for one in runs) for runs in beside)
    print(f"{'the best static, mean':32} {good:6.2f} {tokens:7.0f}")
    for load, runs in found.items():
        ours_good, ours_tokens = (
            fmean(one.good_per_s(bench.slo) for one in runs),
            fmean(one.tokens_per_s for one in runs),
        )
        of_good, of_tokens = ours_good / good, ours_tokens / tokens
        print(
            f"{f'step x{load} behind it, mean':32} {ours_good:6.2f} {ours_tokens:7.0f} "
            f"{of_good:6.0%} {of_tokens:6.0%}"
        )
        bench.promise(of_good >= GOODPUT, f"step x{load}: {of_good:.0%} of the best static goodput")
        bench.promise(
            of_tokens >= THROUGHPUT, f"step x{load}: {of_tokens:.0%} of the best throughput"
        )


def burst(bench: Bench, engine: Engine, fits_per_s: float) -> None:
    """Bursts on a calm load, without and with the gateway; and a load below what fits, of which
    nobody is refused.
    """
    third = RAMP_S + (bench.seconds - RAMP_S) / 3
    calm = 0.6 * fits_per_s
    for load in bench.loads:
        stretches = [
            Stretch(calm, 0.0, third), Stretch(load * fits_per_s, third, 2 * third), Stretch(calm, 2 * third, bench.seconds + RAMP_S)
        ]  # fmt: skip
        bench.show(f"burst x{load} without", run(engine.url, engine.url, stretches, 10 + load))
        bench.show(
            f"burst x{load} behind it",
            behind(bench, engine, f"burst x{load}", stretches, 10 + load),
        )
    one = behind(bench, engine, "below", [Stretch(0.8 * fits_per_s, 0.0, bench.seconds)], 20)
    bench.show("below x0.8 behind it", one)
    refused = one.refusals().total()
    bench.promise(
        refused == 0, f"below: {refused} of {len(one.answers)} refused at 80 % of what fits"
    )


def tenants(bench: Bench, engine: Engine, fits_per_s: float) -> None:
    """Two tenants alone, and with a third that floods."""
    end = max(bench.seconds, TENANTS_S) + RAMP_S
    two = [Stretch(0.2 * fits_per_s, 0.0, end, name) for name in ("red", "blue")]
    runs = {}
    for name, stretches in (
        ("alone", two),
        ("flooded", [*two, Stretch(5 * fits_per_s, 0.0, end, "green")]),
    ):
        with gateway(engine, bench.slo, tenants=True) as front:
            runs[name] = run(front.url, engine.url, stretches, 30, KEYS)
        bench.show(f"tenants {name}", runs[name])
        bench.clear(f"tenants {name}", runs[name])
    until_s = end - 2 * RAMP_S
    for name in ("red", "blue"):
        alone, flooded = (
            runs[one].good_ratio(bench.slo, name, until_s) for one in ("alone", "flooded")
        )
        missed = ", ".join(
            f"{count} {why}"
            for why, count in runs["flooded"].missed(bench.slo, name, until_s).most_common()
        )
        print(
            f"    {name}: {alone:.0%} of its answers are good alone, {flooded:.0%} beside "
            f"the flood ({missed or 'none missed'})"
        )
        bench.promise(
            flooded >= OTHERS * alone,
            f"tenants: {name} keeps {flooded / max(alone, 1e-9):.0%} of what it has alone",
        )


def prefixes(bench: Bench, engine: Engine, best: Best) -> None:
    """What sharing gives is there behind the gateway, too: turn by turn with the best static
    limit.
    """
    limit, beside = best.shared
    load = much_of(bench, shared_prefix=True)
    bench.show("prefixes without", run(engine.url, engine.url, load, 3))
    tokens: list[tuple[float, float]] = []
    for turn in range(bench.rounds):
        one = run(beside.url, beside.url, load, 3 + turn)
        bench.show(f"--max-num-seqs {limit.limit} prefixes, beside", one)
        with gateway(engine, bench.slo) as front:
            ours = run(front.url, engine.url, load, 3 + turn)
            shared = next(
                (
                    value
                    for name, value in front.metrics().items()
                    if "replica_shared_ratio" in name
                ),
                1.0,
            )
        bench.show("prefixes behind it", ours)
        bench.clear("prefixes", ours)
        tokens.append((ours.tokens_per_s, one.tokens_per_s))
    of_tokens = sum(mine for mine, _ in tokens) / sum(theirs for _, theirs in tokens)
    print(
        f"    {of_tokens:.0%} of its tokens; the ledger has learned that prompts hold "
        f"{shared:.0%} of their parts"
    )
    bench.promise(of_tokens >= THROUGHPUT, f"prefixes: {of_tokens:.0%} of the best throughput")


def main() -> int:
    """The table, and what is broken of the promises."""
    parser = argparse.ArgumentParser(description="The gateway under overload, on the real vLLM.")
    parser.add_argument(
        "--share", type=float, default=1.0, metavar="RATIO", help="of the time (0.2 to 1)"
    )
    parser.add_argument("--twin", action="store_true", help="the twin in place of the real vLLM")
    parser.add_argument("--json", type=Path, metavar="FILE")
    chosen = parser.parse_args()
    if not chosen.twin and not is_installed():
        print(
            "bench/overload.py: the real vLLM is not installed here: run `make vllm`",
            file=sys.stderr,
        )
        return 2
    if not 0.2 <= chosen.share <= 1:
        parser.error(f"--share is {chosen.share:g}: give 0.2 to 1")
    little = chosen.share < 0.5
    bench = Bench(
        RAMP_S + LONG_S * chosen.share,
        (5,) if little else LOADS,
        STATIC[1:] if little else STATIC,
        1 if little else ROUNDS,
        chosen.twin,
    )
    limits, fits_per_s = static(bench)
    with bench.engine() as engine:
        calm, bench.slo = unpressured(engine, fits_per_s, bench.seconds)
        print(f"what fits: {fits_per_s:.2f} answers/s in {(BLOCKS - 1) * BLOCK_TOKENS} tokens of KV cache; good: first token within "
              f"{bench.slo.ttft_s:.1f} s, mean gap at most {bench.slo.gap_s * 1e3:.0f} ms")  # fmt: skip
        print(
            f"{'':32} {'good/s':>6} {'tokens':>7} {'preem.':>6} {'TTFT99':>6} {'gap':>5}  refused"
        )
        bench.show("unpressured x0.5", calm)
        for one in limits:
            bench.show(f"--max-num-seqs {one.limit} far over", one.much)
            bench.show(f"--max-num-seqs {one.limit} x0.95", one.near)
            bench.show(f"--max-num-seqs {one.limit} prefixes", one.shared)
        with best_of(bench, limits) as best:
            stepped(bench, engine, best, fits_per_s)
            burst(bench, engine, fits_per_s)
            tenants(bench, engine, fits_per_s)
            prefixes(bench, engine, best)
    for line in bench.broken:
        print(f"below the promise: {line}")
    print(
        "every promise holds" if not bench.broken else f"{len(bench.broken)} promises do not hold"
    )
    if chosen.json:
        chosen.json.write_text(
            json.dumps(
                {"fitsPerSecond": fits_per_s, "rows": bench.rows, "broken": bench.broken}, indent=1
            )
        )
    return 1 if bench.broken else 0


if __name__ == "__main__":
    sys.exit(main())
