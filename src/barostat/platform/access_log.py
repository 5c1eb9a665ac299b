"""What a gateway's access log says about its requests: rates, answers, durations. Never who asked for what."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from barostat.core.signal import Signal


@dataclass(frozen=True, slots=True)
class AccessLogDigest:
    """An access log in a nutshell."""

    source: str
    lines: int = 0
    requests: int = 0
    problems: tuple[str, ...] = ()

    def signals(self, at: float) -> dict[str, Signal]:
        """The gateway_* signals as seen at `at` (unix seconds)."""
        return {}


def digest(lines: Iterable[str], *, source: str) -> AccessLogDigest:
    """The digest of an access log. `source` names it for a person."""
    return AccessLogDigest(source, lines=sum(1 for _ in lines))
