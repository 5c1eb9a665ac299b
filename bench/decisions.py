"""The twin's decisions beside those of vLLM's own scheduler, driven offline: every step of random
cases, to the order of the free blocks.

    python bench/decisions.py [--cases 1000] [--kinds attention,states] [--keep]

So many cases of each kind: full attention, windows and chunks in any mixture, with and without
prefix caching, by priority or not; states; LoRA adapters; speculation; a KV connector. Needs the real vLLM (`make vllm`). Prints the
cases that differ; exits 1 where there is one.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))
from bench.kept import Figure, Kept, keep  # noqa: E402
from tests.parity.beside_real import PYTHON, Case, real_steps, same, same_with_transfers  # noqa: E402
from tests.parity.remote_cases import remote_case  # noqa: E402
from tests.parity.scheduler_cases import adapter_case, case, draft_case, state_case  # noqa: E402

KINDS: dict[str, tuple[Callable[[int], Case], Callable[[Case, Any, str], bool]]] = {
    "attention": (case, same),
    "states": (state_case, same),
    "adapters": (adapter_case, same),
    "speculation": (draft_case, same),
    "KV from another engine": (remote_case, same_with_transfers),
}
_BATCH = 250


def differing(kind: str, seeds: range) -> list[str]:
    """The cases of that kind that do not end as the real scheduler's do."""
    make, compare = KINDS[kind]
    found = []
    for start in range(seeds.start, seeds.stop, _BATCH):
        batch = range(start, min(start + _BATCH, seeds.stop))
        cases = [make(seed) for seed in batch]
        for seed, one, real in zip(batch, cases, real_steps(cases), strict=True):
            try:
                compare(one, real, f"{kind} {seed}")
            except AssertionError as error:
                found.append(str(error).splitlines()[0])
    return found


def main() -> int:
    """Compare, print, keep."""
    parser = argparse.ArgumentParser(description="The twin's decisions beside vLLM's scheduler.")
    parser.add_argument("--cases", type=int, default=1000)
    parser.add_argument("--kinds", default=",".join(KINDS), help=f"of {', '.join(KINDS)}")
    parser.add_argument("--keep", action="store_true", help="write bench/results/decisions.json")
    chosen = parser.parse_args()
    if not PYTHON.exists():
        print("decisions: vLLM is not installed here; run `make vllm`", file=sys.stderr)
        return 2
    figures, wrong = [], []
    count = chosen.cases
    for kind in chosen.kinds.split(","):
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
            ["Data-parallel ranks are held to vLLM's own balancing by tests/parity/test_balancer_parity.py.",
             "The KV connector's side of the scheduler is NIXL's (pull); how long transfers take is given.",
             "Other versions of vLLM are held by the table of rules alone."],
        ))  # fmt: skip
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
