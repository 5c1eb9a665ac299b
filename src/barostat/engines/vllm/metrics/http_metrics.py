"""The metrics of the HTTP server in front of an engine, as its instrumentation keeps them: nothing
is shown before the first request.

Source: prometheus_fastapi_instrumentator 8.1, metrics.default; vLLM 0.32.0 leaves out what is asked
of it for its own sake.
"""

from __future__ import annotations

from barostat.catalog.vllm_exposed import HTTP_BUCKETS, HTTP_FINE_BUCKETS, UNCOUNTED_PATHS
from barostat.engines.vllm.metrics.exposition_writer import (
    Counter,
    Histogram,
    Metric,
    Summary,
    labels_of,
)


class HttpMetrics:
    """Requests answered, by handler. Mutable."""

    def __init__(self, began_s: float) -> None:
        """No request has been answered."""
        self._requests = Counter("http_requests", "Requests by method, status and handler.")
        self._request_size = Summary("http_request_size_bytes", "Length of requests by handler.")
        self._response_size = Summary("http_response_size_bytes", "Length of answers by handler.")
        self._fine = Histogram(
            "http_request_duration_highr_seconds",
            "Seconds to answer, many buckets.",
            HTTP_FINE_BUCKETS,
        )
        self._fine.begin(began_s)
        self._duration = Histogram(
            "http_request_duration_seconds",
            "Seconds to answer by handler, few buckets.",
            HTTP_BUCKETS,
        )
        self.metrics: list[Metric] = [
            self._requests,
            self._request_size,
            self._response_size,
            self._fine,
            self._duration,
        ]

    def answered(
        self,
        handler: str,
        method: str,
        status: int,
        duration_s: float,
        request_bytes: int,
        response_bytes: int,
        at_s: float,
    ) -> None:
        """One request was answered. `handler` is "none" for a path that nothing serves; bytes are 0
        where no length was stated.
        """
        if handler in UNCOUNTED_PATHS:
            return
        counted = labels_of({"handler": handler, "method": method, "status": f"{status // 100}xx"})
        timed = labels_of({"handler": handler, "method": method})
        sized = labels_of({"handler": handler})
        self._requests.begin(at_s, counted)
        self._requests.add(1, counted)
        self._request_size.observe(request_bytes, at_s, sized)
        self._response_size.observe(response_bytes, at_s, sized)
        self._fine.observe(duration_s)
        self._duration.begin(at_s, timed)
        self._duration.observe(duration_s, timed)
