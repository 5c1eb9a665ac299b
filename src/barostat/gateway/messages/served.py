"""What an engine says that it serves: the names by which requests call it and its adapters, and the
context that it takes.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

import orjson


class Served(NamedTuple):
    """`names`: valid values of a request's `model`, empty if the engine does not list them.
    `known_as`: those, and the paths they were loaded from.
    """

    names: frozenset[str] = frozenset()
    known_as: frozenset[str] = frozenset()
    longest_tokens: int | None = None

    def fits(self, model: str) -> bool:
        """True if a served name may mean that model: a folder or an alias often equals the end of
        the full name.
        """
        return not self.known_as or _end(model) in map(_end, self.known_as)


def _end(name: str) -> str:
    return name.rstrip("/").rpartition("/")[2].lower()


def served_in(page: bytes) -> Served | None:
    """Parse a /v1/models response; None if it is not one. `longest_tokens`: from the first card
    that states it.
    """
    try:
        cards = [card for card in orjson.loads(page)["data"] if isinstance(card, dict)]
    except (orjson.JSONDecodeError, KeyError, TypeError):
        return None
    names = frozenset(name for card in cards if isinstance(name := card.get("id"), str))
    roots = frozenset(name for card in cards if isinstance(name := card.get("root"), str))
    lengths = (card.get("max_model_len") for card in cards)
    return Served(
        names,
        names | roots,
        next((length for length in lengths if type(length) is int and length > 0), None),
    )


def alike(served: Iterable[tuple[str, Served]]) -> dict[str, str]:
    """By replica, one name for all that serve the same: they share a model or an adapter, if only
    by way of another of them. "" where it does not say and several models are served.
    """
    groups: dict[
        str, tuple[frozenset[str], list[str]]
    ] = {}  # the least of its names: its names, its replicas
    silent = []
    for name, one in served:
        names, replicas = one.names, [name]
        if not names:
            silent.append(name)
            continue
        for key, (others, theirs) in list(groups.items()):
            if not names.isdisjoint(others):
                names, replicas = names | others, theirs + replicas
                del groups[key]
        groups[min(names)] = names, replicas
    only = next(iter(groups)) if len(groups) == 1 else ""
    return {
        **dict.fromkeys(silent, only),
        **{name: key for key, (_, replicas) in groups.items() for name in replicas},
    }


def elsewhere(served: Iterable[tuple[str, Served]]) -> Mapping[str, tuple[str, ...]]:
    """Return, by model, the replicas known not to serve it; models that all or none serve are
    omitted.
    """
    said = {name: one.names for name, one in served if one.names}
    found: dict[str, tuple[str, ...]] = {}
    for model in frozenset[str]().union(*said.values()):
        without = tuple(name for name, names in said.items() if model not in names)
        if without:
            found[model] = without
    return found
