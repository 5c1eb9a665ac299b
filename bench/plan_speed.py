"""How fast plans are: the whole built-in catalogue times ten cards, and one plan in-process.

python bench/plan_speed.py
"""

from __future__ import annotations

import statistics
import sys
import time

from barostat.catalog.cards import find_card
from barostat.catalog.models import find_model, model_names
from barostat.core.errors import InputError
from barostat.core.units import GIB
from barostat.core.version import parse_version
from barostat.engines.vllm.command_line.config import resolve
from barostat.judge.sizing.limits_from import limits_from
from barostat.judge.sizing.plan import PlanRequest, plan
from barostat.kv.read_architecture import read_architecture

CARDS = ("T4", "L4", "A10", "L40S", "A100", "H100", "H200", "B200", "MI300X", "RTX 4090")


def main() -> int:
    """Print both times; 1 if either is over its limit (2 s and 50 ms)."""
    version = parse_version("0.33.0")
    assert version is not None
    started = time.perf_counter()
    made = refused = fits = 0
    models = []
    for name in model_names():
        found = find_model(name)
        assert found is not None
        models.append((name, read_architecture(found.config, name)))
    each: list[float] = []
    for gpu in CARDS:
        card = find_card(gpu)
        assert card is not None
        config = resolve(
            args=["vllm", "serve", "model"],
            version=version,
            gpu=card.name,
            gpu_memory_gib=card.memory_bytes[0] / GIB,
        )
        for name, model in models:
            begun = time.perf_counter()
            try:
                found_plan = plan(PlanRequest(model, name, version, config, card))
                limits_from(found_plan, None, "0.33.0")
                made += 1
                fits += found_plan.fits
            except InputError as error:
                refused += 1
                print(f"{name} on {gpu}: {error}", file=sys.stderr)
            each.append(time.perf_counter() - begun)
    total = time.perf_counter() - started
    ordered = sorted(each)
    print(
        f"{made} plans ({fits} fit, {refused} refused) of {len(models)} models on "
        f"{len(CARDS)} cards in {total:.2f} s"
    )
    print(
        f"one plan: median {statistics.median(ordered) * 1000:.2f} ms, slowest "
        f"{ordered[-1] * 1000:.1f} ms"
    )
    return int(total > 2.0 or ordered[-1] > 0.05)


if __name__ == "__main__":
    raise SystemExit(main())
