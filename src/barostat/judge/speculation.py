"""--speculative-config -> the drafter that it names, and whether the scheduler still runs ahead."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass

from barostat.core.config import EngineConfig
from barostat.kv.architecture import Architecture
from barostat.kv.draft import WITHOUT_ASYNC, Draft, draft_of

_BY_NAME = ("dflash", "dspark", "eagle3", "eagle", "medusa", "mlp_speculator", "mtp")


@dataclass(frozen=True, slots=True)
class Speculation:
    """`draft_model`: the drafter's name or folder, empty where it has none. `keeps_async`: async scheduling stays the default."""

    draft: Draft
    draft_model: str = ""
    keeps_async: bool = True
    notes: tuple[str, ...] = ()


def speculation_of(model: Architecture, config: EngineConfig, drafter: Architecture | None) -> Speculation:
    """What the engine's --speculative-config amounts to; nothing where it has none."""
    decoded, notes = _decoded(config)
    if decoded is None:
        return Speculation(Draft(tokens=_whole(config.number("num_speculative_tokens")) or 0), notes=notes)
    name = named_drafter(config)
    method = _method(decoded, name, drafter)
    draft = draft_of(model, method, _whole(decoded.get("num_speculative_tokens")), drafter)
    keeps = method not in WITHOUT_ASYNC and decoded.get("disable_padded_drafter_batch") is not True
    return Speculation(draft, name, keeps, (*notes, *draft.notes))


def named_drafter(config: EngineConfig) -> str:
    """The model that --speculative-config names as the drafter; empty where it names none."""
    decoded, _ = _decoded(config)
    found = decoded.get("model") if decoded is not None else None
    return found if isinstance(found, str) and found not in ("ngram", "[ngram]") else ""


def _decoded(config: EngineConfig) -> tuple[Mapping[str, object] | None, tuple[str, ...]]:
    found = config.get("speculative_config")
    if found is None or not isinstance(found.value, str) or found.value in ("", "None"):
        return None, ()
    try:
        decoded = json.loads(found.value)
    except (ValueError, RecursionError):
        return None, ("--speculative-config is no JSON: ignored",)
    return (decoded, ()) if isinstance(decoded, dict) else (None, ("--speculative-config is no JSON object: ignored",))


def _method(decoded: Mapping[str, object], name: str, drafter: Architecture | None) -> str:
    """As given, or as the engine would tell from the drafter's name; a drafter that says nothing is a draft model."""
    if isinstance(given := decoded.get("method"), str) and given:
        return given.lower()
    if decoded.get("model") in ("ngram", "[ngram]"):
        return "ngram"
    words = f"{name} {drafter.name if drafter is not None else ''}".lower()
    return next((method for method in _BY_NAME if method in words), "draft_model")


def _whole(value: object) -> int | None:
    good = isinstance(value, int | float) and not isinstance(value, bool) and 0 < value < 1000
    return int(value) if good and isinstance(value, int | float) else None
