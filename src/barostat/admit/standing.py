"""How the gate stands: what metrics and a status page show of a ledger."""

from __future__ import annotations

from typing import NamedTuple

from barostat.admit.ledger import Ledger


class ReplicaStanding(NamedTuple):
    """One replica: tokens held now as the ledger takes it, the bound on what will be held, and the
    pool.
    """

    name: str
    open: bool
    running: int
    held_tokens: float
    bound_tokens: float
    pool_tokens: int
    shared_ratio: float
    foreign_tokens: float


class TenantStanding(NamedTuple):
    """One tenant: what runs and waits, in requests and tokens of charge."""

    name: str
    running: int
    running_tokens: float
    waiting: int
    waiting_tokens: float


class Standing(NamedTuple):
    """The whole gate. `margin`: standard deviations kept, of the model that keeps most.
    `forecast_error_ratio`: of expected lengths, mean and absolute. `residence_s`: on all
    engines.
    """

    replicas: tuple[ReplicaStanding, ...]
    tenants: tuple[TenantStanding, ...]
    queued: int
    margin: float
    preempted: int
    forecast_error_ratio: float
    residence_s: float | None


def standing(ledger: Ledger, at: float) -> Standing:
    """Return the state of the gate at time `at`. Updates replicas whose forecast is due."""
    replicas = []
    for replica in ledger.replicas.values():
        replica.look(at)
        bound = replica.peak(replica.learned.margin.z) + replica.foreign_tokens
        replicas.append(
            ReplicaStanding(
                replica.name, replica.open, len(replica.live), replica.held_tokens, bound, replica.pool.kv_tokens,
                replica.shared_ratio, replica.foreign_tokens,
            )
        )  # fmt: skip
    tenants = tuple(
        TenantStanding(one.name, one.running, one.running_tokens, one.waiting, one.queued_tokens)
        for one in ledger.tenants.values()
    )
    margins = {one.learned.margin for one in ledger.replicas.values()} or {ledger.learned.margin}
    highest, preempted = (
        max(margin.z for margin in margins),
        sum(margin.preempted for margin in margins),
    )
    return Standing(
        tuple(replicas),
        tenants,
        ledger.queued,
        highest,
        preempted,
        ledger.forecast_error,
        ledger.lines[0].residence_s,
    )
