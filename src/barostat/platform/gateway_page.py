"""Reads the metrics of Barostat's own gateway over time: counts only, no callers and content.

Errors are those of the engines; the gateway's own 429 and 503 are counted separately.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

from barostat.catalog.signals import signal
from barostat.core.signal import Signal

PREFIX = "barostat_gateway_"
NOT_LISTED = "path-not-listed"
"""Code of the gateway's answer for a path that it does not pass on."""
LONGEST = 1 << 20
_SAMPLE = re.compile(
    rf"^{PREFIX}([a-z0-9_]+)(?:\{{([^}}\n]*)\}})? ([-+0-9.eE]+|\+?Inf|NaN)$", re.MULTILINE
)
_LABEL = re.compile(r'(?<![a-z_])([a-z_]++)="([^"]*)"')
_FAILED = ("500", "502", "504")
_GAVE_UP = ("408", "499", "504")
Labels = tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class GatewayPage:
    """One page of one gateway. `at`: unix seconds."""

    at: float
    text: str
    gateway: str

    @cached_property
    def samples(self) -> Mapping[tuple[str, Labels], float]:
        """Value by name (without the prefix) and labels."""
        found = _SAMPLE.findall(self.text[:LONGEST])
        return {
            (name, tuple(sorted(_LABEL.findall(labels)))): float(value)
            for name, labels, value in found
        }

    @cached_property
    def _by_name(self) -> Mapping[str, Sequence[tuple[Labels, float]]]:
        found: dict[str, list[tuple[Labels, float]]] = {}
        for (name, labels), value in self.samples.items():
            found.setdefault(name, []).append((labels, value))
        return found

    @property
    def is_gateway(self) -> bool:
        """True for a page of our gateway."""
        return ("connections", ()) in self.samples

    @property
    def engines(self) -> tuple[str, ...]:
        """The engines behind it, by the names that it gives them: host and port."""
        return tuple(
            dict(labels).get("replica", "") for labels, _ in self._by_name.get("replica_up", ())
        )

    def total(self, name: str, label: str = "", values: Sequence[str] = ()) -> float:
        """The sum over all labels, or over those samples whose label has one of the values."""
        return sum(
            value
            for labels, value in self._by_name.get(name, ())
            if not label or dict(labels).get(label) in values
        )

    @property
    def arrived(self) -> float:
        """Requests that came in and were understood, refused ones included."""
        return self.total("output_limit_tokens_count") + self.total("no_output_limit_total")


def gateway_at(base: str, status: int, text: str, said: object) -> str:
    """A sentence if the answer to GET /metrics at this URL is a gateway's of ours: what it is, and
    what to look at instead. `said`: the body as JSON, if it is any.
    """
    page = GatewayPage(0.0, text, base)
    if status == 200 and page.is_gateway:
        engines = ", ".join(f"http://{one}" for one in page.engines)
        behind = (
            f"diagnose the engines behind it: {engines}" if engines else "no engine is behind it"
        )
        return f"{base} is the admin port of a Barostat gateway, not an engine; {behind}"
    error = said.get("error") if isinstance(said, dict) else None
    if status == 404 and isinstance(error, dict) and error.get("code") == NOT_LISTED:
        return (
            f"{base} is a Barostat gateway, not an engine; diagnose the engines behind it (their "
            "addresses: `barostat diagnose` on its admin port, by default 8081 on its own host)"
        )
    return ""


