"""Log lines for the operator of the gateway: state changes of engines, and mismatches between
engines and limits.
"""

from __future__ import annotations

from collections.abc import Iterator

from barostat.gateway.desk import Desk
from barostat.gateway.replica import Replica, Standing
from barostat.gateway.say import say

_OTHER_POOL_RATIO = 0.1


def how_it_stands(replica: Replica, pool_tokens: int | None) -> str:
    """One engine in a line."""
    why = f" ({replica.why})" if replica.why else ""
    if replica.standing != "up":
        return (
            f"{replica.name}: {replica.standing}{why}: nothing is sent there until that has changed"
        )
    if pool_tokens is not None:
        return f"{replica.name}: up, a KV pool of {pool_tokens} tokens"
    return (
        f"{replica.name}: up, the size of its KV pool is not known{why}: what it holds cannot "
        "be accounted for"
    )


def misfits(desk: Desk) -> Iterator[str]:
    """Yield limits that do not fit these engines, and differences between the engines."""
    spec = desk.limits.spec
    for replica in desk.replicas.values():
        served, pool = replica.served, desk.pools.get(replica.name)
        if spec.model is not None and not served.fits(spec.model):
            yield (
                f"the limits are for {spec.model}; {replica.name} serves "
                f"{', '.join(sorted(served.names))}"
            )
        longest, limit = served.longest_tokens, spec.request.max_input_tokens
        if longest is not None and limit is not None and limit >= longest:
            yield (
                f"request.maxInputTokens is {limit}; {replica.name} takes {longest} tokens "
                "with their answer, and that holds"
            )
        derived = spec.capacity.kv_cache_tokens
        if (
            derived is not None
            and pool is not None
            and abs(pool.kv_tokens - derived) > _OTHER_POOL_RATIO * derived
        ):
            yield (
                f"the limits were made for a KV pool of {derived} tokens; {replica.name} has "
                f"{pool.kv_tokens}, and that counts"
            )
    said = {
        replica.name: replica.served.names
        for replica in desk.replicas.values()
        if replica.served.names
    }
    if said and not frozenset.intersection(*said.values()):
        each = "; ".join(f"{name}: {', '.join(sorted(names))}" for name, names in said.items())
        of_its_own = "a gateway for each model gives each limits of its own"
        yield (
            f"the engines serve different models ({each}): the limits are the same for all; "
            f"{of_its_own}"
        )


class EngineLog:
    """Says each change of an engine, and each misfit once."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk
        self._said: set[str] = set()

    def all(self) -> None:
        """Log the state of every engine; from then on, log changes."""
        desk = self._desk
        for replica in desk.replicas.values():
            pool = desk.pools.get(replica.name)
            say(how_it_stands(replica, pool.kv_tokens if pool is not None else None))
        self.misfits()
        desk.on_standing_change = self.changed

    def misfits(self) -> None:
        """Log misfits that were not logged before."""
        now = list(misfits(self._desk))
        for line in now:
            if line not in self._said:
                say(line)
        self._said = set(now)

    def changed(self, replica: Replica, before: Standing) -> None:
        """Log the new state of an engine. Joins and departures are logged where the pod is known."""
        if "leaving" in (before, replica.standing):
            return
        if before != "unknown":
            pool = self._desk.pools.get(replica.name)
            say(how_it_stands(replica, pool.kv_tokens if pool is not None else None))
        self.misfits()
