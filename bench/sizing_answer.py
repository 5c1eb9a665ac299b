"""One row of a table of start-ups, and our plans for it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from bench.sizing_rows import request_of

from barostat.core.errors import InputError
from barostat.core.units import GIB
from barostat.judge.sizing.plan import CapacityPlan, Measured, plan
from barostat.kv.profiled.fitted import FITTED, MemoryModel


@dataclass
class Answer:
    """One row, our two plans for it, and why there is none."""

    row: dict[str, Any]
    given: CapacityPlan | None = None
    whole: CapacityPlan | None = None
    why: str = ""


def answer(row: dict[str, Any], configs: Path, constants: MemoryModel = FITTED) -> Answer:
    """Both plans for a row."""
    try:
        request = replace(request_of(row, configs), constants=constants)
    except (InputError, OSError, ValueError) as error:
        return Answer(row, why=str(error))
    found = Answer(row)
    observed = row["observed"].get("available_kv_gib")
    try:
        blocks, tokens = row["observed"].get("num_gpu_blocks"), row["observed"].get("kv_tokens")
        if row.get("given") == "tokens":
            found.given = plan(
                replace(
                    request,
                    memory_bytes=None,
                    card=None,
                    measured=Measured("the logged tokens", tokens=tokens),
                )
            )
        elif observed is not None and observed > 0:
            found.given = plan(replace(request, available_kv_bytes=int(observed * GIB)))
        elif observed is None and blocks:
            found.given = plan(
                replace(
                    request,
                    available_kv_bytes=0,
                    measured=Measured("num_gpu_blocks of the row", blocks=blocks),
                )
            )
    except InputError as error:
        found.why = str(error)
    try:
        found.whole = plan(request)
    except InputError as error:
        found.why = found.why or str(error)
    return found
