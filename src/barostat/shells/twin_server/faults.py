"""Faults on demand: what happens to the twin at a given moment, so that what is built around an engine can be seen at work.

    oom@30s             the card is out of memory in a step: the core logs it and dies
    kill@30s            the core is killed (SIGKILL), as by the kernel
    hang@20s            a step never returns: /health answers 200, no token comes
    hang@20s+15s        and goes on 15 s later
    slow-steps=3        every step takes three times as long; slow-steps=3@20s from then on
    slow-network=200ms  everything that is sent arrives that much later
    throttle-cpu=0.2    both processes together get that share of one CPU, in periods of 100 ms

Times count from when the server listens.
"""

from __future__ import annotations

import re
import time
from dataclasses import dataclass
from typing import Literal

from barostat.core.errors import InputError

Name = Literal["oom", "kill", "hang", "slow-steps", "slow-network", "throttle-cpu"]
_MOMENTS, _AMOUNTS = ("oom", "kill", "hang"), ("slow-steps", "slow-network", "throttle-cpu")
_DURATION = re.compile(r"(\d+(?:\.\d+)?)(ms|s|m)?")
_UNIT_S = {"ms": 0.001, "s": 1.0, "m": 60.0, None: 1.0}
_PERIOD_S = 0.1


@dataclass(frozen=True, slots=True)
class Fault:
    """What goes wrong, and when. `amount`: a factor, seconds, or a share of a CPU; `for_s` None: for ever."""

    name: Name
    at_s: float = 0.0
    for_s: float | None = None
    amount: float = 0.0

    def active(self, since_s: float) -> bool:
        """True that long after the server began to listen."""
        return since_s >= self.at_s and (self.for_s is None or since_s < self.at_s + self.for_s)


def parse_fault(text: str) -> Fault:
    """The fault that the text names.

    Errors: InputError with the forms there are.
    """
    body, at, moment = text.partition("@")
    name, equals, amount = body.partition("=")
    at_text, plus, for_text = moment.partition("+")
    at_s = _seconds(at_text) if at else 0.0
    for_s = _seconds(for_text) if plus else None
    wrong = InputError("oom@30s, kill@30s, hang@20s, hang@20s+15s, slow-steps=3, slow-network=200ms, throttle-cpu=0.2", f"--fault {text}")
    if at_s is None or (plus and for_s is None):
        raise wrong
    if name in _MOMENTS and at and not equals:
        return Fault(name, at_s, for_s)  # type: ignore[arg-type]
    if name in _AMOUNTS and equals:
        value = _seconds(amount) if name == "slow-network" else _positive(amount)
        if value is None or (name == "throttle-cpu" and not 0.01 <= value <= 8):
            raise wrong
        return Fault(name, at_s, for_s, value)  # type: ignore[arg-type]
    raise wrong


def _positive(text: str) -> float | None:
    try:
        value = float(text)
    except ValueError:
        return None
    return value if 0 < value < 1e6 else None


def _seconds(text: str) -> float | None:
    found = _DURATION.fullmatch(text)
    return float(found[1]) * _UNIT_S[found[2]] if found else None


class Throttle:
    """Holds this process to a share of one CPU, as a cgroup quota does: what is used up early is waited for until the period ends."""

    def __init__(self, share: float) -> None:
        """Nothing is used."""
        self._share = share
        self._began_s = time.monotonic()
        self._used_s = time.process_time()

    def owed_s(self) -> float:
        """How long this process has to stand still now; 0 while it has quota left."""
        now_s, used_s = time.monotonic(), time.process_time()
        if now_s - self._began_s >= _PERIOD_S and used_s - self._used_s <= self._share * (now_s - self._began_s):
            self._began_s, self._used_s = now_s, used_s
            return 0.0
        over_s = (used_s - self._used_s) / self._share - (now_s - self._began_s)
        return over_s if used_s - self._used_s >= self._share * _PERIOD_S else 0.0
