"""The cards of this machine, by their vendor's tool and Barostat's own readers."""

from __future__ import annotations

import os
import shutil
import subprocess
from typing import NamedTuple

from barostat.gpus import read
from barostat.gpus.card import Card
from barostat.gpus.nvidia import OWN_COLUMNS

WITHIN_S = 20.0
_NVIDIA = ("nvidia-smi", f"--query-gpu={','.join(OWN_COLUMNS)}", "--format=csv")
_AMD_NAMES, _AMD = ("amd-smi", "static", "--json"), ("amd-smi", "metric", "--json")
_ROCM = (
    "rocm-smi",
    "--showproductname",
    "--showmeminfo",
    "vram",
    "--showuse",
    "--showtemp",
    "--showpower",
    "--json",
)
VISIBLE = {"nvidia": "CUDA_VISIBLE_DEVICES", "amd": "HIP_VISIBLE_DEVICES"}
"""What tells a process which cards are there for it."""


class Look(NamedTuple):
    """What a tool said. `kind`: the ending that a bundle gives to such a text."""

    kind: str
    text: str


def look() -> Look | None:
    """The state of the cards now, or None where no tool of a vendor is here or it says nothing."""
    for kind, commands in (
        ("nvidia-smi.csv", (_NVIDIA,)),
        ("amd-smi.json", (_AMD_NAMES, _AMD)),
        ("rocm-smi.json", (_ROCM,)),
    ):
        if text := "".join(_said(command) for command in commands):
            return Look(kind, text)
    return None


def tables() -> dict[str, str]:
    """The tools' pages for people, by file name: kept beside what is measured, as forms that are
    read.
    """
    return {
        name: text
        for name, tool in (("nvidia-smi.txt", "nvidia-smi"), ("rocm-smi.txt", "rocm-smi"))
        if (text := _said((tool,)))
    }


def driver() -> str:
    """The driver's version as its tool says it; empty where it says none."""
    said = _said(("nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader")) or _said(
        ("amd-smi", "version")
    )
    return said.strip().splitlines()[0].strip() if said.strip() else ""


def cards() -> tuple[Card, ...] | str:
    """The cards that may be used, the emptiest first; a sentence where there is none."""
    found = look()
    if found is None:
        return "no card is here: neither nvidia-smi nor amd-smi nor rocm-smi shows one"
    shown = read(found.kind, found.text)
    usable = [card for card in shown.cards if not card.lost and _is_visible(card)]
    if not usable:
        return (
            "no card can be used: "
            f"{'; '.join(shown.problems) or 'the tool shows none that is visible and answers'}"
        )
    return tuple(sorted(usable, key=lambda card: (used_ratio(card), card.index)))


def used_ratio(card: Card) -> float:
    """The share of its memory that is taken, 0 where that is not told."""
    return (
        (card.memory_used_bytes or 0.0) / card.memory_total_bytes
        if card.memory_total_bytes
        else 0.0
    )


def _is_visible(card: Card) -> bool:
    """False where the environment shows other cards by their numbers."""
    stated = os.environ.get(VISIBLE[card.vendor], "").replace(" ", "")
    numbers = [part for part in stated.split(",") if part]
    return not numbers or not all(part.isdigit() for part in numbers) or str(card.index) in numbers


def _said(command: tuple[str, ...]) -> str:
    """What the tool printed, empty where it is not here, fails or takes too long."""
    if shutil.which(command[0]) is None:
        return ""
    try:
        done = subprocess.run(
            command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=WITHIN_S
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout if done.returncode == 0 else ""
