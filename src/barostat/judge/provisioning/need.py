"""Parses the demand: a number of requests or users, their lengths, and the SLO.

10/s input=2000 output=300                a rate; arrivals are random (cv=4: in bursts)
200 users input=2000 output=300 think=20  so many people, each with one request at a time and a
pause after each answer
trace, 2x, 10/s                           with a trace: its requests as recorded, at twice their
rate, at 10 requests/s on average
ttft=2s,itl=50ms                          the service level that 99 % of the requests keep
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, replace

from barostat.core.errors import InputError
from barostat.core.units import figure
from barostat.judge.provisioning.recorded_load import RecordedLoad
from barostat.twin.request import Row
from barostat.twin.summary import Slo
from barostat.twin.workload.made import Spec, make, parse_spec

_RATE = re.compile(
    r"^(?P<number>\d+(?:\.\d+)?)\s*(?:requests?|req|rps|qps)?\s*(?:/|per\s+)?\s*(?P<per>s|sec|second|min|minute|h|hour)?$"
)
_USERS = re.compile(r"^(?P<number>\d+)\s*(?:users?|clients?|people)$")
_TIMES = re.compile(r"^(?:(?P<number>\d+(?:\.\d+)?)\s*x\s*)?(?:the\s+)?(?:trace)?$")
_PER_S = {
    "s": 1.0,
    "sec": 1.0,
    "second": 1.0,
    "min": 60.0,
    "minute": 60.0,
    "h": 3600.0,
    "hour": 3600.0,
}
_TIME = re.compile(r"^(?P<number>\d+(?:\.\d+)?)\s*(?P<unit>ms|s|)$")
_SHAPE = ("input", "output", "spread", "cv", "think")
_EXAMPLE = "such as '10/s input=2000 output=300' or '200 users input=2000 output=300 think=20'"
_TRACE_EXAMPLE = "such as --for trace, --for 2x or --for 10/s"
_LEVEL_EXAMPLE = "such as ttft=2s,itl=50ms"
# A trial is as long as it takes to fill an engine and see it steady: this many requests, seconds,
# and times an answer's length.
_REQUESTS, _LEAST_S, _ANSWERS, _MOST_REQUESTS = 300, 60.0, 6.0, 4000
_USUAL_ITL_S = 0.05
_REQUESTS_OF_A_USER = 8
_APART_S, _ALONE = 120.0, 40
_ROUND = 1024


@dataclass(frozen=True, slots=True)
class Need:
    """The load. One of `rate_per_s` and `users` is 0. `think_s`: a user's pause after each answer.
    `recorded`: the requests themselves; rate and lengths are then their means, `spread` and `cv`
    say nothing.
    """

    rate_per_s: float
    users: int
    input_tokens: float
    output_tokens: float
    spread: float
    cv: float
    think_s: float
    slo: Slo
    recorded: RecordedLoad | None = None

    @property
    def load(self) -> str:
        """The load for display: users or requests/s."""
        return f"{self.users:,} users" if self.users else f"{figure(self.rate_per_s)} requests/s"

    @property
    def told(self) -> str:
        """The whole need in words."""
        pause = f", {figure(self.think_s)} s between answer and question" if self.users else ""
        mean = "" if self.recorded is None else f" on average ({self.recorded.told})"
        return (
            f"{self.load} of {figure(self.input_tokens, 4)} + {figure(self.output_tokens, 4)} "
            f"tokens{pause}{mean}"
        )

    @property
    def output_tokens_per_s(self) -> float | None:
        """Output tokens per second that are asked for; None if users set the pace."""
        return None if self.users else self.rate_per_s * self.output_tokens

    def rows(self, replicas: int, seed: int) -> list[Row]:
        """Return the rows of one of the replicas when requests are spread evenly."""
        if self.recorded is not None:
            return self.recorded.rows(replicas, seed)
        kind = "closed" if self.users else "bursty" if self.cv != 1.0 else "poisson"
        if self.users:
            return self._of_users(math.ceil(self.users / replicas), seed)
        rate = self.rate_per_s / replicas
        answer_s = self.output_tokens * (self.slo.itl_s or _USUAL_ITL_S)
        length_s = min(
            max(_REQUESTS / rate, _LEAST_S, _ANSWERS * answer_s),
            max(_REQUESTS, _MOST_REQUESTS) / rate,
        )
        return make(replace(self._spec(kind), rate_per_s=rate, minutes=length_s / 60), seed)

    def _of_users(self, users: int, seed: int) -> list[Row]:
        """Return the users' requests, with their first requests spread over one turn."""
        rows = make(
            replace(self._spec("closed"), clients=users, requests=users * _REQUESTS_OF_A_USER), seed
        )
        turn_s = self.think_s + self.output_tokens * (self.slo.itl_s or _USUAL_ITL_S)
        return [
            row._replace(arrival_s=turn_s * place / users) if row.after_id is None else row
            for place, row in enumerate(rows)
        ]

    @property
    def longest_tokens(self) -> int:
        """Practical maximum of a request's length, in tokens: three standard deviations of both
        lengths, or the longest of a trace.
        """
        longest = (
            (self.input_tokens + self.output_tokens) * math.exp(3 * self.spread)
            if self.recorded is None
            else self.recorded.longest_tokens
        )
        return math.ceil(longest / _ROUND) * _ROUND

    def alone(self) -> list[Row]:
        """Requests that never meet: what no number of replicas makes better."""
        if self.recorded is not None:
            return self.recorded.alone()
        rows = make(replace(self._spec("poisson"), rate_per_s=1.0, minutes=_ALONE / 60), 0)
        return [row._replace(arrival_s=place * _APART_S) for place, row in enumerate(rows)]

    def _spec(self, kind: str) -> Spec:
        """That kind of workload with this shape."""
        found = replace(
            parse_spec(kind),
            input_tokens=self.input_tokens,
            output_tokens=self.output_tokens,
            spread=self.spread,
        )
        return replace(found, cv=self.cv, think_s=self.think_s)


