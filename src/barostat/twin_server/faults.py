"""Faults on demand: what happens to the twin at a given moment, so that what is built around an
engine can be seen at work.

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

import math
import re
import time
from dataclasses import dataclass
from typing import Literal

from barostat.core.errors import InputError

Name = Literal["oom", "kill", "hang", "slow-steps", "slow-network", "throttle-cpu"]
_MOMENTS, _AMOUNTS = ("oom", "kill", "hang"), ("slow-steps", "slow-network", "throttle-cpu")
_EXAMPLES = {"slow-steps": "3", "slow-network": "200ms", "throttle-cpu": "0.2"}
_FORMS = (
    "oom@30s, kill@30s, hang@20s, hang@20s+15s, slow-steps=3, slow-network=200ms, throttle-cpu=0.2"
)
_DURATION = re.compile(r"(\d+(?:\.\d+)?)(ms|s|m)?")
_UNIT_S = {"ms": 0.001, "s": 1.0, "m": 60.0, None: 1.0}
_PERIOD_S = 0.1


@dataclass(frozen=True, slots=True)
class Fault:
    """A fault and its time. `amount`: a factor, seconds, or a share of a CPU; `for_s` None: for
    ever.
    """

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
    try:
        if name not in _MOMENTS + _AMOUNTS:
            raise ValueError(f"{name!r} is no fault" if name else "no fault is named")
        at_s = _seconds(at_text, "the moment after @") if at else 0.0
        for_s = _seconds(for_text, "the time after +") if plus else None
        if name in _AMOUNTS:
            return Fault(name, at_s, for_s, _amount(name, amount))  # type: ignore[arg-type]
        if equals:
            raise ValueError(f"{name} has a moment and no amount, so nothing goes after =")
        if not at:
            raise ValueError(f"when is missing: {name}@30s")
        return Fault(name, at_s, for_s)  # type: ignore[arg-type]
    except ValueError as error:
        raise InputError(f"{error}; there are {_FORMS}", f"--fault {text}") from None


def _amount(name: str, text: str) -> float:
    """Parse a fault's amount. Errors: ValueError with a sentence."""
    if not text:
        raise ValueError(f"how much is missing: {name}={_EXAMPLES[name]}")
    if name == "slow-network":
        return _seconds(text, "the delay after =")
    least, most = (0.01, 8.0) if name == "throttle-cpu" else (0.001, 1e6)
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not least <= value <= most:
        raise ValueError(f"{name} takes a number from {least:g} to {most:,.0f}, not {text!r}")
    return value


def _seconds(text: str, what: str) -> float:
    """Errors: ValueError with what is wrong."""
    found = _DURATION.fullmatch(text)
    if found is None:
        raise ValueError(f"{what} must be a time such as 20s, 200ms or 1m, not {text!r}")
    return float(found[1]) * _UNIT_S[found[2]]


class Throttle:
    """Holds this process to a share of one CPU, as a cgroup quota does: what is used up early is
    waited for until the period ends.
    """

    def __init__(self, share: float) -> None:
        """Nothing is used."""
        self._share = share
        self._began_s = time.monotonic()
        self._used_s = time.process_time()

    def owed_s(self) -> float:
        """Return how long this process must pause now; 0 while it has quota left."""
        now_s, used_s = time.monotonic(), time.process_time()
        if now_s - self._began_s >= _PERIOD_S and used_s - self._used_s <= self._share * (
            now_s - self._began_s
        ):
            self._began_s, self._used_s = now_s, used_s
            return 0.0
        over_s = (used_s - self._used_s) / self._share - (now_s - self._began_s)
        return over_s if used_s - self._used_s >= self._share * _PERIOD_S else 0.0