def gateway_signals(pages: Iterable[GatewayPage]) -> dict[str, Signal]:
    """Return the gateway_* signals of all gateways together, one point per scrape; shares are over
    the whole time.

    A restarted gateway counts from 0. Other metrics pages are ignored.
    """
    by_gateway: dict[str, list[GatewayPage]] = {}
    for page in sorted(pages, key=lambda one: one.at):
        if page.is_gateway:
            by_gateway.setdefault(page.gateway, []).append(page)
    if not by_gateway:
        return {}
    source = f"metrics of the gateway {', '.join(sorted(by_gateway))}"
    held = _together(
        [[(page.at, _held(page)) for page in found] for found in by_gateway.values()], max
    )
    queued = _together(
        [
            [(page.at, page.total("queued_requests")) for page in found]
            for found in by_gateway.values()
        ],
        sum,
    )
    there = _together(
        [
            [(page.at, page.total("active_requests")) for page in found]
            for found in by_gateway.values()
        ],
        sum,
    )
    rates = [
        [(later.at, _grown(one, later) / (later.at - one.at)) for one, later in pairwise(found)]
        for found in by_gateway.values()
    ]
    ends = [(found[0], found[-1]) for found in by_gateway.values()]
    at = max(last.at for _, last in ends)
    arrived = sum(_grown(*pair) for pair in ends)
    answered = sum(_more(*pair, "requests_total") for pair in ends)
    refused = sum(_more(*pair, "refusals_total") for pair in ends)
    watched = sum(_more(*pair, "shadow_refusals_total") for pair in ends)
    made = [
        signal("gateway_held_ratio", held, source),
        signal("gateway_active_requests", there, source),
        signal("gateway_queued_requests", queued, source),
        signal("gateway_requests_per_s", _together(rates, sum), source),
        signal(
            "gateway_refusals_in_window", [(at, refused)], source, _reasons(ends, "refusals_total")
        ),
        signal(
            "gateway_shadow_refusals_in_window",
            [(at, watched)],
            source,
            _reasons(ends, "shadow_refusals_total"),
        ),
        signal(
            "gateway_no_output_limit_ratio",
            [(at, sum(_more(*pair, "no_output_limit_total") for pair in ends) / arrived)],
            source,
        )
        if arrived
        else None,
    ]
    if answered:
        made.append(
            signal(
                "gateway_5xx_ratio",
                [
                    (
                        at,
                        sum(_more(*pair, "requests_total", "code", _FAILED) for pair in ends)
                        / answered,
                    )
                ],
                source,
            )
        )
        gave_up = sum(_more(*pair, "requests_total", "code", _GAVE_UP) for pair in ends)
        made.append(signal("gateway_timeout_ratio", [(at, gave_up / answered)], source))
    for name, of, share in (
        ("gateway_prompt_tokens_p50", "prompt_tokens", 0.5), ("gateway_prompt_tokens_p95", "prompt_tokens", 0.95),
        ("gateway_output_limit_tokens_p95", "output_limit_tokens", 0.95), ("gateway_duration_p99_s", "request_seconds", 0.99),
    ):  # fmt: skip
        if (value := _quantile(ends, of, share)) is not None:
            made.append(signal(name, [(at, value)], source))
    return {found.name: found for found in made if found is not None}


def _held(page: GatewayPage) -> float:
    """Held tokens over the pool, of the replica that has the least room."""
    pools = {
        dict(labels).get("replica"): value
        for (name, labels), value in page.samples.items()
        if name == "replica_pool_tokens"
    }
    held = {
        dict(labels).get("replica"): value
        for (name, labels), value in page.samples.items()
        if name == "replica_held_tokens"
    }
    return max(
        (held.get(replica, 0.0) / pool for replica, pool in pools.items() if pool > 0), default=0.0
    )


def _grown(one: GatewayPage, later: GatewayPage) -> float:
    return later.arrived - one.arrived if later.arrived >= one.arrived else later.arrived


def _more(
    one: GatewayPage, later: GatewayPage, name: str, label: str = "", values: Sequence[str] = ()
) -> float:
    before, after = one.total(name, label, values), later.total(name, label, values)
    return after - before if after >= before else after


def _together(
    series: Sequence[Sequence[tuple[float, float]]], how: Callable[[Iterable[float]], float]
) -> list[tuple[float, float]]:
    """One series of several that were looked at in turn, aligned at their ends."""
    shortest = min(map(len, series))
    aligned = [found[len(found) - shortest :] for found in series]
    return [
        (max(at for at, _ in row), float(how(value for _, value in row)))
        for row in zip(*aligned, strict=True)
    ]


def _reasons(ends: Iterable[tuple[GatewayPage, GatewayPage]], name: str) -> str:
    """`no-room 12, deadline 3`: the most frequent first."""
    counts: dict[str, float] = {}
    for one, later in ends:
        for reason in {
            dict(labels).get("reason", "") for found, labels in later.samples if found == name
        }:
            counts[reason] = counts.get(reason, 0.0) + _more(one, later, name, "reason", (reason,))
    return ", ".join(
        f"{reason} {count:.0f}"
        for reason, count in sorted(counts.items(), key=lambda entry: -entry[1])
        if count
    )


def _quantile(
    ends: Iterable[tuple[GatewayPage, GatewayPage]], name: str, share: float
) -> float | None:
    """The upper bound of the bucket that holds the quantile, of what was counted in the time; None
    if nothing was.
    """
    below: dict[float, float] = {}
    for one, later in ends:
        for found, labels in later.samples:
            if found == f"{name}_bucket":
                bound = dict(labels)["le"]
                below[float(bound)] = below.get(float(bound), 0.0) + _more(
                    one, later, found, "le", (bound,)
                )
    whole = below.get(float("inf"), 0.0)
    finite = [bound for bound in sorted(below) if bound != float("inf")]
    if not whole or not finite:
        return None
    return next((bound for bound in finite if below[bound] >= share * whole), finite[-1])
