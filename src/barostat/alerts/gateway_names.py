"""The gateway's metrics that alerts read, and the reasons of its refusals that are a want of room.
A test holds both to the gateway.
"""

from __future__ import annotations

from dataclasses import replace

from barostat.alerts.terms import Terms

REQUESTS = "barostat_gateway_requests_total"
REFUSALS = "barostat_gateway_refusals_total"
ACTIVE = "barostat_gateway_replica_active_requests"
FIRST_BYTES = "barostat_gateway_first_byte_seconds_count"
UP = "barostat_gateway_replica_up"
WANT_OF_ROOM = ("over-capacity", "queue-full", "deadline-passed", "no-replica")


def gateway_terms(terms: Terms) -> Terms:
    """Return the terms for the gateway's series. The gateway shares at most the namespace with the
    engines.
    """
    return replace(
        terms, labels={name: value for name, value in terms.labels.items() if name == "namespace"}
    )
