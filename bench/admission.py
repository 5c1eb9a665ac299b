"""How much the gate's forecast is worth: goodput and preempted share beside four other gates, on
published traces at four loads.

    python bench/admission.py [TRACES] [--quick] [--only NAME,...] [--keep]     TRACES: a folder with the four traces named below

Four replicas on the twin. Each trace is sliced to the first requests that fill the stated time, and
its time stretched, so that they come at 0.8, 1, 1.5 and 3 times capacity: what the oracle answers
within the service level where twice too much comes. Lengths, their order, shared prefixes and who
sends what are the trace's; all state the service's output limit. Pools hold 80 or more requests, or
about 30.
Beside ours: (a) the engines' own limits, (b) so many requests per replica, both at the best of
three settings in each row, (c) reserving input + max_tokens, (d) an oracle that knows every length
(of the pool it fills 97 %: it does not know to the step when a prompt is through). All but (a) have
our queue, deadlines and choice of replica. Steps: 12 ms, 10 us per prompt token, 50 us per
sequence, 20 ns per cached token. Good is: first token within the limit below, 60 ms between tokens
on average. The first tenth of each run does not count.

Priority classes, at 1.5 and 3 times capacity: one request in four is of the first class. Beside
ours: no classes, and llm-d's priority ceilings with sheddable requests (re-implemented from its
public documentation, see `gates.py`; ceilings of 1 and 0.8, the second class is not queued).

Prints a row per trace, pool and load, and last one line of JSON. Exits 1 where a promise is broken:
at most 1 % preempted, at least 95 % of (d) where 80 fit and 88 % where 30 do, never below (a) to
(c), and with classes at least 95 % of what llm-d's policy gives the first class, and more in all.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import json
import sys
import time
from dataclasses import dataclass, replace
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))
from bench.kept import Figure, Kept, keep  # noqa: E402

from barostat.admit.rules import ClassRule, Rules  # noqa: E402
from barostat.judge.experiments.admission import GatedSummary, run_gated, summed_up  # noqa: E402
from barostat.judge.experiments.gated import Fleet, GatedRun, Traffic  # noqa: E402
from barostat.judge.experiments.gates import GateName  # noqa: E402
from barostat.twin.linear_pace import LinearPace  # noqa: E402
from barostat.twin.request import Row  # noqa: E402
from barostat.twin.settings import Settings  # noqa: E402
from barostat.twin.summary import Slo  # noqa: E402

LOADS = (0.8, 1.0, 1.5, 3.0)
REPLICAS = 4
PACE = LinearPace(0.012, 1e-5, 5e-5, 2e-8)
ITL_S = 0.06
PREEMPTED = 0.01
OF_ORACLE = {False: 0.88, True: 0.95}
SWEPT = (0.75, 1.0, 1.3)
SLACK = 0.995  # of a peer's goodput: less than one request in two hundred is chance


@dataclass(frozen=True)
class Case:
    """A trace with a pool. `held_tokens`: mean of what a running request holds. `fit`: how many of
    them the pool holds.

    `for_s`: how long a run lasts, several times what the longest tenth of the answers take.
    """

    name: str
    trace: str
    for_s: float
    held_tokens: int
    fit: int
    output_limit: int
    ttft_s: float
    id_tokens: int | None = None


CASES = (
    Case("Azure 2023 conversation", "azure2023_conv", 75, 1227, 100, 1024, 4.0),
    Case("Azure 2023 conversation", "azure2023_conv", 120, 1227, 30, 1024, 4.0),
    Case("ServeGen m-large", "servegen_m-large_1h", 100, 447, 160, 2048, 4.0),
    Case("ServeGen r1", "servegen_r1_1h", 300, 2137, 90, 32768, 8.0),
    Case("ServeGen r1", "servegen_r1_1h", 450, 2137, 37, 32768, 8.0),
    Case("Mooncake conversation", "mooncake_conversation", 120, 13126, 40, 2048, 8.0, 512),
)


def best_of(
    fleet: Fleet,
    rules: Rules,
    traffic: Traffic,
    slo: Slo,
    gate: GateName,
    concurrencies: tuple[int, ...],
    queue_ratio: float = 1.5,
) -> tuple[GatedSummary, int]:
    """Return the best result by goodput of the gate `concurrency` or `engine` over these limits per
    replica, and the limit.

    Engines behind `engine` queue up to `queue_ratio` times their running limit and reject more (503).
    """
    found: list[tuple[float, int, GatedSummary]] = []
    for most in concurrencies:
        if gate == "engine":
            limits = {"max_num_active_seqs": most, "max_queued_requests": round(queue_ratio * most)}
            settings = replace(fleet.settings, **limits)  # type: ignore[arg-type]
            summary = run_gated(replace(fleet, settings=settings), rules, traffic, slo, gate)
        else:
            summary = run_gated(fleet, replace(rules, max_running=most), traffic, slo, gate)
        found.append((summary.good_per_s, -most, summary))
    _, negative, summary = max(found, key=lambda one: one[:2])
    return summary, -negative


def traffic(case: Case, folder: Path) -> Traffic:
    """The whole trace, each request with its client as its tenant where the trace tells clients
    apart.
    """
    rows: list[Row] = []
    tenants: dict[str, str] = {}
    with gzip.open(folder / f"{case.trace}.csv.gz", "rt") as file:
        for number, line in enumerate(csv.DictReader(file)):
            ids = blocks(line["hash_ids"]) if case.id_tokens else None
            at, sizes = (
                float(line["arrival_s"]),
                (int(line["input_tokens"]), int(line["output_tokens"])),
            )
            rows.append(Row(str(number), at, *sizes, hash_ids=ids, id_tokens=case.id_tokens))
            if "client_id" in line:
                tenants[str(number)] = line["client_id"]
    return Traffic(rows, case.output_limit, tenants)


def blocks(text: str) -> tuple[int, ...]:
    """Block ids that are written as integers and inclusive ranges."""
    found: list[int] = []
    for part in text.split():
        first, _, last = part.partition("-")
        found.extend(range(int(first), int(last or first) + 1))
    return tuple(found)


def at_rate(whole: Traffic, per_s: float, for_s: float) -> Traffic:
    """The first requests, as many as come in that time, stretched in time so that they come at that
    rate.
    """
    rows = whole.rows[: max(200, round(per_s * for_s))]
    start = rows[0].arrival_s
    factor = len(rows) / per_s / (rows[-1].arrival_s - start)
    return replace(
        whole, rows=[row._replace(arrival_s=(row.arrival_s - start) * factor) for row in rows]
    )


def fleet(case: Case) -> Fleet:
    """Four engines whose pool holds so many of the trace's requests."""
    settings = Settings(
        kv_blocks=case.fit * case.held_tokens // 16 + 1, max_model_len=131_072, max_num_seqs=1024, max_num_batched_tokens=8192,
        prefix_caching=case.id_tokens is not None,
    )  # fmt: skip
    return Fleet(REPLICAS, settings, PACE)


