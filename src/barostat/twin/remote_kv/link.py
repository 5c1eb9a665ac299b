"""The link over which KV goes from the prefill engine to the decode engine."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from barostat.core.errors import InputError
from barostat.core.units import ceil_div

_NS = 1e9


@dataclass(frozen=True, slots=True)
class Link:
    """`token_bytes`: KV bytes of one token over all cards of an engine. `latency_s`: from the end
    of a transfer on the wire until both engines can know of it.

    Errors: InputError for a bandwidth or size that is not positive, and a negative latency.
    """

    bytes_per_s: float
    token_bytes: float
    latency_s: float = 0.0

    def __post_init__(self) -> None:
        for name, value in (("bandwidth", self.bytes_per_s), ("token-bytes", self.token_bytes)):
            if not 0 < value < math.inf:
                raise InputError(f"must be above 0, not {value:g}", name)
        if not 0 <= self.latency_s < math.inf:
            raise InputError(f"must be 0 or more seconds, not {self.latency_s:g}", "latency")


@dataclass(slots=True)
class Wire:
    """The transfers over a link: one after the other, each at the whole bandwidth, in whole blocks.
    Mutable.

    `took_ns`: of each transfer from its request to its end. `busy_ns`: time in which KV moved.
    """

    link: Link
    block_tokens: int
    took_ns: list[int] = field(default_factory=list)
    sent_bytes: float = 0.0
    busy_ns: int = 0
    _free_ns: int = 0

    def send(self, tokens: int, now_ns: int) -> int:
        """Return when the KV of that many tokens, asked for now, is there."""
        size = ceil_div(tokens, self.block_tokens) * self.block_tokens * self.link.token_bytes
        moving_ns = max(1, round(size / self.link.bytes_per_s * _NS))
        self._free_ns = max(self._free_ns, now_ns) + moving_ns
        self.sent_bytes += size
        self.busy_ns += moving_ns
        there_ns = self._free_ns + round(self.link.latency_s * _NS)
        self.took_ns.append(there_ns - now_ns)
        return there_ns
