"""Gauges that are computed at each scrape: running and queued requests, and the ledger per engine."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from itertools import islice
from typing import TYPE_CHECKING

from barostat.gateway.metrics import MOST_TENANTS

if TYPE_CHECKING:
    from barostat.gateway.state import Gateway

Labelled = dict[str, dict[str, dict[str, float]]]


def gauges(gateway: Gateway) -> tuple[Mapping[str, float], Labelled]:
    """Values by name, and by name, label and its value."""
    desk, ledger = gateway.desk, gateway.desk.ledger
    plain = {
        "connections": len(gateway.clients),
        "active_requests": sum(client.is_answering for client in tuple(gateway.clients)),
        "buffered_body_bytes": gateway.buffered_bytes,
        "queued_requests": len(desk.waiting),
        "reservations": len(ledger.reservations),
        "draining": float(gateway.draining),
        "shadow": float(desk.shadow),
        "loop_late_seconds": gateway.rounds.late_s,
        "input_bound_exceeded": desk.bound_exceeded,
        "length_forecast_error_ratio": ledger.forecast_error,
        "access_log_dropped": 0 if gateway.log is None else gateway.log.dropped,
    }
    if gateway.shared is not None:
        plain["shared_budget_up"] = float(gateway.shared.reachable)
    per_byte: dict[str, float] = {}
    for learned in ledger.every_learned():
        for route, ratio in learned.inputs.per_byte.items():
            per_byte[route] = max(ratio, per_byte.get(route, 0.0))
    labelled: Labelled = {
        "replica_up": {
            "replica": {
                name: float(replica.standing == "up") for name, replica in desk.replicas.items()
            }
        },
        "replica_active_requests": {
            "replica": {name: replica.active for name, replica in desk.replicas.items()}
        },
        "replica_pool_tokens": {
            "replica": {name: one.pool.kv_tokens for name, one in ledger.replicas.items()}
        },
        "replica_held_tokens": {
            "replica": {name: one.held_tokens for name, one in ledger.replicas.items()}
        },
        "replica_forecast_peak_tokens": {
            "replica": {
                name: one.peak(one.learned.margin.z) for name, one in ledger.replicas.items()
            }
        },
        "replica_foreign_tokens": {
            "replica": {name: one.foreign_tokens for name, one in ledger.replicas.items()}
        },
        "replica_shared_ratio": {
            "replica": {name: one.shared_ratio for name, one in ledger.replicas.items()}
        },
        "replica_pace_limit_sequences": {
            "replica": {
                name: one.pace.most
                for name, one in ledger.replicas.items()
                if one.pace.most is not None
            }
        },
        "tokens_per_body_byte": {"route": per_byte},
    }
    tenants = {
        name: tenant for name, tenant in ledger.tenants.items() if name in desk.rules.tenants
    }
    tenants = dict(islice(tenants.items(), MOST_TENANTS))
    if tenants:
        labelled["tenant_running_requests"] = {
            "tenant": {name: tenant.running for name, tenant in tenants.items()}
        }
        labelled["tenant_waiting_requests"] = {
            "tenant": {name: tenant.waiting for name, tenant in tenants.items()}
        }
    if desk.rules.classes:
        running, waiting = Counter[str](), Counter[str]()
        for one in ledger.reservations.values():
            if one.priority_class is not None:
                (waiting if one.waits else running)[one.priority_class.name] += 1
        labelled["class_running_requests"] = {
            "priority_class": {name: running[name] for name in desk.rules.classes}
        }
        labelled["class_waiting_requests"] = {
            "priority_class": {name: waiting[name] for name in desk.rules.classes}
        }
    return plain, labelled