def compared(
    case: Case, load: float, whole: Traffic, capacity_per_s: float, for_s: float
) -> tuple[list[str], dict[str, float], str]:
    """One row: (promises that are broken, ratios, the row as text)."""
    engines, slo = fleet(case), Slo(case.ttft_s, ITL_S)
    rules = Rules(ttft_s=case.ttft_s, queue_deadline_s=0.8 * case.ttft_s, preempted_ratio=PREEMPTED)
    coming = at_rate(whole, load * capacity_per_s, for_s)
    swept = tuple(max(2, round(share * case.fit)) for share in SWEPT)
    ours = run_gated(engines, rules, coming, slo)
    engine, engine_at = best_of(engines, rules, coming, slo, "engine", swept)
    concurrency, concurrency_at = best_of(engines, rules, coming, slo, "concurrency", swept)
    worst = run_gated(engines, rules, coming, slo, "worst-case")
    oracle = run_gated(engines, rules, coming, slo, "oracle")
    ratio = ours.good_per_s / oracle.good_per_s if oracle.good_per_s else 1.0
    where = f"{case.name}, {case.fit} fit, x{load:g}"
    broken = []
    if ours.preempted_ratio > PREEMPTED:
        broken.append(f"{where}: {ours.preempted_ratio:.1%} preempted")
    if ratio < OF_ORACLE[case.fit >= 80]:
        broken.append(f"{where}: {ratio:.1%} of the oracle")
    for name, peer in (
        ("the engine's own limits", engine),
        ("concurrency", concurrency),
        ("worst case", worst),
    ):
        if ours.good_per_s < SLACK * peer.good_per_s:
            broken.append(f"{where}: {ours.good_per_s:.2f} good/s, {name} {peer.good_per_s:.2f}")
    told = [_told(one) for one in (ours, oracle, engine, concurrency, worst)]
    told[2] += f" @{engine_at}"
    told[3] += f" @{concurrency_at}"
    row = f"{case.name:24} {case.fit:4} {load:4g} {ratio:7.1%} " + " ".join(
        f"{one:>17}" for one in told
    )
    return (
        broken,
        {"ofOracle": round(ratio, 3), "preemptedRatio": round(ours.preempted_ratio, 4)},
        row,
    )


