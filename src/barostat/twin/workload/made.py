"""Workloads made here: random arrivals, bursts, long prompts among short ones, sessions that grow
turn by turn.

    poisson:rate=4,minutes=10,input=1000,output=200
    bursty:rate=4,cv=4,...                 gaps with that coefficient of variation (1 is Poisson)
    long-prompts:share=0.1,long=8000,...   one in ten prompts is long
    sessions:rate=0.2,turns=8,think=20,... each session's prompt contains all of its former turns
    closed:clients=32,requests=1000,think=0,...  so many clients, each with one request at a time
    and a pause after each answer
    poisson:adapters=8,...                 each request asks for one of eight LoRA adapters

Every quantity has its own random stream: the lengths stay when the rate changes.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from barostat.core.errors import InputError
from barostat.twin.request import Row
from barostat.twin.workload.random_streams import AT_ONCE, Dice

_DEFAULTS: dict[str, float] = {
    "rate": 1.0, "minutes": 10.0, "input": 1000.0, "output": 200.0, "spread": 0.6, "cv": 1.0, "share": 0.0, "long": 8000.0,
    "turns": 8.0, "think": 20.0, "system": 500.0, "clients": 16.0, "requests": 1000.0, "adapters": 0.0,
}  # fmt: skip
_OPEN, _LENGTHS = ("rate", "minutes"), ("input", "output", "spread", "adapters")
# What each kind is made of, and its own defaults.
_KINDS: dict[str, tuple[tuple[str, ...], dict[str, float]]] = {
    "poisson": ((*_OPEN, *_LENGTHS), {}),
    "bursty": ((*_OPEN, *_LENGTHS, "cv"), {"cv": 4.0}),
    "long-prompts": ((*_OPEN, *_LENGTHS, "share", "long"), {"share": 0.1}),
    "sessions": ((*_OPEN, *_LENGTHS, "turns", "think", "system"), {"rate": 0.1}),
    "closed": (("clients", "requests", "think", *_LENGTHS), {"think": 0.0}),
}
_MOST = 5_000_000
_MOST_SAID_TOKENS = 1_000_000_000  # in the prompts of all turns: each is a sequence of ids
# What lies beyond is no traffic: nearly all requests of an hour at a few instants, nearly all
# tokens in a few requests.
_WITHIN = {
    "cv": (
        0.01,
        20.0,
        "the deviation of the gaps over their mean: 1 is Poisson, more comes in bursts",
    ),
    "spread": (0.0, 3.0, "the deviation of a length's logarithm: 0 makes all alike"),
    "share": (0.0, 1.0, "of all requests, those whose prompt is long"),
}
_WHOLE = ("clients", "requests", "system", "adapters")


@dataclass(frozen=True, slots=True)
class Spec:
    """Parameters of a generated workload. Units: requests (of sessions: sessions) per second,
    minutes, tokens, seconds; `spread` is the sigma of lengths; `adapters`: LoRA adapters, of which
    each request asks for one.
    """

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
    adapters: float = 0.0


def parse_spec(text: str) -> Spec:
    """The workload that `kind:name=number,...` names.

    Errors: InputError naming what is not known, with what is.
    """
    kind, _, rest = text.partition(":")
    if kind not in _KINDS:
        raise InputError(f"{kind!r} is no workload; there are {', '.join(_KINDS)}", "--workload")
    names, own = _KINDS[kind]
    given: dict[str, float] = {}
    for part in filter(None, rest.split(",")):
        name, equals, number = part.partition("=")
        if name not in names or not equals:
            raise InputError(
                f"{part!r} is not known; {kind} has {', '.join(names)}, each with =NUMBER",
                "--workload",
            )
        if name in given:
            raise InputError(f"{name} is there twice; keep one", "--workload")
        given[name] = _value(name, number)
    values = {**_DEFAULTS, **own, **given}
    _check(kind, values)
    return Spec(kind, *(values[name] for name in _DEFAULTS))


def _value(name: str, text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        raise InputError(f"{name} must be a number, not {text!r}", "--workload") from None
    if not 0 <= value < 1e9:
        raise InputError(
            f"{name} must be at least 0 and below 1,000,000,000, not {text}", "--workload"
        )
    if name in _WHOLE and not value.is_integer():
        raise InputError(f"{name} must be a whole number, not {text}", "--workload")
    return value


def _check(kind: str, values: Mapping[str, float]) -> None:
    """Errors: InputError for values that are no traffic, or more of it than can be held."""
    if not values["rate"] or not values["minutes"] or values["input"] < 1 or values["output"] < 1:
        raise InputError(
            "rate and minutes must be above 0, input and output at least 1", "--workload"
        )
    for name, (least, most, meaning) in _WITHIN.items():
        if not least <= values[name] <= most:
            raise InputError(
                f"{name} must be {least:g} to {most:g} ({meaning}), not {values[name]:g}",
                "--workload",
            )
    if values["long"] < 1:
        raise InputError("long must be at least 1", "--workload")
    if values["clients"] < 1 or values["requests"] < 1 or values["turns"] < 1:
        raise InputError("clients, requests and turns must be at least 1", "--workload")
    turns = values["turns"] if kind == "sessions" else 1
    requests = (
        values["requests"] if kind == "closed" else values["rate"] * values["minutes"] * 60 * turns
    )
    if requests > _MOST:
        raise InputError(f"some {requests:,.0f} requests; {_MOST:,} at most", "--workload")
    said = requests * (values["system"] + values["input"] + turns * values["output"])
    if kind == "sessions" and said > _MOST_SAID_TOKENS:
        raise InputError(
            f"some {said:,.0f} tokens in the prompts of all turns; {_MOST_SAID_TOKENS:,} "
            "at most: make sessions fewer or shorter",
            "--workload",
        )


def make(spec: Spec, seed: int) -> list[Row]:
    """The rows of the workload, in order of arrival."""
    return with_adapters(_made(spec, seed), round(spec.adapters), seed)


def with_adapters(rows: list[Row], count: int, seed: int) -> list[Row]:
    """The rows, each with one of several LoRA adapters at random."""
    if not count:
        return rows
    thrown = Dice(seed, "adapters").uniforms(len(rows))
    return [
        row._replace(adapter=f"adapter-{int(share * count)}")
        for row, share in zip(rows, thrown, strict=True)
    ]


def _made(spec: Spec, seed: int) -> list[Row]:
    if spec.kind == "sessions":
        return _sessions(spec, seed)
    if spec.kind == "closed":
        return _closed(spec, seed)
    inputs, outputs = _lengths_dice(seed)
    arrivals_s = list(_arrivals_s(spec, Dice(seed, "arrivals")))
    means = [spec.input_tokens] * len(arrivals_s)
    if spec.share_ratio:
        thrown = Dice(seed, "long").uniforms(len(means))
        means = [
            spec.long_tokens if one < spec.share_ratio else spec.input_tokens for one in thrown
        ]
    lengths = zip(
        _lengths(inputs, means, spec),
        _lengths(outputs, [spec.output_tokens] * len(means), spec),
        strict=True,
    )
    return [
        Row(str(place), at_s, *both)
        for place, (at_s, both) in enumerate(zip(arrivals_s, lengths, strict=True))
    ]


def _lengths_dice(seed: int) -> tuple[Dice, Dice]:
    return Dice(seed, "input"), Dice(seed, "output")


def _arrivals_s(spec: Spec, dice: Dice) -> Iterator[float]:
    at_s, end_s, rate_per_s = 0.0, spec.minutes * 60, spec.rate_per_s
    for gap in _gaps(spec.cv, dice):
        at_s += gap / rate_per_s
        if at_s >= end_s:
            return
        yield at_s


def _gaps(cv: float, dice: Dice) -> Iterator[float]:
    """Without end; 1 on average."""
    shape = 1 / (cv * cv)
    while cv != 1:
        yield dice.gamma(shape) / shape
    while True:
        for thrown in dice.uniforms(AT_ONCE):
            yield -math.log1p(-thrown)


def _lengths(dice: Dice, means: Sequence[float], spec: Spec) -> list[int]:
    return [round(length) or 1 for length in dice.lognormals(means, spec.spread)]


def _length(dice: Dice, mean: float, spec: Spec) -> int:
    return max(1, round(dice.lognormal(mean, spec.spread)))


def _closed(spec: Spec, seed: int) -> list[Row]:
    """The clients' requests in turn: the first of each at once, each other a pause after the answer
    to the one before.
    """
    (inputs, outputs), pauses, count = (
        _lengths_dice(seed),
        Dice(seed, "think"),
        round(spec.requests),
    )
    made = [
        _lengths(dice, [mean] * count, spec)
        for dice, mean in ((inputs, spec.input_tokens), (outputs, spec.output_tokens))
    ]
    lengths = list(zip(*made, strict=True))
    return in_turn(
        lengths,
        round(spec.clients),
        [pauses.exponential(spec.think_s) if spec.think_s else 0.0 for _ in lengths],
    )


def in_turn(
    lengths: Sequence[tuple[int, int]],
    clients: int,
    pauses_s: Sequence[float],
    latest_s: float = math.inf,
    begins_s: Sequence[float] = (),
) -> list[Row]:
    """Rows of (input, output) tokens, dealt out to that many clients, each of which has one request
    at a time.

    `pauses_s`: before each row, after the answer to its client's last one. `latest_s`: no request
    arrives later. `begins_s`: when each client comes; all at once without it.
    """
    rows = []
    for place, (tokens, output) in enumerate(lengths):
        if place < clients:
            rows.append(Row(str(place), begins_s[place] if begins_s else 0.0, tokens, output))
        else:
            rows.append(
                Row(
                    str(place),
                    pauses_s[place],
                    tokens,
                    output,
                    after_id=str(place - clients),
                    latest_s=latest_s,
                )
            )
    return rows


def closed_loop(rows: Sequence[Row], clients: int) -> list[Row]:
    """The rows in their order, dealt out to that many clients, each of which sends its next as soon
    as its last is answered. When they came by themselves no longer counts.
    """
    names = [row.request_id for row in rows]
    return [
        row._replace(arrival_s=0.0, after_id=names[place - clients] if place >= clients else None)
        for place, row in enumerate(rows)
    ]


def _sessions(spec: Spec, seed: int) -> list[Row]:
    """Sessions begin at random; a turn comes a pause after the one before, and its prompt begins
    with all that was said.

    What a session said is one chain of ids of 16 tokens, the system prompt the same for all; a
    turn's answer differs from what the engine generated for it, as a client that sends it back
    would have it tokenised again.
    """
    begins, inputs, outputs, pauses, lengths = (
        Dice(seed, name) for name in ("sessions", "input", "output", "think", "turns")
    )
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
