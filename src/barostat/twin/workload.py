"""Workloads made here: random arrivals, bursts, long prompts among short ones, sessions that grow turn by turn.

    poisson:rate=4,minutes=10,input=1000,output=200
    bursty:rate=4,cv=4,...                 gaps with that coefficient of variation (1 is Poisson)
    long-prompts:share=0.1,long=8000,...   one in ten prompts is long
    sessions:rate=0.2,turns=8,think=20,... each session's prompt contains all of its former turns
    closed:clients=32,requests=1000,think=0,...  so many clients, each with one request at a time and a pause after each answer

Every quantity has its own random stream: the lengths stay when the rate changes.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from barostat.core.errors import InputError
from barostat.twin.dice import Dice
from barostat.twin.request import Row

_DEFAULTS: dict[str, float] = {
    "rate": 1.0, "minutes": 10.0, "input": 1000.0, "output": 200.0, "spread": 0.6, "cv": 1.0, "share": 0.0, "long": 8000.0,
    "turns": 8.0, "think": 20.0, "system": 500.0, "clients": 16.0, "requests": 1000.0,
}  # fmt: skip
_KINDS: dict[str, dict[str, float]] = {
    "poisson": {},
    "bursty": {"cv": 4.0},
    "long-prompts": {"share": 0.1},
    "sessions": {"rate": 0.1},
    "closed": {"think": 0.0},
}
_MOST = 5_000_000


@dataclass(frozen=True, slots=True)
class Spec:
    """What to make. Units: requests (of sessions: sessions) per second, minutes, tokens, seconds; `spread` is the sigma of lengths."""

    kind: str
    rate_per_s: float
    minutes: float
    input_tokens: float
    output_tokens: float
    spread: float
    cv: float
    share_ratio: float
    long_tokens: float
    turns: float
    think_s: float
    system_tokens: float
    clients: float
    requests: float


def parse_spec(text: str) -> Spec:
    """The workload that `kind:name=number,...` names.

    Errors: InputError naming what is not known, with what is.
    """
    kind, _, rest = text.partition(":")
    if kind not in _KINDS:
        raise InputError(f"{kind!r} is no workload; there are {', '.join(_KINDS)}", "--workload")
    values = {**_DEFAULTS, **_KINDS[kind]}
    for part in filter(None, rest.split(",")):
        name, equals, number = part.partition("=")
        if name not in values or not equals:
            raise InputError(f"{part!r} is not known; {kind} has {', '.join(sorted(values))}, each with =NUMBER", "--workload")
        try:
            values[name] = float(number)
        except ValueError:
            raise InputError(f"{name} must be a number, not {number!r}", "--workload") from None
        if not 0 <= values[name] < 1e9:
            raise InputError(f"{name} must be at least 0 and below 1,000,000,000, not {number}", "--workload")
    if not values["rate"] or not values["minutes"] or values["input"] < 1 or values["output"] < 1 or not values["cv"]:
        raise InputError("rate, minutes and cv must be above 0, input and output at least 1", "--workload")
    if values["clients"] < 1 or values["requests"] < 1:
        raise InputError("clients and requests must be at least 1", "--workload")
    if kind == "closed" and values["requests"] > _MOST:
        raise InputError(f"more than {_MOST:,} requests", "--workload")
    if kind != "closed" and values["rate"] * values["minutes"] * 60 * (values["turns"] if kind == "sessions" else 1) > _MOST:
        raise InputError(f"more than {_MOST:,} requests", "--workload")
    return Spec(kind, *(values[name] for name in _DEFAULTS))


def make(spec: Spec, seed: int) -> list[Row]:
    """The rows of the workload, in order of arrival."""
    if spec.kind == "sessions":
        return _sessions(spec, seed)
    if spec.kind == "closed":
        return _closed(spec, seed)
    arrivals, inputs, outputs, which = (Dice(seed, name) for name in ("arrivals", "input", "output", "long"))
    shape = 1 / (spec.cv * spec.cv)
    rows: list[Row] = []
    at_s = 0.0
    while True:
        gap = arrivals.exponential(1.0) if spec.cv == 1 else arrivals.gamma(shape) / shape
        at_s += gap / spec.rate_per_s
        if at_s >= spec.minutes * 60:
            return rows
        mean = spec.long_tokens if which.uniform() < spec.share_ratio else spec.input_tokens
        rows.append(Row(str(len(rows)), at_s, _length(inputs, mean, spec), _length(outputs, spec.output_tokens, spec)))


def _length(dice: Dice, mean: float, spec: Spec) -> int:
    return max(1, round(dice.lognormal(mean, spec.spread)))


def _closed(spec: Spec, seed: int) -> list[Row]:
    """The clients' requests in turn: the first of each at once, each other a pause after the answer to the one before."""
    inputs, outputs, pauses = (Dice(seed, name) for name in ("input", "output", "think"))
    lengths = [(_length(inputs, spec.input_tokens, spec), _length(outputs, spec.output_tokens, spec)) for _ in range(round(spec.requests))]
    return in_turn(lengths, round(spec.clients), [pauses.exponential(spec.think_s) if spec.think_s else 0.0 for _ in lengths])


def in_turn(
    lengths: Sequence[tuple[int, int]], clients: int, pauses_s: Sequence[float], latest_s: float = math.inf, begins_s: Sequence[float] = ()
) -> list[Row]:
    """Rows of (input, output) tokens, dealt out to that many clients, each of which has one request at a time.

    `pauses_s`: before each row, after the answer to its client's last one. `latest_s`: no request arrives later. `begins_s`: when each
    client comes; all at once without it.
    """
    rows = []
    for place, (tokens, output) in enumerate(lengths):
        if place < clients:
            rows.append(Row(str(place), begins_s[place] if begins_s else 0.0, tokens, output))
        else:
            rows.append(Row(str(place), pauses_s[place], tokens, output, after_id=str(place - clients), latest_s=latest_s))
    return rows


def _sessions(spec: Spec, seed: int) -> list[Row]:
    """Sessions begin at random; a turn comes a pause after the one before, and its prompt begins with all that was said.

    What a session said is one chain of ids of 16 tokens, the system prompt the same for all; a turn's answer is told apart from what
    the engine generated for it, as a client that sends it back would have it tokenised anew.
    """
    begins, inputs, outputs, pauses, lengths = (Dice(seed, name) for name in ("sessions", "input", "output", "think", "turns"))
    size = 16
    found: list[tuple[float, str, int, int, tuple[int, ...]]] = []
    at_s, number = 0.0, 0
    while (at_s := at_s + begins.exponential(1 / spec.rate_per_s)) < spec.minutes * 60:
        number += 1
        system = round(spec.system_tokens) // size
        ids = list(range(1, system + 1))
        tokens, now_s = round(spec.system_tokens), at_s
        turns = max(1, round(lengths.exponential(spec.turns)))
        for _ in range(turns):
            tokens += _length(inputs, spec.input_tokens / spec.turns, spec)
            while len(ids) < tokens // size:
                ids.append(number * 10**7 + len(ids))
            output = _length(outputs, spec.output_tokens, spec)
            found.append((now_s, f"s{number}", tokens, output, tuple(ids)))
            tokens += output
            now_s += pauses.exponential(spec.think_s) + output * 0.03
    found.sort(key=lambda entry: (entry[0], entry[1]))
    return [
        Row(str(index), at, tokens, output, hash_ids=ids, id_tokens=size, session_id=session)
        for index, (at, session, tokens, output, ids) in enumerate(found)
    ]
