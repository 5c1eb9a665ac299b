"""What the gateway takes from a client, at most: sizes, counts and times. None of them depends on
the limits file.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Bounds:
    """Sizes in bytes, times in seconds. A time-out may come a second later than it says (`rounds`).

    `head_s` and `body_s`: from the first byte to the last of a head, of a body. `idle_s`: between
    requests. `stalled_s`: a client that takes nothing of its answer. `connect_s`: to an engine.
    `silent_s`: an engine that says nothing at all, before or within an answer. `buffered_bytes`:
    request bodies of all clients together. `drain_s`: after SIGTERM. `upstream_idle_s`: below the
    five seconds after which vLLM's server closes a connection that is not used.
    """

    head_bytes: int = 32 << 10
    headers: int = 100
    body_bytes: int = 32 << 20
    buffered_bytes: int = 512 << 20
    pipelined: int = 16
    connections: int = 20_000
    head_s: float = 10.0
    body_s: float = 120.0
    idle_s: float = 75.0
    stalled_s: float = 60.0
    connect_s: float = 3.0
    silent_s: float = 900.0
    drain_s: float = 30.0
    upstream_idle_s: float = 4.0
    idle_per_replica: int = 1024
