"""`amd-smi metric|static|process|monitor --json` and `rocm-smi --json`, read into cards.

amd-smi wraps its list of cards in `gpu_data` since ROCm 7 and changed names and nesting between
releases, so values are looked up by any of their names, at the top or one level down. A value is
`{"value": 41, "unit": "C"}`, a bare number, a text, or "N/A".

Source: amd-smi CLI of ROCm 6.0 to 7.x; rocm-smi of ROCm 5.x to 7.x.
"""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from barostat.gpus.card import (
    Card,
    CardProcess,
    GpuOutput,
    memory_bytes,
    number,
    percent_ratio,
    power_share,
)

_MAX_DEPTH = 12
_MAX_TRIES = 2000
_START = re.compile(r"^[ \t]*([\[{])", re.MULTILINE)
_CARD_KEY = re.compile(r"^card(\d{1,3})$")
_PID_KEY = re.compile(r"^PID\s*(\d{1,10})$")


def documents(text: str) -> tuple[list[Any], str]:
    """Every JSON document in the text, whatever warnings stand around them; and a problem, or an
    empty text.

    A document starts at the start of a line. Of one that ends early, the inner objects that are
    whole are kept.
    """
    decoder = json.JSONDecoder()
    found: list[Any] = []
    broken = ""
    read_to = 0
    for tries, match in enumerate(_START.finditer(text)):
        if match.start(1) < read_to:
            continue
        if tries >= _MAX_TRIES:
            break
        try:
            document, read_to = decoder.raw_decode(text, match.start(1))
            found.append(document)
        except (ValueError, RecursionError) as error:
            broken = broken or str(error)
    if not found:
        return [], f"not JSON: {broken or 'no object or list in the text'}"[:200]
    return found, f"the JSON is cut or broken: {broken}"[:200] if broken else ""


def read_amd_smi(text: str) -> GpuOutput:
    """The cards of amd-smi's JSON; several documents (metric, then process) are merged card by
    card.

    Errors: none; what cannot be read is a sentence in `problems`.
    """
    found, problem = documents(text)
    problems = [f"amd-smi: {problem}"] if problem else []
    records: dict[int, list[Mapping[str, Any]]] = defaultdict(list)
    for record in _records(found, 0):
        index = number(record["gpu"])
        if index is not None and 0 <= index < 4096:
            records[int(index)].append(record)
    if found and not records:
        problems.append("amd-smi: no card in this JSON")
    return GpuOutput(
        tuple(_amd_card(index, records[index]) for index in sorted(records)), tuple(problems)
    )


def _records(node: Any, depth: int) -> Iterator[Mapping[str, Any]]:
    """Every object that says which card it is about."""
    if depth > _MAX_DEPTH:
        return
    if isinstance(node, dict):
        if "gpu" in node and not isinstance(node["gpu"], dict | list):
            yield node
            return
        node = list(node.values())
    if isinstance(node, list):
        for inner in node:
            yield from _records(inner, depth + 1)


def _amd_card(index: int, records: list[Mapping[str, Any]]) -> Card:
    def reading(*paths: str) -> Any:
        """The first value that is there and no "N/A", by `section.name` or by `name`."""
        for path in paths:
            for record in records:
                node: Any = record
                for part in path.split("."):
                    node = node.get(part) if isinstance(node, dict) else None
                if node is not None and node != "N/A" and number(node) is not None:
                    return node
        return None

    used = memory_bytes(
        reading(
            "mem_usage.used_vram", "vram_usage.vram_used", "vram_used", "fb_usage.used", "used_vram"
        )
    )
    total = memory_bytes(
        reading(
            "mem_usage.total_vram",
            "vram_usage.vram_total",
            "vram_total",
            "fb_usage.total",
            "vram.size",
            "total_vram",
        )
    )
    busy = percent_ratio(
        reading("usage.gfx_activity", "usage.gfx_usage", "gfx", "gfx_utilization", "gfx_util")
    )
    power = number(
        reading(
            "power.socket_power",
            "power.current_socket_power",
            "power.average_socket_power",
            "power_usage",
            "power.current_power",
        )
    )
    limit = number(
        reading(
            "limit.socket_power",
            "limit.current_power",
            "limit.max_power",
            "power.power_limit",
            "power.max_power_limit",
        )
    )
    heat = number(
        reading(
            "temperature.hotspot",
            "temperature.edge",
            "hotspot_temperature",
            "temperature.hotspot_temperature",
        )
    )
    uncorrected = number(
        reading(
            "ecc.total_uncorrectable_count",
            "ecc.total_uncorrectable",
            "ecc.uncorrectable",
            "double_bit_ecc",
        )
    )
    corrected = number(
        reading(
            "ecc.total_correctable_count",
            "ecc.total_correctable",
            "ecc.correctable",
            "single_bit_ecc",
        )
    )
    asked = any(
        "mem_usage" in record or "usage" in record or "temperature" in record for record in records
    )
    lost = asked and all(value is None for value in (used, busy, power, heat))
    return Card(
        index=index,
        vendor="amd",
        name=_name(records),
        memory_used_bytes=used,
        memory_total_bytes=total,
        utilization_ratio=busy,
        power_ratio=power_share(power, limit),
        temperature_c=heat,
        throttle=_amd_throttle(records),
        ecc_uncorrected=uncorrected,
        ecc_corrected=corrected,
        rows_pending=_pending_pages(records),
        processes=_amd_processes(records),
        lost=lost,
        note="answers N/A for everything" if lost else "",
    )


