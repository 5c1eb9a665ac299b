"""`simulate` and `tune` on published traces: are the promises kept that their verdicts and their
winners make?

    python bench/published_traces.py DIR [--minutes 15] [--budget 60] [--only
    azure,servegen,mooncake] [--json FILE]

DIR holds azure2023_conv, servegen_r1_1h and mooncake_conversation (.csv.gz with arrival_s,
input_tokens, output_tokens, hash_ids); the first minutes of each are taken. One has too small a
card, one too few slots, one enough. A line each. No peer: none answers this question.

verdict   `simulate` ends with 0 where it says that it keeps up and the SLO holds, else with 1; and
as `--until-it-breaks` has load 1
best      "best so far" only rises; `tune` ends with 0 where the winner holds the service level, else with 3
refused   the winner refuses no more than --max-refused, on requests that the search has not seen
again     an engine of the arguments found, tried on those requests once more, has the goodput that was told

Exits 1 where one is broken. About three minutes.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import json
import re
import subprocess
import sys
import tempfile
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from barostat.io.input_files.requests_file import read_requests
from barostat.judge.experiments.trials import PartsOf, Trial, run_trial
from barostat.judge.experiments.tuning import proof_version
from barostat.shells.cli.simulate.simulate import add_engine_arguments, add_pace_arguments
from barostat.shells.cli.simulate.simulate_inputs import engine_of, pace_of
from barostat.twin.summary import Slo

MAX_REFUSED = 0.01
LLAMA = "meta-llama/Llama-3.1-8B-Instruct"


@dataclass(frozen=True, slots=True)
class Case:
    """A trace, the engine that it is run on, and what is asked of it. Times in seconds."""

    name: str
    file: str
    engine: tuple[str, ...]
    ttft_s: float
    itl_s: float


CASES = (
    Case(
        "azure",
        "azure2023_conv",
        ("--model-config", "Qwen/Qwen3-8B", "--gpu", "L40S", "--max-num-seqs", "24"),
        2.0,
        0.15,
    ),
    Case(
        "servegen",
        "servegen_r1_1h",
        ("--model-config", "Qwen/Qwen3-8B", "--gpu", "H100", "-tp", "4", "--max-num-seqs", "48"),
        2.0,
        0.1,
    ),
    Case(
        "mooncake",
        "mooncake_conversation",
        ("--model-config", LLAMA, "--gpu", "H100", "-tp", "4"),
        15.0,
        0.4,
    ),
)


@dataclass(frozen=True, slots=True)
class Found:
    """What came of one trace. `broken`: the promises that were not kept."""

    name: str
    requests: int
    code: int
    keeps_up: str
    holds_at_load: float | None
    winner: dict[str, Any]
    today_per_s: float
    good_per_s: float
    again_per_s: float
    refused_ratio: float
    holds: bool
    broken: tuple[str, ...]


def first_minutes(source: Path, minutes: float, folder: Path) -> Path:
    """The rows of the trace's first minutes, as a trace."""
    made = folder / source.name.removesuffix(".gz")
    with gzip.open(source, "rt") as lines, made.open("w", newline="") as file:
        rows = csv.DictReader(lines)
        out = csv.DictWriter(file, rows.fieldnames or ())
        out.writeheader()
        out.writerows(row for row in rows if float(row["arrival_s"]) < 60 * minutes)
    return made


