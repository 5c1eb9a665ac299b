"""How much longer a step's kernels take in another version: ratios from published tables of both,
put together by the parts of a step on that card.

    old 0.20 -> new 0.31        tables:  0.19.0 ---- 0.22.0 ---- 0.24.0        measured 0.19.0 to 0.24.0,
                                         ^ at or below old       ^ newest      not known from 0.24.0 to 0.31
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

from barostat.catalog.kernel_ratios import KERNEL_RATIOS, Arithmetic, KernelRatio, Part
from barostat.core.version import EngineVersion, parse_version
from barostat.judge.sizing.planned_steps import steps_of_plan
from barostat.judge.upgrade.deployed import Deployed
from barostat.kv.step_time.model import StepLoad, StepTimeModel
from barostat.kv.step_time.work import Rate

Kind = Literal["decode", "prompt"]
_TYPICAL: Mapping[Kind, StepLoad] = {
    "decode": StepLoad(decodes=64, cached_tokens=64 * 1024),
    "prompt": StepLoad(prompt_tokens=2048, pairs=2048 * 2048 / 2, prompts=1),
}
"""Steps that the ratio is told for: 64 requests of 1,024 tokens that decode, and a prompt of 2,048."""
_PACKED_BYTES = 0.8  # of a parameter
_SMALL_SHARE = 0.1  # of a step: a part without a ratio may be this much of it


@dataclass(frozen=True, slots=True)
class StepChange:
    """Time of a whole step in the newest measured version over the oldest. `low`, `high`: nine
    tenths of the measured shapes lie above and below. `lacks`: parts of it whose ratio is not known, and that are more
    than a tenth of the step: then there is no ratio.
    """

    kind: Kind
    ratio: float
    low: float
    high: float
    lacks: tuple[Part, ...] = ()


@dataclass(frozen=True, slots=True)
class KernelSpeed:
    """`changes`: each part between the oldest and the newest table that count; `shapes`: the fewest
    that a step between them compared. `unknown`: what no table covers, in a clause; empty if all of the change is covered."""

    changes: tuple[KernelRatio, ...] = ()
    steps: tuple[StepChange, ...] = ()
    unknown: str = ""


def kernel_speed(deployed: Deployed, after: EngineVersion) -> KernelSpeed:
    """Return what the tables say of this deployment's kernels between the two versions."""
    older, newer = sorted((deployed.version, after))
    if older.release[:2] == newer.release[:2]:
        return KernelSpeed()
    card = deployed.card
    if card is None:
        return KernelSpeed(unknown="which card it is, so that no table of kernels can be looked up")
    rows = [row for row in KERNEL_RATIOS if card.name.startswith(row.card)]
    if not rows:
        return KernelSpeed(unknown=f"how long kernels take on {card.name}: no table is on record")
    used = _used(deployed)
    backwards = after < deployed.version
    changes = tuple(
        change
        for part, arithmetic in sorted({(row.part, row.arithmetic) for row in rows})
        if used is None or used.get(part) == arithmetic
        if (change := _change(rows, part, arithmetic, older, newer, backwards=backwards))
    )
    model = None if deployed.before is None else steps_of_plan(deployed.before)
    steps = () if model is None or not changes else tuple(
        _step(model, kind, {change.part: change for change in changes}) for kind in _TYPICAL
    )  # fmt: skip
    return KernelSpeed(changes, steps, _unknown(rows, card.name, older, newer))