def _name(records: Iterable[Mapping[str, Any]]) -> str:
    for record in records:
        for section, key in (("asic", "market_name"), ("board", "product_name")):
            inner = record.get(section)
            name = inner.get(key) if isinstance(inner, dict) else None
            if isinstance(name, str) and name != "N/A":
                return name
    return ""


def _amd_throttle(records: Iterable[Mapping[str, Any]]) -> tuple[str, ...] | None:
    """Return the active violations; None if the tool does not report throttling.

    The older `throttle_status: THROTTLED` gives no reason and also appears at the power cap, so it
    stays ambiguous.
    """
    told = False
    reasons: list[str] = []
    for record in records:
        power = record.get("power")
        status = power.get("throttle_status") if isinstance(power, dict) else None
        if status in ("THROTTLED", "UNTHROTTLED"):
            told = True
            reasons += ["throttled_without_reason"] if status == "THROTTLED" else []
        violations = record.get("throttle")
        for key, value in violations.items() if isinstance(violations, dict) else ():
            if isinstance(key, str) and key.endswith("_violation_status"):
                states = set(_texts(value, 0))
                told = told or bool(states & {"ACTIVE", "NOT ACTIVE"})
                if "ACTIVE" in states:
                    reasons.append(key.removesuffix("_violation_status").removeprefix("total_"))
    return tuple(dict.fromkeys(reasons)) if told else None


def _texts(node: Any, depth: int) -> Iterator[str]:
    if isinstance(node, str):
        yield node.upper()
    elif isinstance(node, dict | list) and depth < _MAX_DEPTH:
        for inner in node.values() if isinstance(node, dict) else node:
            yield from _texts(inner, depth + 1)


def _pending_pages(records: Iterable[Mapping[str, Any]]) -> float | None:
    for record in records:
        for holder in (record, record.get("bad_pages")):
            pages = holder.get("pending") if isinstance(holder, dict) else None
            if isinstance(pages, list):
                return float(len(pages))
    return None


def _amd_processes(records: Iterable[Mapping[str, Any]]) -> tuple[CardProcess, ...] | None:
    lists = [
        record["process_list"] for record in records if isinstance(record.get("process_list"), list)
    ]
    if not lists:
        return None
    processes: list[CardProcess] = []
    for entry in (entry for some in lists for entry in some if isinstance(entry, dict)):
        info = entry.get("process_info", entry)
        if not isinstance(info, dict):
            continue  # "No running processes detected"
        usage = info.get("memory_usage")
        vram = usage.get("vram_mem") if isinstance(usage, dict) else None
        if vram in (None, "N/A"):
            vram = info.get("mem_usage", info.get("mem"))
        pid = number(info.get("pid"))
        name = info.get("name")
        processes.append(
            CardProcess(
                int(pid) if pid is not None else None,
                name if isinstance(name, str) else "",
                memory_bytes(vram, "b"),
            )
        )
    return tuple(processes)


