"""Speeds of a step model from measured points: least squares on log errors, robust, pulled to
physical defaults.

    python bench/pace_fit.py POINTS.jsonl --models DIR [--models DIR]      prints FITTED of catalog/step_speeds.py

A closed loop is run for each point with the speeds so far; its mix of steps (how many requests
decode, how often prompts are among them, how many prompts a new one waits for) is kept while the
speeds are fitted to what these steps take, and then run again.
"""

from __future__ import annotations

import argparse
import math
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from barostat.kv.step_time.closed_loop import SeenByClients, closed_loop
from barostat.kv.step_time.model import StepLoad, StepSpeeds

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from bench.pace_points import BUDGET_TOKENS, SHORTEST_RATIO, Point, points

# Defaults and how sure they are (one standard deviation of the logarithm). Shares of a data sheet
# that tuned kernels are published to reach; a collective between linked cards takes some 10
# microseconds; a layer's small kernels a microsecond or two each.
DEFAULTS: Mapping[str, tuple[float, float]] = {
    "bandwidth_ratio": (0.8, 0.1), "expert_bandwidth_ratio": (0.65, 0.2), "packed_expert_ratio": (0.6, 0.3),
    "cache_bandwidth_ratio": (0.6, 0.3), "latent_bandwidth_ratio": (0.5, 0.4), "compute_16bit_ratio": (0.7, 0.2),
    "compute_8bit_ratio": (0.7, 0.25), "compute_4bit_ratio": (0.5, 0.4), "expert_compute_ratio": (0.35, 0.5),
    "prompt_attention_ratio": (0.4, 0.4), "latent_attention_ratio": (0.35, 0.4), "link_ratio": (0.7, 0.3), "popularity": (1.0, 0.7),
    "hidden_passes": (8.0, 0.5), "inner_passes": (6.0, 0.5), "layer_s": (20e-6, 0.5), "expert_layer_s": (20e-6, 0.6),
    "scaled_layer_s": (8e-6, 0.7), "collective_s": (10e-6, 0.5), "collective_growth": (0.3, 0.6), "step_s": (5e-4, 0.7),
    "request_s": (10e-6, 0.7), "front_s": (15e-3, 0.5), "front_token_s": (3e-6, 0.7), "delivery_steps": (4.0, 0.4),
}  # fmt: skip
# weight of a default being one deviation off, over that of one point being off by its whole
PULL = 0.3
FIRST_TOKEN_WEIGHT = 0.4
ROBUST_FROM = 0.25  # log errors beyond this count by their size, not by its square
# beyond it the time to a first token is a queue before a full pool, and tells nothing of steps
_LONGEST_FIRST_S = 6.0
_ROUNDS = 2


@dataclass(frozen=True)
class _Mix:
    """The steps that a point's closed loop consists of: of decoding alone, with prompts among them,
    and of one prompt beside the others.
    """

    plain: StepLoad
    mixed: StepLoad
    own: StepLoad
    mixed_ratio: float
    own_steps: float
    tpot_scale: float
    waits: float


def see(point: Point, speeds: StepSpeeds) -> SeenByClients:
    """What the point's clients see of its engine with these speeds."""
    return closed_loop(
        point.model(speeds),
        point.clients,
        budget_tokens=BUDGET_TOKENS,
        pool_tokens=point.pool_tokens,
    )


def fit(chosen: Sequence[Point], start: StepSpeeds | None = None) -> StepSpeeds:
    """The speeds nearest to the points: each pair of model and card weighs by the fourth root of
    its number of points.
    """
    speeds = start or StepSpeeds(**{name: value for name, (value, _) in DEFAULTS.items()})
    counts = Counter(point.pair for point in chosen)
    weights = np.array([(60 / counts[point.pair]) ** 0.25 for point in chosen])
    for _ in range(_ROUNDS if start is not None else _ROUNDS + 1):
        mixes = [_mix(point, speeds) for point in chosen]
        speeds = _nearest(chosen, mixes, weights, speeds)
    return speeds


