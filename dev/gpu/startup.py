"""A start-up: what the engine logged of its memory, beside what `plan` says. A start that fails is
a row as well.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Any

from bench.sizing_rows import arguments, request_of
from dev.engine import DTYPE_FLAGS, Engine
from dev.gateway_process import BAROSTAT
from dev.gpu import models
from dev.gpu.here import Here
from dev.gpu.item import READY_WITHIN_S, Bench, Item, NotMeasured
from dev.gpu.journal import STARTUPS, Journal, Row
from dev.reaper import run_to_end
from dev.record import portable_log

from barostat.core.errors import InputError
from barostat.core.units import GIB
from barostat.engines.vllm.logs.digest import LogDigest, digest
from barostat.judge.sizing.plan import CapacityPlan, plan

_LOGGED = {
    "available_kv_cache_memory_gib": "available_kv_gib", "kv_cache_size_tokens": "kv_tokens", "kv_cache_max_concurrency": "max_concurrency",
    "model_memory_gib": "weights_gib", "graph_memory_gib": "graph_capture_gib", "device_memory_gib": "device_memory_gib",
}  # fmt: skip
_PARTS = {
    "activation_gib": re.compile(r"([\d.]+) GiB for peak activation"),
    "non_torch_gib": re.compile(r"([\d.]+) GiB for non-torch"),
    "consumed_gib": re.compile(r"([\d.]+) GiB for consumed memory \(weights \+ non-torch\)"),
}
_DOES_NOT_FIT = frozenset(
    {"no_cache_blocks", "model_too_long", "states_exceeded", "gpu_oom", "gpu_oom_startup"}
)


@dataclass(frozen=True, slots=True, kw_only=True)
class StartUp(Item):
    """One start with these settings."""

    kind = "start-up"

    def measure(self, bench: Bench) -> str:
        """The row is on record."""
        row = stated_row(self.name, self.model, self.settings, bench.here)
        keep_config(self.model, bench.journal)
        with bench.engine(
            self.model, *arguments(row), env=row.get("env"), cards=self.cards
        ) as engine:
            failed = came_up(engine)
            row |= started_row(row, engine, failed, bench)
        bench.journal.put(STARTUPS, row)
        return told(row)


def came_up(engine: Engine) -> str:
    """Empty where it listens; else why not, in the engine's own words."""
    try:
        engine.wait_ready(READY_WITHIN_S)
    except RuntimeError:
        return _why(digest(portable_log(engine).splitlines(), source="the start-up log"), engine)
    return ""


def _why(log: LogDigest, engine: Engine) -> str:
    ended = (
        f"ended with {engine.exit_code}" if engine.exit_code is not None else "was not up in time"
    )
    by_weight = sorted(
        log.events, key=lambda event: (event.kind not in _DOES_NOT_FIT, event.kind == "engine_dead")
    )
    words = (
        by_weight[0].quote
        if by_weight
        else log.unfinished or (portable_log(engine).strip().splitlines() or ["no word"])[-1]
    )
    return f"{ended}: {words:.300}"


def named_in(*recorded: str) -> Row:
    """What `barostat diagnose` makes of a log or a bundle: cause and variant. Errors:
    NotMeasured.
    """
    done = run_to_end([str(BAROSTAT), "diagnose", *recorded, "-o", "json"], within_s=120)
    if not done.stdout:
        raise NotMeasured(f"what was recorded is not diagnosed: {done.stderr.strip():.300}")
    diagnosis: Row = json.loads(done.stdout)["replicas"][0]["diagnosis"]
    return diagnosis


def stated_row(name: str, model: str, settings: Any, here: Here) -> Row:
    """What is started, as rows of public start-ups say it."""
    row: Row = {
        "id": f"{here.label}-{name}",
        "vllm_version": str(here.release),
        "gpu": here.gpu,
        "tp": 1,
        "complete": True,
    }
    row |= {"model": models.stated_name(model), **settings}
    if here.kind == "cpu" and DTYPE_FLAGS:
        row.setdefault("dtype", DTYPE_FLAGS[1])
    if here.kind == "card" and here.known_card is None and here.memory_gib:
        row["gpu_mem_gib"] = (
            round(here.memory_gib, 3) + 0.0001
        )  # no whole number: as a tool saw it, not a name
    if here.kind != "card":
        row["config_file"] = models.file_name(model)
    chosen = here.chosen_env
    return row | (
        {"env": {**chosen, **settings.get("env", {})}} if chosen or settings.get("env") else {}
    )


def started_row(row: Row, engine: Engine, failed: str, bench: Bench) -> Row:
    """What the log says, and what the plan does."""
    text = engine.log_text()
    log = digest(text.splitlines(), source="the start-up log")
    seen = observed(log, text)
    if (reserved := engine.base_env.get("VLLM_CPU_KVCACHE_SPACE")) is not None:
        seen.setdefault(
            "available_kv_gib", float(reserved)
        )  # the CPU build does not say it in these words
    found: Row = {"observed": seen}
    if engine.started_after_s is not None:
        found["started_after_s"] = round(engine.started_after_s, 1)
    if failed:
        kinds = {event.kind for event in log.events}
        named = named_in("--log", str(engine.log))
        found |= {"outcome": "does not fit" if kinds & _DOES_NOT_FIT else "failed", "why": failed}
        found["cause"] = f"{named['cause']} {named['variant'] or ''}".rstrip()
    planned = planned_for(row, bench.here, bench.journal)
    if isinstance(planned, str):
        return found | {"planned": {"why": planned}}
    pool = planned.pool
    said = {
        "available_kv_gib": round(planned.available.value / GIB, 3),
        "kv_tokens": pool.tokens,
        "fits": planned.fits,
    }
    return found | {"planned": said | {"max_concurrency": round(pool.concurrency, 2)}}


def observed(log: LogDigest, text: str) -> Row:
    """What a start-up log says of its memory, by the names that rows give it."""
    found: Row = {
        ours: log.settings[theirs].value
        for theirs, ours in _LOGGED.items()
        if theirs in log.settings
    }
    found |= {
        name: float(seen[1])
        for name, pattern in _PARTS.items()
        if (seen := pattern.search(text)) is not None
    }
    consumed = found.pop("consumed_gib", None)
    if consumed is not None and "weights_gib" in found:
        found["non_torch_gib"] = round(consumed - float(found["weights_gib"]), 3)
    return found


def planned_for(row: Row, here: Here, journal: Journal) -> CapacityPlan | str:
    """What `barostat plan` says of that start; a sentence where it says nothing."""
    if here.kind != "card":
        return "planned for cards only"
    try:
        return plan(request_of(row, journal.folder / "models"))
    except (InputError, OSError, ValueError) as error:
        return str(error)


def keep_config(model: str, journal: Journal) -> None:
    """The configuration stands beside the rows."""
    journal.text(
        f"models/{models.file_name(model)}", json.dumps(models.config_of(model), indent=1) + "\n"
    )


def told(row: Row) -> str:
    """The row in a few words."""
    if "why" in row:
        return f"{row['outcome']}, {row['cause']}: {row['why']:.160}"
    seen, planned = row["observed"], row["planned"]
    tokens, memory = seen.get("kv_tokens"), seen.get("available_kv_gib")
    words = f"{memory or '?'} GiB for the pool, {tokens or '?'} tokens"
    if memory and "available_kv_gib" in planned:
        return (
            f"{words}; planned {planned['available_kv_gib']} GiB "
            f"({planned['available_kv_gib'] / memory - 1:+.1%})"
        )
    return words
