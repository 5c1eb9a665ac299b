"""Reads `nvidia-smi --query-gpu=... --format=csv` with any columns in any order, with or without
header and units.

Source: nvidia-smi manual and `--help-query-gpu`, R470 to R590; the runbook's own query.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from barostat.catalog.gpu_faults import throttle_reasons
from barostat.gpus.card import (
    Card,
    CardProcess,
    GpuOutput,
    memory_bytes,
    number,
    percent_ratio,
    power_share,
    quantity,
)

RUNBOOK_COLUMNS = (
    "name",
    "memory.used",
    "memory.total",
    "clocks_event_reasons.active",
    "temperature.gpu",
    "ecc.errors.uncorrected.volatile.total",
)
"""Columns of the runbook's pre-check, in order: the most likely layout of a table without a header.
"""
OWN_COLUMNS = (
    "index", "name", "uuid", "memory.used", "memory.total", "utilization.gpu", "power.draw",
    "power.limit", "temperature.gpu", "ecc.errors.uncorrected.volatile.total",
    "ecc.errors.corrected.volatile.total",
)  # fmt: skip
"""Columns that Barostat queries itself."""

_HEADER_CELL = re.compile(r"^([a-z_]+(?:[.][a-z_0-9]+)*)(?:\s*\[[^\]]*\])?$")
_BARE_FIELDS = {
    "name",
    "index",
    "uuid",
    "pid",
    "process_name",
    "timestamp",
    "count",
    "gpu_name",
    "gpu_uuid",
    "serial",
    "used_memory",
}
_ALIASES = {
    "gpu_name": "name",
    "gpu_uuid": "uuid",
    "gpu_bus_id": "pci.bus_id",
    "used_memory": "used_gpu_memory",
    "enforced.power.limit": "power.limit",
    "power.draw.average": "power.draw",
    "power.draw.instant": "power.draw",
}
_MASK = re.compile(r"^0x[0-9a-fA-F]{1,16}$")
_LOST = re.compile(r"GPU is lost|Unable to determine the device handle", re.IGNORECASE)
_BUS_ID = re.compile(r"\b([0-9A-Fa-f]{4,8}:[0-9A-Fa-f]{2}:[0-9A-Fa-f]{2}\.[0-9A-Fa-f])\b")
_BROKEN_CELL = re.compile(r"^\[?(?:ERR!|Unknown Error|GPU is lost)\]?$", re.IGNORECASE)
_NO_VALUE = re.compile(
    r"^\[?(?:N/A|Not Supported|Insufficient Permissions|Not Found|Unknown|)\]?$", re.IGNORECASE
)
_TOOL_FAILED = re.compile(
    r"NVIDIA-SMI has failed|Failed to initialize NVML|No devices were found|is not a valid field|command not found|"
    r"couldn't communicate|executable file not found|Driver/library version mismatch",
    re.IGNORECASE,
)


def tool_failure(line: str) -> str:
    """Return the line as a problem if it is an error message of nvidia-smi, else an empty string."""
    return f"nvidia-smi failed: {line.strip()[:200]}" if _TOOL_FAILED.search(line) else ""


def lost_card(line: str, index: int) -> Card | None:
    """Return the card that an error line reports as lost (off the bus, no handle); None for any
    other line.
    """
    if not _LOST.search(line) or line.lstrip().startswith("|"):
        return None
    bus = _BUS_ID.search(line)
    return Card(index, "nvidia", name=bus[1] if bus else "", lost=True, note=line.strip()[:200])


MOST_PROBLEMS = 100
"""Unreadable lines after which the rest of the text is skipped."""
MOST_CELLS = 512
"""Cells read per line; nvidia-smi has fewer than two hundred fields."""


def read_query(text: str) -> GpuOutput:
    """Parse the CSV of a query into cards. The text may hold several tables (a compute-apps query
    after the GPU query, a loop).

    Errors: none; each unreadable line adds a sentence to `problems`.
    """
    cards: dict[int, Card] = {}
    processes: list[tuple[str, CardProcess]] = []
    problems: list[str] = []
    columns: tuple[str, ...] | None = None
    row = 0
    asked_for_processes = False
    for line in text.splitlines():
        if not line.strip() or line.startswith("Defaulted container"):
            continue
        if len(problems) >= MOST_PROBLEMS:
            problems.append(
                f"more than {MOST_PROBLEMS} lines of the nvidia-smi query cannot be read; "
                "the rest was left out"
            )
            break
        if line.count(",") >= MOST_CELLS:
            problems.append(
                f"a line of the nvidia-smi query has more than {MOST_CELLS} cells; left out"
            )
            continue
        cells = [cell.strip() for cell in line.split(",")]
        if header := _header(cells):
            columns, row = header, 0
            asked_for_processes = asked_for_processes or "used_gpu_memory" in header
            continue
        if failure := tool_failure(line):
            problems.append(failure)
            continue
        if len(cells) == 1 and (lost := lost_card(line, max(cards, default=-1) + 1)):
            cards[lost.index] = lost
            continue
        known = columns or guess_columns(cells)
        if known is None:
            problems.append(
                "a line of the nvidia-smi query cannot be read without its header: "
                f"{line.strip()[:120]!r}"
            )
            continue
        if len(known) != len(cells):
            problems.append(
                f"a line of the nvidia-smi query has {len(cells)} cells, its header has "
                f"{len(known)}"
            )
            continue
        fields = dict(zip(known, cells, strict=True))
        if "used_gpu_memory" in fields:
            processes.append(_process(fields))
            continue
        card = _card(fields, row)
        cards[card.index] = card
        row += 1
    return GpuOutput(_with_processes(cards, processes, asked_for_processes), tuple(problems))


def _header(cells: Sequence[str]) -> tuple[str, ...] | None:
    """Return the field names if the cells are a header, else None."""
    names = [match[1] for cell in cells if (match := _HEADER_CELL.match(cell))]
    if len(names) != len(cells) or not any("." in name or name in _BARE_FIELDS for name in names):
        return None
    return tuple(_canonical(name) for name in names)


def _canonical(name: str) -> str:
    name = name.replace("clocks_throttle_reasons", "clocks_event_reasons")
    return _ALIASES.get(name, name)


def guess_columns(cells: Sequence[str]) -> tuple[str, ...] | None:
    """Guess the columns of a row without a header; None if a guess would not be safe.

    Tried first: the runbook's order, also with a leading index or a trailing utilisation, then
    OWN_COLUMNS. Any other order is guessed only from cells with a unit: two amounts of memory
    (used, then total), a percentage, a mask, watts.
    """
    runbook = (
        ((), ()),
        ((), ("utilization.gpu",)),
        (("index",), ()),
        (("index",), ("utilization.gpu",)),
    )
    for columns in (
        *((*before, *RUNBOOK_COLUMNS, *after) for before, after in runbook),
        OWN_COLUMNS,
    ):
        if len(columns) == len(cells) and all(
            _fits(*pair) for pair in zip(columns, cells, strict=True)
        ):
            return columns
    return _guess_by_unit(cells)


def _fits(column: str, cell: str) -> bool:
    if _BROKEN_CELL.match(cell) or (_NO_VALUE.match(cell) and column != "name"):
        return True
    found = quantity(cell)
    match column:
        case "name":
            return found is None and not _MASK.match(cell)
        case "uuid":
            return cell.startswith(("GPU-", "MIG-"))
        case "clocks_event_reasons.active":
            return bool(_MASK.match(cell))
        case "index":
            return (
                found is not None
                and found[1] == ""
                and found[0] == int(found[0])
                and 0 <= found[0] < 64
            )
        case "memory.used" | "memory.total":
            return found is not None and found[1] in ("", "mib")
        case "utilization.gpu":
            return found is not None and found[1] in ("", "%") and 0 <= found[0] <= 100
        case "power.draw" | "power.limit":
            return found is not None and found[1] in ("", "w")
        case _:
            return found is not None and found[1] == ""


def _guess_by_unit(cells: Sequence[str]) -> tuple[str, ...] | None:
    columns: list[str] = []
    for place, cell in enumerate(cells):
        found = quantity(cell)
        unit = found[1] if found else ""
        if unit == "mib":
            columns.append("memory.total" if "memory.used" in columns else "memory.used")
        elif unit == "%" and "utilization.gpu" not in columns:
            columns.append("utilization.gpu")
        elif unit == "w":
            columns.append("power.limit" if "power.draw" in columns else "power.draw")
        elif _MASK.match(cell):
            columns.append("clocks_event_reasons.active")
        elif cell.startswith(("GPU-", "MIG-")):
            columns.append("uuid")
        elif place == 0 and found and unit == "":
            columns.append("index")
        elif (
            found is None
            and "name" not in columns
            and re.search(r"[A-Za-z]{2}", cell)
            and not _NO_VALUE.match(cell)
        ):
            columns.append("name")
        else:
            columns.append(f"unknown.{place}")
    return (
        tuple(columns)
        if {"memory.used", "memory.total"} <= set(columns) and columns.count("memory.total") == 1
        else None
    )


def _card(fields: dict[str, str], row: int) -> Card:
    index = number(fields.get("index"))
    broken = [cell for cell in fields.values() if _BROKEN_CELL.match(cell)]
    told = [
        name
        for name, cell in fields.items()
        if name not in ("index", "name", "uuid") and quantity(cell) is not None
    ]
    asked = [name for name in fields if name in _NUMERIC]
    lost = (
        any("lost" in cell.lower() for cell in broken)
        or len(broken) > 1
        or (len(asked) > 1 and not told)
    )
    hung = (
        set(fields) >= _NO_ANSWER
        and number(fields.get("temperature.gpu")) is not None
        and all(quantity(fields[name]) is None for name in _NO_ANSWER)
    )
    used, total = memory_bytes(fields.get("memory.used")), memory_bytes(fields.get("memory.total"))
    return Card(
        index=int(index) if index is not None and 0 <= index < 4096 else row,
        vendor="nvidia",
        name="" if _BROKEN_CELL.match(fields.get("name", "")) else fields.get("name", ""),
        uuid=fields.get("uuid", ""),
        memory_used_bytes=used,
        memory_total_bytes=total,
        utilization_ratio=percent_ratio(fields.get("utilization.gpu")),
        power_ratio=power_share(
            number(fields.get("power.draw")), number(fields.get("power.limit"))
        ),
        temperature_c=number(fields.get("temperature.gpu")),
        throttle=_throttle(fields),
        ecc_uncorrected=_first_number(
            fields,
            "ecc.errors.uncorrected.volatile.total",
            "ecc.errors.uncorrected.aggregate.total",
        ),
        ecc_corrected=_first_number(
            fields, "ecc.errors.corrected.volatile.total", "ecc.errors.corrected.aggregate.total"
        ),
        rows_pending=_counted(fields, _PENDING),
        rows_failed=_counted(fields, _FAILED),
        lost=lost or hung,
        note=f"answers {', '.join(broken) or 'N/A for everything'}"
        if lost
        else HUNG_NOTE
        if hung
        else "",
    )


HUNG_NOTE = "answers N/A for utilisation and power: its system processor (GSP) may hang"
_NO_ANSWER = {"utilization.gpu", "power.draw"}
"""A card whose GSP hangs still reports temperature and memory, but neither of these. A MIG card
reports its power.
"""
_NUMERIC = {
    "memory.used",
    "memory.total",
    "temperature.gpu",
    "utilization.gpu",
    "power.draw",
    "memory.free",
    "clocks.sm",
}


def _throttle(fields: dict[str, str]) -> tuple[str, ...] | None:
    """Return the active reasons, from the mask or from the columns of single reasons; None if
    neither is in the output.
    """
    mask = fields.get("clocks_event_reasons.active", "")
    if _MASK.match(mask):
        return throttle_reasons(int(mask, 16))
    single = {
        name.removeprefix("clocks_event_reasons."): cell
        for name, cell in fields.items()
        if name.startswith("clocks_event_reasons.") and cell in ("Active", "Not Active")
    }
    return tuple(name for name, cell in single.items() if cell == "Active") if single else None


def _first_number(fields: dict[str, str], *names: str) -> float | None:
    return next((found for name in names if (found := number(fields.get(name))) is not None), None)


def _counted(fields: dict[str, str], names: tuple[str, ...]) -> float | None:
    """Return the number of row remappings or page retirements of these kinds; None if the output
    has none of them.
    """
    cells = [cell.lower() for name, cell in fields.items() if name in names]
    told = [cell for cell in cells if cell in ("yes", "no") or number(cell) is not None]
    return (
        float(sum(1 for cell in told if cell == "yes" or (number(cell) or 0) > 0)) if told else None
    )


_PENDING = ("retired_pages.pending", "remapped_rows.pending")
_FAILED = ("remapped_rows.failure",)


def _process(fields: dict[str, str]) -> tuple[str, CardProcess]:
    pid = number(fields.get("pid"))
    name = fields.get("process_name", "")
    card = fields.get("uuid") or fields.get("pci.bus_id", "")
    return card, CardProcess(
        int(pid) if pid is not None else None, name, memory_bytes(fields["used_gpu_memory"])
    )


def _with_processes(
    cards: dict[int, Card], processes: list[tuple[str, CardProcess]], asked: bool
) -> tuple[Card, ...]:
    """Return the cards in order, each with its processes; a process without a known card is
    assigned to the only card.
    """
    ordered = [cards[index] for index in sorted(cards)]
    if not asked:
        return tuple(ordered)
    alone = len(ordered) == 1
    return tuple(
        replace(
            card,
            processes=tuple(
                process for uuid, process in processes if alone or (uuid and uuid == card.uuid)
            ),
        )
        for card in ordered
    )