def _used(deployed: Deployed) -> dict[Part, Arithmetic] | None:
    """The arithmetic of each part of this deployment's steps; None if its model is not known."""
    plan = deployed.before
    model = None if plan is None else steps_of_plan(plan)
    if plan is None or model is None:
        return None
    checkpoint = plan.request.model.config.get("quantization_config")
    in_blocks = isinstance(checkpoint, Mapping) and bool(checkpoint.get("weight_block_size"))

    def named(rate: Rate, *, packed: bool = False) -> Arithmetic:
        if packed:
            return "int4"
        if rate == "8-bit":
            return "fp8-block" if in_blocks else "fp8"
        return "nvfp4" if rate == "4-bit" else "16-bit"

    cache: Arithmetic = "fp8" if plan.flags.kv_cache_dtype.startswith("fp8") else "16-bit"
    found: dict[Part, Arithmetic] = {
        "decode-attention": cache,
        "prompt-attention": cache,
        "weights": named(max(model.work.products, key=lambda one: one.parameters).rate),
    }
    if model.work.experts is not None:
        experts = model.work.experts
        found["experts"] = named(experts.each.rate, packed=experts.packed)
        stored = experts.each.read_bytes / experts.each.parameters
        if found["experts"] == "16-bit" and stored < _PACKED_BYTES:
            found["experts"] = "mxfp4"  # stored in four bits, multiplied in sixteen
    if model.work.ranks > 1:
        found["all-reduce"] = "16-bit"
    return found


def _change(
    rows: list[KernelRatio],
    part: Part,
    arithmetic: Arithmetic,
    older: EngineVersion,
    newer: EngineVersion,
    *,
    backwards: bool,
) -> KernelRatio | None:
    """The rows between the two versions, one after the other; None if one is missing, or where
    they do not reach as far as the card's tables do.
    """
    ratio, low, high = 1.0, 1.0, 1.0
    chain = [
        row
        for row in rows
        if (row.part, row.arithmetic) == (part, arithmetic)
        and newer.at_least(row.after)
        and not older.at_least(row.after)
    ]
    chain.sort(key=lambda row: _release(row.after))
    if not chain or any(a.after != b.before for a, b in pairwise(chain)):
        return None
    oldest = min((row.before for row in rows), key=_release)
    newest = max((row.after for row in rows if newer.at_least(row.after)), key=_release)
    begins = older.at_least(chain[0].before) or chain[0].before == oldest
    if not begins or chain[-1].after != newest:
        return None
    for row in chain:
        ratio, low, high = ratio * row.ratio, low * row.low, high * row.high
    first, last = chain[0].before, chain[-1].after
    if backwards:
        first, last, ratio, low, high = last, first, 1 / ratio, 1 / high, 1 / low
    shapes = min(row.shapes for row in chain)
    return chain[0]._replace(
        before=first, after=last, ratio=ratio, low=low, high=high, shapes=shapes
    )


def _step(model: StepTimeModel, kind: Kind, by_part: Mapping[Part, KernelRatio]) -> StepChange:
    parts = model.parts(_TYPICAL[kind])
    attention: Part = "decode-attention" if kind == "decode" else "prompt-attention"
    seconds: dict[Part, float] = {
        "weights": parts.weights_s,
        "experts": parts.experts_s,
        attention: parts.attention_s,
        "all-reduce": parts.collectives_s,
    }
    rest_s = parts.total_s - sum(seconds.values())
    lacks = tuple(
        part
        for part, took_s in seconds.items()
        if part not in by_part and took_s > _SMALL_SHARE * parts.total_s
    )

    def scaled(end: Literal["ratio", "low", "high"]) -> float:
        then = rest_s + sum(
            took_s * (getattr(by_part[part], end) if part in by_part else 1.0)
            for part, took_s in seconds.items()
        )
        return float(then / parts.total_s)

    return StepChange(kind, scaled("ratio"), scaled("low"), scaled("high"), lacks)


def _unknown(rows: list[KernelRatio], card: str, older: EngineVersion, newer: EngineVersion) -> str:
    oldest = min((row.before for row in rows), key=_release)
    newest = max((row.after for row in rows), key=_release)
    if older.at_least(newest):
        return f"how long kernels take on {card} after vLLM {newest}, the newest with a table"
    clauses = []
    if older.before(oldest):
        clauses.append(f"before vLLM {oldest}")
    if newer.release[:2] > _release(newest)[:2]:
        clauses.append(f"after vLLM {newest}")
    return f"how long kernels take on {card} {' and '.join(clauses)}" if clauses else ""


def _release(text: str) -> tuple[int, int, int]:
    found = parse_version(text)
    assert found is not None
    return found.release
