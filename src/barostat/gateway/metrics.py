"""The gateway's own metrics: counts and histograms with labels of few values, and the text that
Prometheus reads.

Labels are routes, reasons, statuses, replicas, priority classes and tenants, by the names in the
operator's files: none is made from what a client sends.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Mapping

from barostat.gateway.messages.shape import Shape
from barostat.gateway.metric_meanings import MEANINGS

PREFIX = "barostat_gateway_"
MOST_TENANTS = 100
"""Tenants with series of their own: the others share one, so that a file of keys of any length
keeps the page short.
"""
_TOKENS = (16, 64, 128, 256, 512, 1024, 2048, 4096, 8192, 16384, 32768, 65536, 131072)
_SECONDS = (
    0.001,
    0.0025,
    0.005,
    0.01,
    0.025,
    0.05,
    0.1,
    0.25,
    0.5,
    1,
    2.5,
    5,
    10,
    30,
    60,
    120,
    300,
    600,
)
_RATIOS = (0.02, 0.05, 0.1, 0.2, 0.3, 0.5, 1, 2, 5)


class Histogram:
    """Counts by upper bound. `observe` takes one more value, and is cheap: it is counted at the
    next `fold`.
    """

    __slots__ = ("_fresh", "bounds", "counts", "observe", "total")

    def __init__(self, bounds: tuple[float, ...]) -> None:
        self.bounds = bounds
        self.counts = [0] * (len(bounds) + 1)
        self.total = 0.0
        self._fresh: list[float] = []
        self.observe: Callable[[float], None] = self._fresh.append

    def fold(self) -> None:
        """Count the buffered observations."""
        fresh = self._fresh
        if fresh:
            self.total += sum(fresh)
            for value in fresh:
                self.counts[bisect_left(self.bounds, value)] += 1
            fresh.clear()

    def lines(self, name: str) -> Iterable[str]:
        """Yield its samples in Prometheus text format."""
        self.fold()
        below = 0
        for bound, count in zip(
            (*(f"{bound:g}" for bound in self.bounds), "+Inf"), self.counts, strict=True
        ):
            below += count
            yield f'{name}_bucket{{le="{bound}"}} {below}'
        yield f"{name}_sum {self.total:.9g}"
        yield f"{name}_count {below}"


class Metrics:
    """The gateway's counters since its start."""

    def __init__(self) -> None:
        self.counters: dict[tuple[str, tuple[tuple[str, str], ...]], float] = {}
        self._tenants: set[str] = set()
        self._requests: dict[tuple[str, int], int] = {}
        self._histograms: dict[str, Histogram] = {}
        self.prompt_tokens = self._histogram("prompt_tokens", _TOKENS)
        self.output_limit_tokens = self._histogram("output_limit_tokens", _TOKENS)
        self.output_tokens = self._histogram("output_tokens", _TOKENS)
        self.queue_seconds = self._histogram("queue_seconds", _SECONDS)
        self.first_byte_seconds = self._histogram("first_byte_seconds", _SECONDS)
        self.request_seconds = self._histogram("request_seconds", _SECONDS)
        self.estimate_error_ratio = self._histogram("estimate_error_ratio", _RATIOS)

    def _histogram(self, name: str, bounds: tuple[float, ...]) -> Histogram:
        found = self._histograms[name] = Histogram(bounds)
        return found

    def fold(self, _: float = 0.0) -> None:
        """Count the buffered observations, on each tick, so that they do not pile up."""
        for histogram in self._histograms.values():
            histogram.fold()

    def count(self, name: str, by: int = 1, /, **labels: str) -> None:
        """Increment a counter."""
        key = (name, tuple(labels.items()))
        self.counters[key] = self.counters.get(key, 0) + by

    def answered(self, route: str, status: int) -> None:
        """A request has ended with this status (499: the client left before there was one)."""
        key = (route, status)
        self._requests[key] = self._requests.get(key, 0) + 1

    def asked(self, shape: Shape) -> None:
        """A request that was understood has come in."""
        if shape.output_limit is None:
            self.count("no_output_limit_total")
        else:
            self.output_limit_tokens.observe(shape.output_limit)

    def refused(self, reason: str, route: str, tenant: str = "", priority_class: str = "") -> None:
        """The gateway itself has answered no."""
        self.count("refusals_total", reason=reason, route=route)
        if tenant:
            self.count("tenant_refusals_total", tenant=self._tenant(tenant), reason=reason)
        if priority_class:
            self.count("class_refusals_total", priority_class=priority_class, reason=reason)

    def used(self, tenant: str, input_tokens: int, output_tokens: int) -> None:
        """A tenant's request has ended: its tokens, as `usage` says, else as its stream shows."""
        label = self._tenant(tenant)
        self.count("tenant_requests_total", tenant=label)
        self.count("tenant_prompt_tokens_total", input_tokens, tenant=label)
        self.count("tenant_output_tokens_total", output_tokens, tenant=label)

    def _tenant(self, name: str) -> str:
        """The label of a tenant: its name for the first hundred, then `other`."""
        if name not in self._tenants:
            if len(self._tenants) >= MOST_TENANTS:
                return "other"
            self._tenants.add(name)
        return name

    def would_refuse(self, reason: str) -> None:
        """In shadow: it would have answered no."""
        self.count("shadow_refusals_total", reason=reason)

    def retried(self) -> None:
        """A request was sent again, nothing of it having been answered."""
        self.count("retries_total")

    def engine_failed(self, kind: str) -> None:
        """Count an engine that broke off, sent an invalid response, or was silent."""
        self.count("engine_failures_total", kind=kind)

    def client_gone(self) -> None:
        """A client left before its answer was complete."""
        self.count("clients_gone_total")

    def timed_out(self, what: str) -> None:
        """A client was too slow."""
        self.count("client_time_outs_total", what=what)

    def stream_ended(self) -> None:
        """A stream was given its final event by the gateway."""
        self.count("streams_ended_total")

    def page(
        self, gauges: Mapping[str, float], labelled: Mapping[str, Mapping[str, Mapping[str, float]]]
    ) -> bytes:
        """The text for Prometheus. `gauges`: value by name; `labelled`: name -> label -> value of
        the label -> value.
        """
        lines = _headed("requests_total", "counter")
        for (route, status), seen in sorted(self._requests.items()):
            lines.append(f'{PREFIX}requests_total{{route="{route}",code="{status}"}} {seen}')
        named = ""
        for (name, labels), value in sorted(self.counters.items()):
            if name != named:
                lines += _headed(name, "counter")
                named = name
            inside = ",".join(f'{label}="{said}"' for label, said in labels)
            lines.append(f"{PREFIX}{name}{f'{{{inside}}}' if inside else ''} {value:g}")
        for name, histogram in self._histograms.items():
            lines += [*_headed(name, "histogram"), *histogram.lines(PREFIX + name)]
        for name, value in gauges.items():
            lines += [*_headed(name, "gauge"), f"{PREFIX}{name} {value:.9g}"]
        for name, by_label in labelled.items():
            lines += _headed(name, "gauge")
            for label, values in by_label.items():
                lines += [
                    f'{PREFIX}{name}{{{label}="{said}"}} {value:.9g}'
                    for said, value in values.items()
                ]
        return ("\n".join(lines) + "\n").encode()


def _headed(name: str, kind: str) -> list[str]:
    meaning = MEANINGS.get(name)
    told = [] if meaning is None else [f"# HELP {PREFIX}{name} {meaning}"]
    return [*told, f"# TYPE {PREFIX}{name} {kind}"]
