"""What is decided of a request: admitted to a replica, to wait until a deadline, to be counted
exactly first, or refused, and why.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

Reason = Literal[
    "input-too-long",
    "input-not-counted",
    "count-queue-full",
    "output-too-long",
    "no-output-limit",
    "too-many-sequences",
    "never-fits",
    "tenant-unknown",
    "tenant-concurrency",
    "tenant-tokens-per-minute",
    "over-capacity",
    "tenant-over-share",
    "queue-full",
    "priority-class-unknown",
    "priority-class-not-allowed",
    "priority-class-full",
    "priority-shed",
    "deadline-passed",
    "no-replica",
]
"""Why a request is refused; the names are identity (labels of a metric, `code` of the error
body).
"""


class Admitted(NamedTuple):
    """To be forwarded to `replica` now. `reservation` is returned exactly once, by `returned`.

    `output_cap`: tokens of one sequence that are in force. `capped`: true where the gateway has to
    write it into the body, because the request states none or more. `waited_s`: in the queue.
    """

    reservation: int
    replica: str
    output_cap: int | None
    capped: bool
    waited_s: float = 0.0


class Queued(NamedTuple):
    """Waits, at most until `deadline_at`; `due` reports it under the same `reservation`. One that
    leaves is `returned` like any other.
    """

    reservation: int
    deadline_at: float


class CountFirst(NamedTuple):
    """Near a limit: ask again with the input counted exactly (`counted_as="exact"`), or with the
    best that can be had, called exact.
    """

    above_tokens: int


class Refused(NamedTuple):
    """Not forwarded. `retry_after_s`: None if the same request will never pass. `reservation`: the
    queued request's, else 0.
    """

    status: Literal[400, 403, 413, 429, 503]
    reason: Reason
    message: str
    retry_after_s: float | None = None
    reservation: int = 0

    @property
    def sentence(self) -> str:
        """The message, for a person."""
        return f"{self.message[:1].upper()}{self.message[1:]}."


Decision = Admitted | Queued | CountFirst | Refused
