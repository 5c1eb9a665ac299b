"""--speculative-config -> the drafter that it names, and whether the scheduler still runs ahead."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass

from barostat.catalog.drafters import DFLASH_USUAL_DRAFTS, published_drafter
from barostat.core.config import EngineConfig
from barostat.core.errors import InputError
from barostat.core.version import EngineVersion
from barostat.kv.architecture import Architecture
from barostat.kv.draft import WITHOUT_ASYNC, Draft, draft_of
from barostat.kv.read_architecture import read_architecture

_EAGLE = ("eagle", "eagle3", "mtp")
_BY_NAME = ("dflash", "dspark", "eagle3", "eagle", "medusa", "mlp_speculator", "mtp")


@dataclass(frozen=True, slots=True)
class Speculation:
    """Effect of --speculative-config. `keeps_async`: async scheduling stays the default. `method`:
    empty without speculation.
    """

    draft: Draft
    keeps_async: bool = True
    notes: tuple[str, ...] = ()
    method: str = ""


def speculation_of(
    model: Architecture,
    config: EngineConfig,
    drafter: Architecture | None,
    version: EngineVersion | None = None,
) -> Speculation:
    """Return the effect of the engine's --speculative-config; empty without one.

    Before 0.26.0 the windowed layers of a block drafter ran, and were kept, as full attention
    (vLLM's pull requests 40898 and 46104).
    """
    decoded, notes = _decoded(config)
    if decoded is None:
        return Speculation(
            Draft(tokens=_whole(config.number("num_speculative_tokens")) or 0), notes=notes
        )
    name = named_drafter(config)
    method = _method(decoded, name, drafter)
    tokens = _whole(decoded.get("num_speculative_tokens"))
    if tokens is None and method == "dflash":
        tokens = DFLASH_USUAL_DRAFTS
        notes = (
            *notes,
            (
                f"num_speculative_tokens is not given, and DFlash needs it: {tokens} are "
                "assumed, as most launch lines say"
            ),
        )
    draft = draft_of(
        model, method, tokens, drafter, windows=version is None or version.at_least("0.26.0")
    )
    keeps = method not in WITHOUT_ASYNC and decoded.get("disable_padded_drafter_batch") is not True
    return Speculation(draft, keeps, (*notes, *draft.notes), method)


@dataclass(frozen=True, slots=True)
class Drafter:
    """A drafter as the scheduler sees it. `looks_ahead`: KV slots are reserved for its drafts;
    `batch_slots`: tokens of a step that it needs beside each request's own; `drops_block`: the last
    block of a cached prefix is computed again.
    """

    tokens: int
    looks_ahead: bool
    batch_slots: int
    drops_block: bool


def drafter_of(config: EngineConfig) -> Drafter | None:
    """The drafter of --speculative-config; None without one.

    Source: vLLM 0.32.0, SpeculativeConfig.max_num_new_slots_for_drafting, use_eagle_block_drop;
    VllmConfig.num_lookahead_tokens.
    Errors: InputError for what is not simulated: drafts of a block at once, and an unknown number
    of them.
    """
    decoded, _ = _decoded(config)
    if decoded is None:
        return None
    where = "--speculative-config"
    method, tokens = (
        _method(decoded, named_drafter(config), None),
        _whole(decoded.get("num_speculative_tokens")),
    )
    if method in ("dflash", "dspark") or decoded.get("parallel_drafting"):
        raise InputError("drafters of several tokens at once are not simulated", where)
    if tokens is None:
        raise InputError("num_speculative_tokens is not given, and the simulation needs it", where)
    eagle = method in _EAGLE or method.endswith("_mtp")
    is_model = method == "draft_model"
    return Drafter(
        tokens,
        eagle or is_model,
        1 if is_model else 0,
        eagle and decoded.get("disable_eagle_block_drop") is not True,
    )


def published_of(model_name: str, config: EngineConfig) -> Architecture | None:
    """The published drafter that the configured method uses with this model, None if none is on
    record or none is configured.
    """
    decoded, _ = _decoded(config)
    method = _method(decoded, named_drafter(config), None) if decoded is not None else ""
    found = published_drafter(model_name, method)
    return read_architecture(found.config, found.name) if found is not None else None


def named_drafter(config: EngineConfig) -> str:
    """The model that --speculative-config names as the drafter; empty if it names none."""
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
    return (
        (decoded, ())
        if isinstance(decoded, dict)
        else (None, ("--speculative-config is no JSON object: ignored",))
    )


def _method(decoded: Mapping[str, object], name: str, drafter: Architecture | None) -> str:
    """Return the method as given, or as vLLM derives it from the drafter's name; default: a draft
    model.
    """
    if isinstance(given := decoded.get("method"), str) and given:
        return given.lower()
    if decoded.get("model") in ("ngram", "[ngram]"):
        return "ngram"
    words = f"{name} {drafter.name if drafter is not None else ''}".lower()
    return next((method for method in _BY_NAME if method in words), "draft_model")


def _whole(value: object) -> int | None:
    good = isinstance(value, int | float) and not isinstance(value, bool) and 0 < value < 1000
    return int(value) if good and isinstance(value, int | float) else None
