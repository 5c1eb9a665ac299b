"""Workloads shared among operators: each workload is in one shard, each shard has one Lease.

    shard 0   barostat-operator      and how many shards there are
    shard 1   barostat-operator-1
    ...

Processes take free shards one after the other, those that hold fewer first, and ask the process
that holds two more than they do for one of its shards.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections import Counter
from collections.abc import Sequence

from barostat.core.errors import InputError, OutsideError
from barostat.operator.lease import Lease
from barostat.operator.step import Key

BALANCE_S = 10.0


def shard_of(key: Key, shards: int) -> int:
    """The shard of a workload: the same in every process."""
    digest = hashlib.sha256("/".join(key).encode()).digest()
    return int.from_bytes(digest[:8], "big") % shards


def lease_name(base: str, shard: int) -> str:
    """The name of a shard's Lease."""
    return base if shard == 0 else f"{base}-{shard}"


async def balance(leases: Sequence[Lease]) -> None:
    """Ask for a shard of a process that holds at least two more, for ever."""
    while True:
        await asyncio.sleep(BALANCE_S)
        wanted = unfair(leases)
        if wanted is not None:
            try:
                await wanted.ask()
            except (InputError, OutsideError) as error:
                wanted.tell(f"{wanted.name} was not asked for: {error}")


def unfair(leases: Sequence[Lease]) -> Lease | None:
    """A lease of the process that holds the most, where that is at least two more than we hold."""
    own = leases[0].holder
    held = Counter(one.seen_holder for one in leases if one.seen_holder not in ("", own))
    if not held:
        return None
    richest, most = max(held.items(), key=lambda entry: (entry[1], entry[0]))
    mine = sum(one.leads or one.seen_holder == own for one in leases)
    if most - mine < 2:
        return None
    return next(one for one in leases if one.seen_holder == richest)