def read_rocm_smi(text: str) -> GpuOutput:
    """The cards of rocm-smi's JSON: `card0`, `card1`, ... and, with --showpids, the processes under
    `system`.

    Errors: none; what cannot be read is a sentence in `problems`.
    """
    found, problem = documents(text)
    problems = [f"rocm-smi: {problem}"] if problem else []
    cards: dict[int, Card] = {}
    holders: list[tuple[CardProcess, int]] | None = None
    for document in found:
        for key, value in document.items() if isinstance(document, dict) else ():
            if (match := _CARD_KEY.match(key)) and isinstance(value, dict):
                cards[int(match[1])] = _rocm_card(int(match[1]), value)
            elif (
                key == "system"
                and isinstance(value, dict)
                and any(_PID_KEY.match(pid) for pid in value)
            ):
                holders = [
                    _rocm_process(int(pid[1]), cells)
                    for name, cells in value.items()
                    if (pid := _PID_KEY.match(name))
                ]
    if found and not cards:
        problems.append("rocm-smi: no card in this JSON")
    if holders and len(cards) > 1 and any(count != len(cards) for _, count in holders):
        problems.append(
            "rocm-smi does not say on which of several cards a process holds memory; "
            "amd-smi process --json does"
        )
        holders = None
    ordered = [cards[index] for index in sorted(cards)]
    if holders is not None:
        shared = tuple(
            replace(
                process,
                memory_bytes=None
                if process.memory_bytes is None
                else process.memory_bytes / max(1, len(cards)),
            )
            for process, _ in holders
        )
        ordered = [replace(card, processes=shared) for card in ordered]
    return GpuOutput(tuple(ordered), tuple(problems))


def _rocm_card(index: int, row: Mapping[str, Any]) -> Card:
    cells = {
        key.lower().rstrip(":").strip(): value for key, value in row.items() if isinstance(key, str)
    }

    def reading(*names: str) -> float | None:
        return next(
            (found for name in names if (found := number(cells.get(name))) is not None), None
        )

    used = reading("vram total used memory (b)", "vram used memory (b)", "gpu memory use")
    total = reading("vram total memory (b)")
    share = reading("gpu memory allocated (vram%)", "gpu memory use (%)")
    if used is None and total is not None and share is not None:
        used = total * share / 100.0
    busy = reading("gpu use (%)")
    heat = reading(
        "temperature (sensor junction) (c)",
        "temperature (sensor hotspot) (c)",
        "temperature (sensor edge) (c)",
    )
    power = reading(
        "current socket graphics package power (w)",
        "average graphics package power (w)",
        "average socket power (w)",
    )
    corrected, uncorrected = _ras(row, 0)
    name = next(
        (
            cells[key]
            for key in ("card series", "device name", "card model")
            if isinstance(cells.get(key), str)
        ),
        "",
    )
    asked = any("temperature" in key or "vram" in key or "gpu use" in key for key in cells)
    lost = asked and all(value is None for value in (used, total, busy, heat, power))
    return Card(
        index=index,
        vendor="amd",
        name=name,
        memory_used_bytes=used,
        memory_total_bytes=total,
        utilization_ratio=None if busy is None else percent_ratio(busy),
        power_ratio=power_share(power, reading("max graphics package power (w)")),
        temperature_c=heat,
        ecc_uncorrected=uncorrected,
        ecc_corrected=corrected,
        lost=lost,
        note="answers N/A for everything" if lost else "",
    )


def _ras(node: Any, depth: int) -> tuple[float | None, float | None]:
    """Return corrected and uncorrected error counts (RAS), summed over the blocks of a card; None
    if not reported.
    """
    totals: list[float | None] = [None, None]
    if isinstance(node, dict) and depth < _MAX_DEPTH:
        for key, value in node.items():
            place = (
                1
                if "uncorrect" in str(key).lower()
                else 0
                if "correctable" in str(key).lower()
                else None
            )
            count = number(value)
            found = (
                _ras(value, depth + 1)
                if place is None or count is None
                else (count, None)
                if place == 0
                else (None, count)
            )
            for kind, more in enumerate(found):
                if more is not None:
                    totals[kind] = (totals[kind] or 0.0) + more
    return totals[0], totals[1]


def _rocm_process(pid: int, cells: Any) -> tuple[CardProcess, int]:
    """A process of `--showpids` (name, cards, bytes of VRAM, ...) and on how many cards it is."""
    parts = (
        [part.strip() for part in cells.split(",")]
        if isinstance(cells, str)
        else [str(part) for part in cells]
        if isinstance(cells, list)
        else []
    )
    count = number(parts[1]) if len(parts) > 1 else None
    return CardProcess(
        pid, parts[0] if parts else "", memory_bytes(parts[2], "b") if len(parts) > 2 else None
    ), int(count or 0)