def asked(verb: str, trace: Path, *more: str) -> tuple[int, dict[str, Any], str]:
    """Exit code, document and stderr of the command."""
    command = [sys.executable, "-m", "barostat", verb, "--trace", str(trace), *more, "-o", "json"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if not done.stdout:
        raise SystemExit(f"{' '.join(command)} ended with {done.returncode}: {done.stderr}")
    return done.returncode, json.loads(done.stdout), done.stderr


def again(trace: Path, case: Case, best: dict[str, Any]) -> tuple[float, float]:
    """Good requests per second, and the share that is refused, of an engine with the winner's
    arguments on the requests held out.
    """
    parser = argparse.ArgumentParser()
    add_engine_arguments(parser)
    add_pace_arguments(parser)
    words = [
        word
        for name, value in best["args"].items()
        if value is not None
        for word in (f"--{name}", str(value))
    ]
    arguments = parser.parse_args([*case.engine, *words])
    pace = pace_of(
        arguments, engine_of(parser.parse_args(case.engine))
    )  # memory is not counted in a search: steps and pool are today's
    settings = engine_of(arguments).settings
    today = engine_of(parser.parse_args(case.engine)).settings
    rows, _ = read_requests(trace, settings.groups[0].block_tokens, None)
    load = PartsOf(tuple(rows))
    caps = [
        best["live"].get(name) for name in ("edge-input-cap", "edge-output-cap", "edge-kv-budget")
    ]
    kept = replace(settings, kv_blocks=today.kv_blocks)
    slo = Slo(case.ttft_s, case.itl_s, MAX_REFUSED)
    runs = [
        run_trial(load, slo, Trial(kept, proof_version(place), pace, *caps))
        for place in range(load.parts // 2)
    ]
    return sum(run.good_per_s for run in runs) / len(runs), sum(
        run.refused_ratio for run in runs
    ) / len(runs)


def tried(case: Case, trace: Path, budget: int) -> Found:
    """What the verbs answer, held to what they promise."""
    level = ("--slo-ttft", str(case.ttft_s), "--slo-itl", str(case.itl_s))
    code, run, _ = asked("simulate", trace, *case.engine, *level)
    broken_code, breaking, _ = asked("simulate", trace, *case.engine, *level, "--until-it-breaks")
    told_code, tuned, said = asked(
        "tune", trace, *case.engine, "--slo-ttft-p99", str(case.ttft_s), "--slo-itl-p99", str(case.itl_s),
        "--max-refused", str(MAX_REFUSED), "--budget", str(budget),
    )  # fmt: skip
    holds_at = breaking["candidates"][0]["holdsAtLoad"]
    carried = (
        run["keepsUp"] != "falls behind" and "The SLO holds" in run["verdict"] and run["wouldStart"]
    )
    rising = [float(good) for good in re.findall(r"best so far ([\d.]+) good/s", said)]
    best, proof = tuned["best"], tuned["proof"]
    good, refused = again(trace, case, best)
    promises = {
        f"exit code {code}, and {run['verdict']!r}": code == (0 if carried else 1),
        f"load 1 ends with {code}, --until-it-breaks with {broken_code}": code
        == broken_code
        == (0 if (holds_at or 0) >= 1 else 1),
        f"best so far fell: {rising}": rising == sorted(rising),
        f"tune ended with {told_code}, holds {best['holds']}": told_code
        == (0 if best["holds"] else 3),
        f"{proof['best']['refusedRatio']:.1%} are refused": not best["holds"]
        or proof["best"]["refusedRatio"] <= MAX_REFUSED,
        f"{good:.4g} good/s again, {proof['best']['goodRequestsPerSecond']:.4g} told": abs(
            good - proof["best"]["goodRequestsPerSecond"]
        )
        < 1e-6,
        f"{refused:.2%} refused again": abs(refused - proof["best"]["refusedRatio"]) < 1e-6,
    }
    return Found(
        case.name, run["requests"]["total"], code, run["keepsUp"], holds_at, best["changes"], proof["today"]["goodRequestsPerSecond"],
        proof["best"]["goodRequestsPerSecond"], good, proof["best"]["refusedRatio"], best["holds"],
        tuple(name for name, kept in promises.items() if not kept),
    )  # fmt: skip


def main() -> int:
    """Try each, tell each in a line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--minutes", type=float, default=15.0)
    parser.add_argument("--budget", type=int, default=60)
    parser.add_argument("--only", default="")
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    wanted = [
        case for case in CASES if not arguments.only or case.name in arguments.only.split(",")
    ]
    results = []
    with tempfile.TemporaryDirectory() as folder:
        for case in wanted:
            trace = first_minutes(
                arguments.folder / f"{case.file}.csv.gz", arguments.minutes, Path(folder)
            )
            found = tried(case, trace, arguments.budget)
            results.append(found)
            winner = (
                ", ".join(f"{name} {value}" for name, value in found.winner.items())
                or "today's settings"
            )
            load = "none" if found.holds_at_load is None else f"{found.holds_at_load:.3g}x"
            print(
                f"{found.name:9} {found.requests:6,} requests: {found.keeps_up}, exit "
                f"{found.code}, holds up to load {load}; "
                f"tune: {winner}, "
                f"{found.today_per_s:.3g} -> {found.good_per_s:.3g} good/s, "
                f"{found.refused_ratio:.2%} refused, "
                f"{'holds' if found.holds else 'does not hold'}; "
                f"{'; '.join(found.broken) or 'every promise kept'}",
                flush=True,
            )
    if arguments.json is not None:
        arguments.json.write_text(
            json.dumps([asdict(found) for found in results], indent=2) + "\n", encoding="utf-8"
        )
    return 1 if any(found.broken for found in results) else 0


if __name__ == "__main__":
    sys.exit(main())
