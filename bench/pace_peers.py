"""The peer of bench/pace.py: aiconfigurator's estimate for the same points, in an environment of
its own.

aisimulate is the name under which aiconfigurator goes on; where it cannot be installed, the same
engine under the old name is. Its operator tables were measured on the cards; its estimate is of one
engine at a fixed batch. It is asked twice: with its own default for the prompt tokens among a
step's (`ctx_tokens`), and with as many as the closed loop brings.
"""

from __future__ import annotations

import json
import subprocess
import sys
import venv
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from bench.pace_points import SHORTEST_RATIO, Point

PACKAGES = ("aisimulate==0.12.0", "aiconfigurator==0.12.0")
SYSTEMS = {
    "H100-SXM5-80GB": "h100_sxm", "H200-SXM-141GB": "h200_sxm", "B200-SXM": "b200_sxm", "B300-SXM": "b300_sxm", "GB200": "gb200",
    "GB300": "gb300", "L40S": "l40s", "A100-SXM4-80GB": "a100_sxm",
}  # fmt: skip

# Runs inside the peer's environment: a list of questions in, a list of [ttft_ms, tpot_ms] or a
# reason out.
_ASK = """
import json, sys, logging, warnings
warnings.simplefilter("ignore"); logging.disable(logging.CRITICAL)
from aiconfigurator.cli.api import cli_estimate
answers = []
for asked in json.load(open(sys.argv[1])):
    found = None
    for mode in ("SILICON", "HYBRID"):
        try:
            given = cli_estimate(**asked, backend_name="vllm", database_mode=mode)
            found = [given.ttft, given.tpot]
            break
        except BaseException as error:
            found = str(error).split(chr(10))[0][:120] or type(error).__name__
    answers.append(found)
json.dump(answers, open(sys.argv[2], "w"))
"""


@dataclass(frozen=True)
class PeerAnswer:
    """What the peer says of a point, in seconds; both None where it has no answer, and why."""

    ttft_s: float | None
    tpot_s: float | None
    why: str = ""


def set_up(folder: Path) -> tuple[Path, str] | str:
    """The peer's Python and the package that was installed, or why there is none."""
    python = folder / "bin" / "python"
    if not python.exists():
        venv.create(folder, with_pip=True)
    reasons: list[str] = []
    for package in PACKAGES:
        done = subprocess.run(
            [python, "-m", "pip", "install", "--quiet", package],
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode == 0:
            return python, f"{package}{f' ({reasons[0]})' if reasons else ''}"
        reasons.append(f"{package} could not be installed here")
    return "; ".join(reasons)


def ask(
    python: Path, chosen: Sequence[Point], folder: Path, *, match_prompts: bool
) -> list[PeerAnswer]:
    """The peer's estimate for every point. `match_prompts`: the prompt tokens a step are told as
    the closed loop has them.
    """
    asked: list[dict[str, object]] = []
    places: list[int] = []
    answers = [PeerAnswer(None, None, "the card is not in its tables")] * len(chosen)
    for place, point in enumerate(chosen):
        if (system := SYSTEMS.get(point.pair[1])) is not None:
            places.append(place)
            asked.append(_question(point, system, match_prompts))
    questions, given = folder / "asked.json", folder / "given.json"
    questions.write_text(json.dumps(asked))
    done = subprocess.run(
        [python, "-c", _ASK, questions, given], capture_output=True, text=True, check=False
    )
    if done.returncode:
        sys.stderr.write(done.stderr[-500:])
        return [PeerAnswer(None, None, "the peer failed")] * len(chosen)
    for place, answer in zip(places, json.loads(given.read_text()), strict=True):
        if isinstance(answer, str):
            answers[place] = PeerAnswer(None, None, answer)
        else:
            answers[place] = PeerAnswer(answer[0] / 1e3, answer[1] / 1e3)
    return answers


def _question(point: Point, system: str, match_prompts: bool) -> dict[str, object]:
    row, shrink = point.row, (1 + SHORTEST_RATIO) / 2
    ranks = row["tp"] or 1
    spread = (row["ep"] or 1) > 1
    name = point.made.request.model_name
    prompt, output = round(row["input_tokens"] * shrink), round(row["output_tokens"] * shrink)
    asked: dict[str, object] = {
        "model_path": name, "system_name": system, "isl": prompt, "osl": output, "batch_size": point.clients.number, "tp_size": ranks
    }  # fmt: skip
    if point.steps.work.experts is not None:
        asked |= (
            {"moe_tp_size": 1, "moe_ep_size": ranks}
            if spread
            else {"moe_tp_size": ranks, "moe_ep_size": 1}
        )
    if match_prompts:
        asked["ctx_tokens"] = max(1, min(8192, round(point.clients.number * prompt / output)))
    return asked
