"""The plain `nvidia-smi` table: cards, MIG slices and processes, in the layouts of R390 to R590.

    |   0  NVIDIA H100 80GB HBM3          On  |   00000000:18:00.0 Off |                    0 |   <- name line
    | N/A   41C    P0            312W /  700W |   74211MiB /  81559MiB |     97%      Default |   <- readings line

Source: nvidia-smi, driver branches R390, R470, R535, R550, R580, R590.
"""

from __future__ import annotations

import re
from collections import defaultdict
from dataclasses import replace

from barostat.gpus.card import (
    Card,
    CardProcess,
    GpuOutput,
    memory_bytes,
    number,
    percent_ratio,
    power_share,
)
from barostat.gpus.nvidia import HUNG_NOTE, lost_card, tool_failure

_NAME_LINE = re.compile(
    r"^\|\s*(\d{1,9})\s+(\S.*?)\s+(On|Off|N/A|TCC|WDDM|MCDM|ERR!)\s*\|\s*([0-9A-Fa-f]{4,8}:[0-9A-Fa-f:.]+|N/A)\s+(\S+)\s*\|\s*(\S+)\s*\|"
)
_MEMORY = re.compile(r"(\d{1,9})\s*MiB\s*/\s*(\d{1,9})\s*MiB")
_POWER = re.compile(r"(?<![\d.])(\d++(?:\.\d++)?)\s*+W\s*+/\s*+(\d+(?:\.\d+)?)\s*W")
_TEMPERATURE = re.compile(r"\b(\d{1,9})C\b")
_PERCENT = re.compile(r"\b(\d{1,9})%")
_MIG_LINE = re.compile(
    r"^\|\s*(\d{1,9})\s+(\d{1,9})\s+(\d{1,9})\s+(\d{1,9})\s*\|\s*(\d{1,9})\s*MiB\s*/\s*(\d{1,9})\s*MiB\s*\|"
)
_PROCESS = re.compile(
    r"^\|\s*(\d{1,9})\s+(?:(N/A|\d{1,9})\s+(N/A|\d{1,9})\s+)?(\d{1,9}|N/A)\s+([CGM](?:\+[CGM])*)\s+"
    r"(.*?)\s*(\d{1,9}\s*MiB|N/A)?\s*\|\s*$"
)


def read_table(text: str) -> GpuOutput:
    """The cards of the table. Several tables in one text (a loop): the last one counts, card by
    card.

    Errors: none; each unreadable line adds a sentence to `problems`.
    """
    cards: dict[int, Card] = {}
    slices: dict[tuple[int, str, str], Card] = {}
    holders: dict[tuple[int, str, str], list[CardProcess]] = defaultdict(list)
    problems: list[str] = []
    section = ""
    open_card: int | None = None
    for line in text.splitlines():
        line = line.strip()
        if line.startswith("| NVIDIA-SMI"):
            section, open_card = "cards", None
            slices.clear()
            holders.clear()
        elif line.startswith("| Processes:"):
            section, open_card = "processes", None
            holders.clear()
        elif line.startswith("| MIG devices:"):
            section, open_card = "mig", None
        elif not line.startswith("|"):
            if failure := tool_failure(line):
                problems.append(failure)
            elif lost := lost_card(line, max(cards, default=-1) + 1):
                cards[lost.index] = lost
            elif line.startswith("+"):
                open_card = None if section != "cards" else open_card
        elif section == "processes":
            if match := _PROCESS.match(" ".join(line.split())):
                holders[int(match[1]), match[2] or "N/A", match[3] or "N/A"].append(_process(match))
        elif match := _MIG_LINE.match(line):
            slices[int(match[1]), match[2], match[3]] = _slice(match, cards)
        elif match := _NAME_LINE.match(line):
            open_card = int(match[1])
            cards[open_card] = _named(match)
        elif open_card is not None and section != "mig":
            cards[open_card] = _filled(cards[open_card], line)
            open_card = None
    if not cards and not problems:
        problems.append("no card is shown in this nvidia-smi table")
    return GpuOutput(_assembled(cards, slices, holders, "Processes:" in text), tuple(problems))


def _named(match: re.Match[str]) -> Card:
    name = match[2]
    lost = name.startswith("ERR!")
    ecc = number(match[6])
    return Card(
        index=int(match[1]),
        vendor="nvidia",
        name="" if lost else name,
        ecc_uncorrected=ecc,
        lost=lost,
        note="answers ERR!" if lost else "",
    )


def _filled(card: Card, line: str) -> Card:
    """The card with the readings of its second line."""
    cells = line.strip("|").split("|")
    left = cells[0]
    middle = cells[1] if len(cells) > 1 else ""
    right = cells[2] if len(cells) > 2 else ""
    memory, power = _MEMORY.search(middle), _POWER.search(left)
    temperature, busy = _TEMPERATURE.search(left), _PERCENT.search(right)
    # A dead fan alone says ERR! too: only a second ERR!, or one where memory or utilisation stand,
    # means that the card is gone.
    silent = not (memory or power or temperature or busy) and "Not Supported" not in middle
    lost = card.lost or line.count("ERR!") > 1 or "ERR!" in middle or "ERR!" in right or silent
    hung = temperature is not None and memory is not None and not (power or busy or "ERR!" in line)
    note = (
        "answers ERR!"
        if "ERR!" in line or card.lost
        else HUNG_NOTE
        if hung
        else "answers N/A for everything"
    )
    return replace(
        card,
        memory_used_bytes=memory_bytes(memory[1]) if memory else None,
        memory_total_bytes=memory_bytes(memory[2]) if memory else None,
        utilization_ratio=percent_ratio(busy[1]) if busy else None,
        power_ratio=power_share(number(power[1]), number(power[2])) if power else None,
        temperature_c=number(temperature[1]) if temperature else None,
        lost=lost or hung,
        note=note if lost or hung else "",
    )


def _slice(match: re.Match[str], cards: dict[int, Card]) -> Card:
    index = int(match[1])
    whole = cards.get(index, Card(index, "nvidia"))
    return replace(
        whole,
        name=f"{whole.name} MIG {match[2]}/{match[3]}".strip(),
        memory_used_bytes=memory_bytes(match[5]),
        memory_total_bytes=memory_bytes(match[6]),
        utilization_ratio=None,
    )


def _process(match: re.Match[str]) -> CardProcess:
    return CardProcess(
        int(match[4]) if match[4].isdigit() else None, match[6].strip(), memory_bytes(match[7])
    )


def _assembled(
    cards: dict[int, Card],
    slices: dict[tuple[int, str, str], Card],
    holders: dict[tuple[int, str, str], list[CardProcess]],
    tells_processes: bool,
) -> tuple[Card, ...]:
    """The cards in order: a card that is cut into MIG slices is replaced by them."""
    result: list[Card] = []
    for index in sorted(cards):
        own_slices = {key: card for key, card in slices.items() if key[0] == index}
        for key, card in (
            own_slices.items() if own_slices else [((index, "N/A", "N/A"), cards[index])]
        ):
            found = (
                holders.get(key, ())
                if own_slices
                else [
                    process
                    for holder, some in holders.items()
                    if holder[0] == index
                    for process in some
                ]
            )
            result.append(replace(card, processes=tuple(found)) if tells_processes else card)
    return tuple(result)
