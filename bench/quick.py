"""How long a person waits for the tool itself: `barostat --help`, `simulate`, and `diagnose URL` on
an idle engine beyond its window.

    python bench/quick.py [--runs 5]

The peer beside each is the least that it can take: a bare Python that prints a line, and one scrape
of the same engine by curl. What only computes is measured in processor time of the whole command,
its start included, which other work on the machine changes less.
"""

from __future__ import annotations

import argparse
import resource
import statistics
import subprocess
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from dev.engine import Engine, is_installed

BAROSTAT = str(Path(sys.executable).with_name("barostat"))
WINDOW_S = 4.0
HELP_GATE_S, ANSWER_GATE_S = 0.3, 2.0
PACE = ("--latency", "base=0.012,prefill=2e-5,decode=1e-4,kv=1e-8")
ENGINE = (
    "--kv-blocks",
    "24000",
    "--max-num-seqs",
    "512",
    "--max-model-len",
    "16384",
    "--max-num-batched-tokens",
    "8192",
    *PACE,
)
HOUR = ("--workload", "poisson:rate=20,minutes=60,input=600,output=200", *ENGINE)
SIMULATED = (
    ("simulate one request a second", ("--workload", "poisson:rate=1,minutes=1", *ENGINE), 0.3),
    ("an hour of 20/s, no prefix cache", (*HOUR, "--no-enable-prefix-caching"), 2.0),
    ("an hour of 20/s, prefix cache", HOUR, 10.0),
)


def seconds(command: list[str], runs: int) -> float:
    """Median wall time of the command."""
    taken = []
    for _ in range(runs):
        began = time.monotonic()
        subprocess.run(command, capture_output=True)
        taken.append(time.monotonic() - began)
    return statistics.median(taken)


def processor_seconds(command: list[str], runs: int) -> float:
    """Least processor time of the command."""
    taken = []
    for _ in range(runs):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        if subprocess.run(command, capture_output=True).returncode not in (
            0,
            1,
        ):  # 1: it falls behind, which is an answer
            raise RuntimeError(f"{command} failed")
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        taken.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    return min(taken)


def line(name: str, ours_s: float, peer: str, peer_s: float, gate_s: float) -> None:
    """One row of the result."""
    print(
        f"{name:<34} {ours_s:6.3f} s   {peer:<22} {peer_s:6.3f} s   ratio "
        f"{ours_s / max(peer_s, 1e-9):6.1f}   gate {gate_s} s"
    )


def main() -> int:
    """Print a row each; 1 if a gate is missed."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--runs", type=int, default=5)
    runs = parser.parse_args().runs
    help_s = seconds([BAROSTAT, "--help"], runs)
    line(
        "barostat --help",
        help_s,
        "python -c print()",
        seconds([sys.executable, "-c", "print()"], runs),
        HELP_GATE_S,
    )
    kept = help_s < HELP_GATE_S
    bare_s = processor_seconds([sys.executable, "-c", "print()"], runs)
    for name, asked, gate_s in SIMULATED:
        took_s = processor_seconds([BAROSTAT, "simulate", *asked], runs)
        line(name, took_s, "python -c print()", bare_s, gate_s)
        kept = kept and took_s < gate_s
    if not is_installed():
        print("diagnose URL: not measured, the real vLLM is not installed here (`make vllm`)")
        return 0 if kept else 1
    with Engine("--max-model-len", "4096", "--max-num-seqs", "64") as engine:
        engine.wait_ready()
        window = ["--for", f"{WINDOW_S:g}s", "--interval", "2s"]
        beyond_s = seconds([BAROSTAT, "diagnose", engine.url, *window], runs) - WINDOW_S
        scrape_s = seconds(["curl", "-s", f"{engine.url}/metrics"], runs)
    line(
        f"diagnose URL beyond its {WINDOW_S:g} s window",
        beyond_s,
        "curl URL/metrics",
        scrape_s,
        ANSWER_GATE_S,
    )
    return 0 if kept and beyond_s < ANSWER_GATE_S else 1


if __name__ == "__main__":
    sys.exit(main())