def parse_need(text: str, slo_text: str | None, recorded: RecordedLoad | None = None) -> Need:
    """The need that the words name. `recorded`: where lengths and arrivals are from a trace.

    Errors: InputError saying what is missing or not known, with an example.
    """
    if recorded is not None:
        return _need_of_trace(text, slo_text, recorded)
    head, shape = _split(text)
    where = f"--for {text!r}"
    users, rate = _USERS.match(head), _RATE.match(head)
    if users is None and rate is None:
        raise InputError(f"{head or text!r} is no amount of load; write it {_EXAMPLE}", where)
    if "input" not in shape or "output" not in shape:
        raise InputError(
            "how long prompts and answers are decides: say input= and output= in tokens, "
            f"{_EXAMPLE}, or --trace FILE",
            where,
        )
    if users is None and "think" in shape:
        raise InputError("belongs to users, who wait for their answers", f"{where}: think")
    slo = parse_level(slo_text)
    amount = float(users["number"]) if users is not None else _per_s(rate)
    _check_amount(amount, where)
    if users is not None and slo.ttft_s is None and slo.itl_s is None:
        raise InputError(
            f"users wait for whatever it takes: say what they may wait, {_LEVEL_EXAMPLE}", "--slo"
        )
    return Need(
        rate_per_s=0.0 if users is not None else amount,
        users=int(amount) if users is not None else 0,
        input_tokens=shape["input"], output_tokens=shape["output"], spread=shape.get("spread", 0.6), cv=shape.get("cv", 1.0),
        think_s=shape.get("think", 20.0 if users is not None else 0.0), slo=slo,
    )  # fmt: skip


def _need_of_trace(text: str, slo_text: str | None, recorded: RecordedLoad) -> Need:
    """The trace as recorded, scaled by a factor, or at a rate."""
    head, shape = _split(text)
    where = f"--for {text!r}"
    if shape:
        raise InputError(
            f"lengths and arrivals are those of {recorded.source}: leave out {next(iter(shape))}=, "
            f"or --trace; {_TRACE_EXAMPLE}",
            where,
        )
    rate, times = _RATE.match(head), _TIMES.match(head)
    if rate is None and (times is None or not head):
        raise InputError(
            f"{head or text!r} is no rate of a trace; write it {_TRACE_EXAMPLE}", where
        )
    wanted = (
        _per_s(rate)
        if rate is not None
        else recorded.rate_per_s * float((times and times["number"]) or 1)
    )
    _check_amount(wanted, where)
    load = recorded.faster(wanted / recorded.rate_per_s)
    return Need(
        wanted, 0, load.input_tokens, load.output_tokens, 0.0, 1.0, 0.0, parse_level(slo_text), load
    )


def _per_s(rate: re.Match[str] | None) -> float:
    return float(rate["number"]) / _PER_S[rate["per"] or "s"] if rate is not None else 0.0


def _check_amount(amount: float, where: str) -> None:
    if not 0 < amount <= 1e5:
        raise InputError(
            f"{figure(amount)} is no load; above 0 and up to 100,000 was expected", where
        )


def _split(text: str) -> tuple[str, dict[str, float]]:
    """The words before the first NAME=VALUE, and those values.

    Errors: InputError naming the word.
    """
    words = text.replace(",", " ").split()
    head = [word for word in words if "=" not in word]
    shape: dict[str, float] = {}
    for word in words:
        name, equals, value = word.partition("=")
        if not equals:
            continue
        if name not in _SHAPE:
            raise InputError(
                f"{name!r} is not known; the shape has {', '.join(_SHAPE)}", f"--for {text!r}"
            )
        try:
            shape[name] = float(value.lower().removesuffix("k")) * (
                1000 if value.lower().endswith("k") else 1
            )
        except ValueError:
            raise InputError(f"{value!r} is no number", f"--for {text!r}: {name}") from None
        least, most = {"spread": (0.0, 3.0), "cv": (0.1, 20.0), "think": (0.0, 86_400.0)}.get(
            name, (1.0, 1e7)
        )
        if not least <= shape[name] <= most:
            raise InputError(
                f"must be {least:g} to {most:g}, not {value}", f"--for {text!r}: {name}"
            )
    return " ".join(head).lower(), shape


def parse_level(text: str | None) -> Slo:
    """The service level that `ttft=2s,itl=50ms` names; nothing promised without it.

    Errors: InputError naming the part.
    """
    if text is None:
        return Slo()
    found: dict[str, float] = {}
    for part in text.replace(",", " ").split():
        name, _, value = part.partition("=")
        time = _TIME.match(value)
        key = name.lower().replace("tpot", "itl")
        if key not in ("ttft", "itl") or time is None or float(time["number"]) <= 0:
            raise InputError(
                f"{part!r} is no part of a service level; write it {_LEVEL_EXAMPLE}",
                f"--slo {text}",
            )
        found[key] = float(time["number"]) / (1000 if time["unit"] == "ms" else 1)
    if not found:
        raise InputError(f"promises nothing; write it {_LEVEL_EXAMPLE}", f"--slo {text!r}")
    return Slo(found.get("ttft"), found.get("itl"))