def _mix(point: Point, speeds: StepSpeeds) -> _Mix:
    found, model = see(point, speeds), point.model(speeds)
    shrink = (1 + SHORTEST_RATIO) / 2
    prompt, output = point.clients.prompt_tokens * shrink, point.clients.output_tokens * shrink
    decodes, context = max(found.running, 1e-3), prompt + output / 2
    cycle_s = max(
        found.ttft_s + output * found.tpot_s, point.clients.number / decodes * output * found.tpot_s
    )
    arriving = max(point.clients.number - 1, 0) * found.tpot_s / cycle_s
    chunks = max(1.0, prompt / BUDGET_TOKENS)
    ratio = max(1e-9, 1 - math.exp(-arriving) if chunks == 1 else min(1.0, arriving * chunks))
    each, half = arriving / ratio, prompt * prompt / 2
    plain = StepLoad(decodes=decodes, cached_tokens=decodes * context)
    mixed = StepLoad(
        min(each * prompt, BUDGET_TOKENS), decodes, decodes * context, each * half, each
    )
    steps, others = math.ceil(chunks), max(decodes - 1, 0)
    own = StepLoad(prompt / steps, others, others * context, half / steps, 1.0)
    tpot_s = (1 - ratio) * model.step_s(plain) + ratio * model.step_s(mixed)
    waits = (found.ttft_s - model.front_s(prompt) - speeds.delivery_steps * found.tpot_s) / (
        steps * model.step_s(own)
    )
    return _Mix(plain, mixed, own, ratio, steps, found.tpot_s / tpot_s, waits)


def _nearest(
    chosen: Sequence[Point], mixes: Sequence[_Mix], weights: np.ndarray, start: StepSpeeds
) -> StepSpeeds:
    """Levenberg and Marquardt's way down, in the logarithms of the speeds."""
    names = list(DEFAULTS)
    middle = np.log([DEFAULTS[name][0] for name in names])
    width = np.array([DEFAULTS[name][1] for name in names])

    def off(logs: np.ndarray) -> np.ndarray:
        speeds = StepSpeeds(**dict(zip(names, np.exp(logs).tolist(), strict=True)))
        pairs = [_off(point, mix, speeds) for point, mix in zip(chosen, mixes, strict=True)]
        errors = _robust(np.array(pairs)) * weights[:, None]
        return np.concatenate(
            [errors[:, 0], FIRST_TOKEN_WEIGHT * errors[:, 1], PULL * (logs - middle) / width]
        )

    logs = np.log([getattr(start, name) for name in names])
    found, damping = off(logs), 1e-2
    for _ in range(15):
        slopes = np.stack(
            [
                (off(logs + np.eye(len(names))[place] * 1e-4) - found) / 1e-4
                for place in range(len(names))
            ],
            axis=1,
        )
        square, down = slopes.T @ slopes, slopes.T @ found
        for _ in range(8):
            step = np.clip(
                -np.linalg.solve(square + damping * np.diag(np.diag(square) + 1e-9), down), -1, 1
            )
            after = off(logs + step)
            gained = float(found @ found - after @ after)
            if gained > 0:
                break
            damping *= 4
        if gained <= 0:
            break
        logs, found, damping = logs + step, after, damping / 5
        if gained < 1e-4 * float(found @ found):
            break
    return StepSpeeds(**dict(zip(names, np.exp(logs).tolist(), strict=True)))


def _off(point: Point, mix: _Mix, speeds: StepSpeeds) -> tuple[float, float]:
    """Log errors of the time per token and of the time to the first one, 0 where that is a
    queue's.
    """
    model = point.model(speeds)
    prompt = point.clients.prompt_tokens * (1 + SHORTEST_RATIO) / 2
    tpot_s = mix.tpot_scale * (
        (1 - mix.mixed_ratio) * model.step_s(mix.plain) + mix.mixed_ratio * model.step_s(mix.mixed)
    )
    waited_s = mix.waits * mix.own_steps * model.step_s(mix.own)
    ttft_s = model.front_s(prompt) + speeds.delivery_steps * tpot_s + waited_s
    measured_s = point.row["ttft_ms"] / 1e3
    first = math.log(max(ttft_s, 1e-4) / measured_s) if measured_s < _LONGEST_FIRST_S else 0.0
    return math.log(tpot_s * 1e3 / point.row["tpot_ms"]), first


def _robust(errors: np.ndarray) -> np.ndarray:
    scaled = (errors / ROBUST_FROM) ** 2
    return np.asarray(np.sign(errors) * ROBUST_FROM * np.sqrt(2 * (np.sqrt(1 + scaled) - 1)))


def main() -> int:
    """Fits and prints."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("points", type=Path)
    parser.add_argument("--models", type=Path, action="append", required=True)
    arguments = parser.parse_args()
    chosen, left = points(arguments.points, arguments.models)
    for line in left:
        print(f"left out: {line}", file=sys.stderr)
    found = fit(chosen)
    for name in DEFAULTS:
        print(f'    "{name}": {getattr(found, name):.4g},')
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
