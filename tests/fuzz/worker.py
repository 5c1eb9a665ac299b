"""A process of its own for some fronts: what it is told on its command line, what came of it as a
line of JSON per front on stdout.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from tests.fuzz.fronts.table import FRONTS
from tests.fuzz.hunt import Hunt
from tests.fuzz.judged import SLOWEST_S


def _while(seconds: float | None, inputs: int | None) -> Callable[[int], bool]:
    """Whether there is more to do after so many inputs. The time begins with the first of them."""
    until = 0.0

    def goes_on(done: int) -> bool:
        nonlocal until
        until = until or time.monotonic() + (seconds or 1e9)
        return done < (inputs or 1 << 62) and time.monotonic() < until

    return goes_on


def main() -> int:
    """Feeds the fronts, one after another; 0 even where crashes were found: they are in what it
    tells.
    """
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--seconds", type=float)
    parser.add_argument("--inputs", type=int)
    parser.add_argument("--busy", action="store_true")
    parser.add_argument("fronts", nargs="+")
    asked = parser.parse_args()
    told = os.fdopen(os.dup(1), "w")
    os.dup2(
        os.open(os.devnull, os.O_WRONLY), 1
    )  # what a verb prints is captured; what anything else prints is lost
    os.environ |= {
        "BAROSTAT_TRACEBACK": "1",
        "XDG_CONFIG_HOME": str(asked.out / "nothing"),
        "NO_COLOR": "1",
        "COLUMNS": "100",
    }
    asked.out.mkdir(parents=True, exist_ok=True)
    for name in asked.fronts:
        with tempfile.TemporaryDirectory(prefix=f"fuzz-{name}-") as scratch:
            print(scratch, file=told, flush=True)
            hunt = Hunt(
                FRONTS[name],
                asked.out,
                Path(scratch),
                asked.seed,
                slowest_s=SLOWEST_S * (1.5 if asked.busy else 1),
            )
            hunt.run(_while(asked.seconds, asked.inputs))
        found = {
            "front": name, "inputs": hunt.inputs, "refused": hunt.refused, "seconds": round(hunt.took_s, 2), "lines": len(hunt.lines),
            "kept": len(hunt.kept), "crashes": {what: str(path) for what, path in hunt.crashes.items()},
        }  # fmt: skip
        print(json.dumps(found), file=told, flush=True)
    told.flush()
    os._exit(0)  # servers of a front, and whatever else still runs, end here


if __name__ == "__main__":
    sys.exit(main())
