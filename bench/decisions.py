"""The twin's decisions beside those of vLLM's own scheduler, driven offline: every step of random
cases, to the order of the free blocks.

    python bench/decisions.py [--cases 1000] [--keep]

Three cases in four have full attention, windows and chunks in any mixture, with and without prefix
caching, by priority or not; one in four has states. Needs the real vLLM (`make vllm`). Prints the
cases that differ; exits 1 where there is one.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))
from bench.kept import Figure, Kept, keep  # noqa: E402
from tests.parity.scheduler_cases import case, state_case  # noqa: E402
from tests.parity.test_scheduler_parity import PYTHON, _real, _same  # noqa: E402

_BATCH = 250


def differing(kind: str, seeds: range) -> list[str]:
    """The cases of that kind that do not end as the real scheduler's do."""
    make = state_case if kind == "states" else case
    found = []
    for start in range(seeds.start, seeds.stop, _BATCH):
        batch = range(start, min(start + _BATCH, seeds.stop))
        cases = [make(seed) for seed in batch]
        for seed, one, real in zip(batch, cases, _real(cases), strict=True):
            try:
                _same(one, real, f"{kind} {seed}")
            except AssertionError as error:
                found.append(str(error).splitlines()[0])
    return found


def main() -> int:
    """Compare, print, keep."""
    parser = argparse.ArgumentParser(description="The twin's decisions beside vLLM's scheduler.")
    parser.add_argument("--cases", type=int, default=1000)
    parser.add_argument("--keep", action="store_true", help="write bench/results/decisions.json")
    chosen = parser.parse_args()
    if not PYTHON.exists():
        print("decisions: vLLM is not installed here; run `make vllm`", file=sys.stderr)
        return 2
    figures, wrong = [], []
    for kind, count in (("attention", chosen.cases * 3 // 4), ("states", chosen.cases // 4)):
        found = differing(kind, range(count))
        wrong += found
        print(f"{kind}: {count - len(found)} of {count} equal in every step", flush=True)
        figures.append(
            Figure(f"{kind}: equal in every step", f"{count - len(found)} of {count}", count)
        )
    print(*wrong, sep="\n")
    if chosen.keep:
        keep("decisions", Kept(
            f"python bench/decisions.py --cases {chosen.cases} --keep",
            "random cases by seed, beside the scheduler of vLLM 0.32.0 in a process of its own",
            figures,
            ["Speculation, adapters, data parallel ranks and remote KV are not in these cases.",
             "Other versions of vLLM are held by the table of rules alone."],
        ))  # fmt: skip
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
