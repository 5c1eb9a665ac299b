"""Measured points of closed-loop clients -> the plan, the step model and the clients that stand for
each.

What a point does not state, and what is taken instead, the same for all:
* `clients` of a point with `dp` > 1 are those of one rank, and `tp` is the number of cards: where
  the same run is told in both ways
  (Kimi-K2.5 on B200), 4 clients with dp 4 are digit for digit the 16 clients of dp 1, on tp cards.
* Lengths are spread evenly between 0.8 and 1 of what is stated, and each client sends ten requests
  (or `waves`, where that is stated), all
  beginning together; the figures are means over these (the time to a first token grows by a
  twentieth of a prompt's time with each client, whatever the answers' length: that is what a first
  wave of one in ten does to a mean, and nothing to a median).
* fp8 and fp4 checkpoints were served with an fp8 KV cache and 0.95 of the memory: what points with
  a full pool hold at once needs it.
* Where no version is stated: 0.15.0.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from barostat.catalog.cards import find_card
from barostat.core.errors import InputError
from barostat.core.version import parse_version
from barostat.engines.vllm.command_line.config import resolve
from barostat.judge.sizing.plan import CapacityPlan, PlanRequest, plan
from barostat.judge.sizing.planned_steps import steps_of_plan
from barostat.kv.quantization import WeightFormat, weight_format
from barostat.kv.read_architecture import read_architecture
from barostat.kv.step_time.closed_loop import Clients
from barostat.kv.step_time.model import StepSpeeds, StepTimeModel

ASSUMED_VERSION = "0.15.0"
SHORTEST_RATIO = 0.8
BUDGET_TOKENS = 8192
_ANSWERS = 1.2  # how much longer than stated a context may be that the engine allows


@dataclass(frozen=True)
class Point:
    """One measured point and what stands for it. `pair`: the model and the card, as left out
    together.
    """

    row: dict[str, Any]
    made: CapacityPlan
    clients: Clients
    pool_tokens: float
    steps: StepTimeModel

    @property
    def pair(self) -> tuple[str, str]:
        """What is left out together."""
        return self.row["model"], self.made.request.card.name if self.made.request.card else ""

    @property
    def name(self) -> str:
        """The point for a person."""
        row = self.row
        return (
            f"{row['model'].split('/')[-1]} {row['precision']} on {row['tp']} x "
            f"{row['gpu'].split()[0]}"
            f"{' ep' if (row['ep'] or 1) > 1 else ''}, {self.clients.number} clients, "
            f"{row['input_tokens']}/{row['output_tokens']}"
            f" ({row['vllm_version'] or 'version not stated'})"
        )

    def model(self, speeds: StepSpeeds) -> StepTimeModel:
        """Its steps with these speeds."""
        return replace(self.steps, speeds=speeds)


def points(path: Path, models: Sequence[Path]) -> tuple[list[Point], list[str]]:
    """The points of a file, and why others are none."""
    found, left = [], []
    for line in path.read_text().splitlines():
        row = json.loads(line)
        try:
            found.append(_point(row, models))
        except InputError as error:
            left.append(f"{row['id']} {row['model']} {row['gpu']}: {error}")
    return found, left


def _point(row: dict[str, Any], models: Sequence[Path]) -> Point:
    card = find_card(row["gpu"])
    if card is None:
        raise InputError("the card is not in the catalogue", row["gpu"])
    path, name = _checkpoint(row, models)
    ranks = row["dp"] or 1
    length = int((row["input_tokens"] + row["output_tokens"]) * _ANSWERS)
    args = ["--tensor-parallel-size", str(row["tp"] or 1), "--max-model-len", str(length)]
    args += [
        "--max-num-seqs",
        "1024",
        "--max-num-batched-tokens",
        str(BUDGET_TOKENS),
        "--gpu-memory-utilization",
        "0.95",
    ]
    args += ["--enable-expert-parallel"] if (row["ep"] or 1) > 1 else []
    args += ["--kv-cache-dtype", "fp8"] if row["precision"] in ("fp8", "fp4") else []
    text = row["vllm_version"] if parse_version(row["vllm_version"]) else ASSUMED_VERSION
    version = parse_version(text)
    assert version is not None
    config = resolve(args=args, version=version, gpu=card.name)
    made = plan(
        PlanRequest(
            read_architecture(json.loads(path.read_text()), path.name), name, version, config, card
        )
    )
    clients = Clients(
        row["clients"] * ranks,
        row["input_tokens"],
        row["output_tokens"],
        SHORTEST_RATIO,
        row.get("waves") or 10,
    )
    steps = steps_of_plan(made)
    if steps is None:
        raise InputError("bandwidth or arithmetic of the card are not on record", row["gpu"])
    return Point(row, made, clients, max(length, made.pool.concurrency * length), steps)


def _checkpoint(row: dict[str, Any], models: Sequence[Path]) -> tuple[Path, str]:
    """The configuration whose weights are of the row's precision, else any of that model's, named
    so that its format is the row's.
    """
    wanted = row["model"].split("/")[-1].lower().split("-")
    files = [path for folder in models for path in folder.glob("*.json")]
    near: list[Path] = []
    while (
        not near and len(wanted) > 1
    ):  # a dated or tuned release has its base's shape: R1-0528, 70B-Instruct
        near = [
            path for path in files if path.stem.split("__")[-1].lower().startswith("-".join(wanted))
        ]
        wanted = wanted[:-1]
    near.sort(key=lambda path: len(path.stem))
    for path in near:
        name = path.stem.replace("__", "/")
        if _precision(_form(path, name)) == row["precision"]:
            return path, name
    if not near:
        raise InputError("no configuration of this model is there", str(row["model"]))
    suffix = {"bf16": "", "fp8": "-FP8", "fp4": "-NVFP4", "int4": "-AWQ-INT4"}[row["precision"]]
    return near[0], near[0].stem.replace("__", "/") + suffix


def _form(path: Path, name: str) -> WeightFormat:
    model = read_architecture(json.loads(path.read_text()), path.name)
    return weight_format(model.config, model.text, None, "bfloat16", name)


def _precision(form: WeightFormat) -> str:
    least = min((form.quantized_bytes, *form.by_component.values()))
    if least > 1.5:
        return "bf16"
    return "fp8" if least > 0.8 else "fp4" if "fp4" in form.name else "int4"
