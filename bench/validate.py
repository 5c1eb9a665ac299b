"""`barostat validate` on the real engine: does it tell good limits from bad, every time, and is its
knee where a slow sweep has it?

    make vllm && python bench/validate.py [--times 10] [--phase 20s] [--twin] [--sweep]

One engine; a limits file that it carries and one that allows what its pool does not hold
(preemptions and waiting follow), by turns. With --sweep, the knee by bisection beside a fine sweep
of loads 2.5 % apart, each several times as long. Exits 1 where one verdict is wrong, or the knee is
more than 5 % from the sweep's.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from dev.engine import Engine
from dev.twin_engine import BAROSTAT, TwinEngine

from barostat.core.limits import ServingLimits
from barostat.io.engine_http.address import address
from barostat.io.input_files.limits_file import load
from barostat.judge.load_test.figures import figures
from barostat.judge.load_test.knee import lost
from barostat.judge.load_test.traffic import allowed, at_rate, mixed
from barostat.load.process import carried_out, looked_at, understood
from barostat.load.run import RunBounds
from barostat.twin.summary import Slo

# The pool: 70 blocks of 128 tokens. Good: 8 x 700 tokens fit. Bad: 32 x 2,000 do not.
FLAGS = ("--max-num-seqs", "32", "--num-gpu-blocks-override", "70", "--max-model-len", "4096")
GOOD, BAD = (500, 100, 8), (1200, 800, 32)
TTFT_S, ITL_S = 3.0, 0.5
STEP, LONGER = 1.025, 3


def limits(folder: Path, name: str, values: tuple[int, int, int]) -> Path:
    """A limits file with that input, output and number of slots."""
    path = folder / f"{name}.yaml"
    path.write_text(
        f"apiVersion: barostat.dev/v1alpha1\nkind: ServingLimits\nmetadata: {{name: "
        f"{name}}}\nspec:\n"
        f"  engine: {{maxNumSeqs: {values[2]}}}\n"
        f"  request: {{maxInputTokens: {values[0]}, maxOutputTokens: {values[1]}}}\n"
        f"  slo: {{ttftP99Seconds: {TTFT_S}, itlP99Seconds: {ITL_S}}}\n"
    )
    return path


def verdict(url: str, file: Path, phase: str, *more: str) -> dict[str, Any]:
    """What validate says."""
    command = [
        str(BAROSTAT),
        "validate",
        url,
        "--limits",
        str(file),
        "--phase",
        phase,
        "--drain",
        "60s",
        "-o",
        "json",
        "--quiet",
        *more,
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode not in (0, 1, 3):
        raise SystemExit(done.stderr)
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def swept(url: str, file: Path, start_per_s: float, phase_s: float) -> float:
    """The highest load of a fine sweep, upwards until two in a row are lost."""
    target = understood(looked_at(address(url), api=None, model=None, key="", aside=True))
    document: ServingLimits = load(file)
    most, slo = allowed(document, str(file)), Slo(TTFT_S, ITL_S)
    per_s, held, missed = start_per_s, 0.0, 0
    while missed < 2:
        traffic = at_rate(mixed(most, max(60, round(per_s * phase_s)), 1.0), per_s)
        why = lost(figures(carried_out(target, traffic, RunBounds(None, 120.0)), slo), slo)
        print(f"  sweep: {per_s:.3f}/s {why or 'holds'}", flush=True)
        held, missed = (held, missed + 1) if why else (per_s, 0)
        per_s *= STEP
    return held


def main() -> int:
    """The verdicts, and the knee."""
    arguments = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    arguments.add_argument("--times", type=int, default=10)
    arguments.add_argument("--phase", default="20s")
    arguments.add_argument("--twin", action="store_true")
    arguments.add_argument("--sweep", action="store_true")
    asked = arguments.parse_args()
    wrong = 0
    made: Engine = TwinEngine(*FLAGS) if asked.twin else Engine(*FLAGS)
    with made as engine, tempfile.TemporaryDirectory() as name:
        engine.wait_ready()
        folder = Path(name)
        files = {"pass": limits(folder, "good", GOOD), "fail": limits(folder, "bad", BAD)}
        for turn in range(asked.times):
            for wanted, file in files.items():
                found = verdict(engine.url, file, asked.phase)
                wrong += found["verdict"] != wanted
                missed = [
                    f"{one['phase']} {one['told']}"
                    for one in found["checks"]
                    if one["standing"] in ("fail", "unknown")
                ]
                print(
                    f"{turn + 1}: {file.stem}: {found['verdict']}  {'; '.join(missed)[:200]}",
                    flush=True,
                )
        print(f"{2 * asked.times - wrong} of {2 * asked.times} verdicts right")
        if asked.sweep:
            knee = verdict(engine.url, files["pass"], asked.phase, "--knee", "--trials", "12")[
                "knee"
            ]
            middle = (knee["heldPerSecond"] + knee["lostPerSecond"]) / 2
            by_sweep = swept(
                engine.url,
                files["pass"],
                0.8 * knee["heldPerSecond"],
                LONGER * float(asked.phase.rstrip("s")),
            )
            off = middle / by_sweep - 1
            print(
                f"knee: {knee['heldPerSecond']:.3f} to {knee['lostPerSecond']:.3f}/s by "
                f"bisection, {by_sweep:.3f}/s swept: {off:+.1%}"
            )
            wrong += abs(off) > 0.05
    return 1 if wrong else 0


if __name__ == "__main__":
    raise SystemExit(main())