FIRST_EACH = 4
CLASS_LOADS = (1.5, 3.0)
FIRST_OF_PEER = 0.95
CLASSES = {
    "first": ClassRule("first", 0),
    "second": ClassRule("second", 1, pool_share=0.6, queue_share=0.2),
}
CEILINGS = {
    "first": ClassRule("first", 0),
    "second": ClassRule("second", 1, pool_share=0.8, queue_share=0.0),
}


def with_classes(
    case: Case, load: float, whole: Traffic, capacity_per_s: float, for_s: float
) -> tuple[list[str], dict[str, float], str]:
    """One row of the table of classes: good answers a second of the first class, and of all."""
    engines, slo = fleet(case), Slo(case.ttft_s, ITL_S)
    rules = Rules(ttft_s=case.ttft_s, queue_deadline_s=0.8 * case.ttft_s, preempted_ratio=PREEMPTED)
    coming = at_rate(whole, load * capacity_per_s, for_s)
    rows = [row._replace(priority=int(n % FIRST_EACH > 0)) for n, row in enumerate(coming.rows)]
    coming = replace(coming, rows=rows)
    of_first = {row.request_id for row in rows if row.priority == 0}

    def both(rules: Rules, gate: GateName = "forecast") -> tuple[float, float, float]:
        outcome = GatedRun(engines, rules, coming, gate).run()
        every = summed_up(outcome, rules, slo, gate)
        outcome.arrived_s = {name: at for name, at in outcome.arrived_s.items() if name in of_first}
        outcome.lives = {name: life for name, life in outcome.lives.items() if name in of_first}
        outcome.refused = [one for one in outcome.refused if one.request_id in of_first]
        first = summed_up(outcome, rules, slo, gate)
        return first.good_per_s, every.good_per_s, first.good / max(first.requests, 1)

    none, ours = both(rules), both(replace(rules, classes=CLASSES))
    peer = both(replace(rules, classes=CEILINGS), "ceilings")
    where = f"{case.name}, {case.fit} fit, x{load:g}, classes"
    broken = [
        f"{where}: {what} {mine:.2f} good/s, llm-d's policy {theirs:.2f}"
        for what, mine, theirs, least in (
            ("first class", ours[0], peer[0], FIRST_OF_PEER),
            ("all", ours[1], peer[1], SLACK),
        )
        if mine < least * theirs
    ]
    told = " ".join(
        f"{f'{first:.2f} ({kept:.0%}) / {every:.2f}':>24}"
        for first, every, kept in (none, ours, peer)
    )
    ratios = {
        "firstOfPeer": round(ours[0] / peer[0], 3) if peer[0] else 0.0,
        "allOfPeer": round(ours[1] / peer[1], 3) if peer[1] else 0.0,
        "allOfNoClasses": round(ours[1] / none[1], 3) if none[1] else 0.0,
    }
    return broken, ratios, f"{case.name:24} {case.fit:4} {load:4g} {told}"


