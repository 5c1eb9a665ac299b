"""Two limits documents -> what changed, in the words of a review."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any

from barostat.core.limits import ServingLimits, TenantLimits
from barostat.core.naming import camel

# By path: what the number is, as the subject of a sentence, and whether a larger number allows
# more.
_WORDS: dict[str, tuple[str, bool]] = {
    "request.max_input_tokens": ("a request's input may now be", True),
    "request.max_output_tokens": ("a request may now write", True),
    "request.max_stream_seconds": ("a stream may now last", True),
    "engine.max_model_len": ("a request may now hold", True),
    "engine.max_num_seqs": ("requests that run at once are now", True),
    "engine.max_num_active_seqs": ("requests that run at once are now", True),
    "engine.max_num_batched_tokens": ("tokens per step are now", True),
    "engine.watermark": ("the share of blocks kept free at admission is now", False),
    "engine.gpu_memory_utilization": ("the engine's share of GPU memory is now", True),
    "engine.kv_cache_memory_bytes": ("the KV pool is now", True),
    "engine.max_queued_requests": ("the queue is now", True),
    "engine.max_queued_tokens": ("queued tokens are now", True),
    "capacity.kv_cache_tokens": ("the pool that this rests on is now", True),
    "capacity.headroom_ratio": ("the headroom is now", False),
    "edge.kv_token_budget": ("what the gateway admits at once is now", True),
    "edge.queue_deadline_seconds": ("a request may now wait", True),
}

_COUNTED = ("engine.max_num_seqs", "engine.max_num_active_seqs", "engine.max_queued_requests")


@dataclass(frozen=True, slots=True)
class Difference:
    """One field that differs. `looser`: True if more is allowed than before, None if that
    cannot be said.
    """

    path: str
    before: Any
    after: Any
    says: str
    looser: bool | None


def differences(old: ServingLimits, new: ServingLimits) -> list[Difference]:
    """Every field that differs, in the document's order."""
    return list(_walk(old.spec, new.spec, ""))


def _walk(old: Any, new: Any, path: str) -> list[Difference]:
    found: list[Difference] = []
    for field in dataclasses.fields(old if old is not None else new):
        before, after = getattr(old, field.name, None), getattr(new, field.name, None)
        where = f"{path}.{field.name}".strip(".")
        if before == after:
            continue
        if field.name == "tenants":
            found += _tenants(before or (), after or ())
        elif dataclasses.is_dataclass(before) and dataclasses.is_dataclass(after):
            found += _walk(before, after, where)
        else:
            found.append(_difference(where, _plain(before), _plain(after)))
    return found


def _plain(value: Any) -> Any:
    """Return the set fields of a part of the document, as data."""
    if isinstance(value, tuple):
        return [_plain(one) for one in value] or None
    if not dataclasses.is_dataclass(value) or isinstance(value, type):
        return value
    return {
        camel(name): part for name, part in dataclasses.asdict(value).items() if part is not None
    }


def _tenants(before: tuple[TenantLimits, ...], after: tuple[TenantLimits, ...]) -> list[Difference]:
    """Return added, removed and changed tenants, in file order."""
    old, new = ({tenant.name: tenant for tenant in tenants} for tenants in (before, after))
    found = []
    for name in {**old, **new}:
        if name in old and name in new:
            found += _walk(old[name], new[name], f"tenants.{name}")
        else:
            says = (
                "a tenant where there was none" if name in new else "no limits of its own any more"
            )
            found.append(
                Difference(
                    f"tenants.{name}", _plain(old.get(name)), _plain(new.get(name)), says, None
                )
            )
    return found


def _difference(path: str, before: Any, after: Any) -> Difference:
    subject, larger_allows_more = _WORDS.get(path, ("it is now", True))
    shown = (
        path if path.startswith("tenants.") else ".".join(camel(part) for part in path.split("."))
    )
    if before is None:
        return Difference(
            shown,
            None,
            after,
            f"a limit where there was none: {after}",
            False if path in _WORDS else None,
        )
    if after is None:
        return Difference(
            shown, before, None, "no limit any more", True if path in _WORDS else None
        )
    numbers = all(
        isinstance(value, int | float) and not isinstance(value, bool) for value in (before, after)
    )
    if not numbers or not before:
        return Difference(shown, before, after, f"{before} before, {after} now", None)
    ratio = after / before
    what = (
        "the KV"
        if path == "engine.max_model_len"
        else "as many"
        if path in _COUNTED
        else "as long"
        if path.endswith("_seconds")
        else "as much"
    )
    return Difference(
        shown, before, after, f"{subject} {_times(ratio, what)}", (ratio > 1) == larger_allows_more
    )


def _times(ratio: float, what: str) -> str:
    """A ratio as a person says it: twice as much, half the KV, 20% more."""
    for exact, word in (
        (2, "twice"),
        (3, "three times"),
        (4, "four times"),
        (0.5, "half"),
        (0.25, "a quarter of" if what == "the KV" else "a quarter"),
    ):
        if abs(ratio - exact) < 0.01 * exact:
            return f"{word} {what}"
    if ratio >= 1.95 or ratio < 0.5:
        return f"{ratio:.2g} times {what}"
    more, less = {"as many": ("more", "fewer"), "as long": ("longer", "shorter")}.get(
        what, ("more", "less")
    )
    return f"{abs(ratio - 1):.0%} {more if ratio > 1 else less}"