def _told(one: GatedSummary) -> str:
    return f"{one.good_per_s:.2f} {one.preempted_ratio:.1%}"


def main() -> int:
    """The table, what is broken of the promises, then the ratios."""
    parser = argparse.ArgumentParser(
        description="Goodput and preempted share behind five gates, on published traces."
    )
    parser.add_argument("traces", nargs="?", type=Path, default=ROOT.parent / "shared" / "traces")
    parser.add_argument("--quick", action="store_true", help="a third of the time")
    parser.add_argument(
        "--only", default="", help="traces whose file names begin so, comma-separated"
    )
    parser.add_argument("--keep", action="store_true", help="write bench/results/admission.json")
    chosen = parser.parse_args()
    wanted = tuple(filter(None, chosen.only.split(","))) or ("",)
    begun = time.process_time()
    names = ("ours", "oracle", "engine's own", "concurrency", "worst case")
    print(
        f"{'trace':24} {'fit':>4} {'load':>4} {'of (d)':>7} "
        + " ".join(f"{name:>17}" for name in names)
    )
    broken: list[str] = []
    ratios: dict[str, dict[str, float]] = {}
    classes = [
        "priority classes: good/s of the first class (share of its requests) / of all",
        f"{'trace':24} {'fit':>4} {'load':>4} "
        + " ".join(f"{name:>24}" for name in ("no classes", "ours", "llm-d's policy")),
    ]
    for case in CASES:
        if not case.trace.startswith(wanted):
            continue
        whole = traffic(case, chosen.traces)
        for_s = case.for_s / (3 if chosen.quick else 1)
        guess = (
            REPLICAS
            * case.fit
            / (0.02 * sum(row.output_tokens for row in whole.rows) / len(whole.rows))
        )
        rules = Rules(ttft_s=case.ttft_s, queue_deadline_s=0.8 * case.ttft_s)
        capacity = run_gated(
            fleet(case), rules, at_rate(whole, 2 * guess, for_s), Slo(case.ttft_s, ITL_S), "oracle"
        ).good_per_s
        for load in LOADS:
            wrong, found, row = compared(case, load, whole, capacity, for_s)
            broken += wrong
            ratios[f"{case.name}, {case.fit} fit, x{load:g}"] = found
            print(row, flush=True)
        for load in CLASS_LOADS:
            wrong, found, row = with_classes(case, load, whole, capacity, for_s)
            broken += wrong
            ratios[f"{case.name}, {case.fit} fit, x{load:g}, classes"] = found
            classes.append(row)
    print(*classes, sep="\n")
    for line in broken:
        print(f"below the promise: {line}")
    print(f"{time.process_time() - begun:.0f} s of one core")
    print(json.dumps(ratios))
    if chosen.keep:
        keep("admission", _kept(ratios, broken, quick=chosen.quick))
    return 1 if broken else 0


def _kept(ratios: dict[str, dict[str, float]], broken: list[str], *, quick: bool) -> Kept:
    figures = [
        Figure(f"{name}: {what}", f"{value:.3g}", 1)
        for name, found in ratios.items()
        for what, value in found.items()
    ]
    promised = Figure("promises kept", f"{len(ratios) - len(broken)} of {len(ratios)}", len(ratios))
    return Kept(
        f"python bench/admission.py TRACES {'--quick ' if quick else ''}--keep",
        "published traces (Azure, Mooncake, BurstGPT) on four replicas of the twin",
        [promised, *figures],
        [
            "Replicas are the twin's: what the gateway itself costs is measured by bench/gateway.py.",
            "No card is in it.",
        ],
    )


if __name__ == "__main__":
    sys.exit(main())
