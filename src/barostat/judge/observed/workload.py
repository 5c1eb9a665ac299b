"""A workload like the traffic that was seen: rows for the twin, every quantity from its own random
stream.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Sequence
from itertools import accumulate

from barostat.judge.observed.traffic import ObservedLengths, ObservedTraffic, buckets, place_within
from barostat.twin.request import Row
from barostat.twin.workload.made import in_turn, with_adapters
from barostat.twin.workload.random_streams import Dice

_MOST_ROWS = 200_000
# A client may be answered this many times as often as today before its rows run out.
_FASTER = 6.0


def rows_like(
    traffic: ObservedTraffic, seed: int, duration_s: float, block_tokens: int, longest_tokens: int
) -> list[Row]:
    """Requests for `duration_s` seconds, with the seen lengths, shared beginning, and arrivals.

    Open arrivals follow the seen rates, stretch by stretch and over again, at random within each;
    clients come one after the other within the first seconds and then each wait for their answers.
    What the engine held at first is there at once: leave the beginning out.
    """
    inputs, outputs = (
        _Drawn(traffic.prompts, longest_tokens - 1, Dice(seed, "input")),
        _Drawn(traffic.outputs, longest_tokens, Dice(seed, "output")),
    )
    if traffic.clients is not None:
        count = min(
            _MOST_ROWS, math.ceil(traffic.rate_per_s * duration_s * _FASTER) + traffic.clients
        )
        begins, pauses = Dice(seed, "begins"), Dice(seed, "pauses")
        mean_s, pause_s = traffic.clients / traffic.rate_per_s, traffic.pause_s
        rows = in_turn(
            [(inputs.draw(), outputs.draw()) for _ in range(count)], traffic.clients,
            [pauses.exponential(pause_s) for _ in range(count)], duration_s,
            [begins.uniform() * min(mean_s, duration_s / 10) for _ in range(traffic.clients)],
        )  # fmt: skip
    else:
        held = [0.0] * round(traffic.in_flight[0] if traffic.in_flight else 0)
        instants = [*held, *_arrivals(traffic, seed, duration_s)]
        rows = [
            Row(str(place), at_s, inputs.draw(), outputs.draw())
            for place, at_s in enumerate(instants)
        ]
    if traffic.to_the_limit:
        rows = [row._replace(output_limit=row.output_tokens) for row in rows]
    return with_adapters(_sharing(rows, traffic.hit_ratio, block_tokens), traffic.adapters, seed)


def _arrivals(traffic: ObservedTraffic, seed: int, duration_s: float) -> list[float]:
    """Instants of a Poisson process whose rate is that of the seen stretches, repeated, as far as
    it varied by more than chance.
    """
    dice, found = Dice(seed, "arrivals"), list[float]()
    rates = beyond_chance(traffic.rates)
    stretch, at_s, end_s = 0, 0.0, rates[0][0]
    work = dice.exponential(
        1.0
    )  # in expected arrivals: the next one comes when so many have passed
    while at_s < duration_s and len(found) < _MOST_ROWS:
        rate = rates[stretch][1]
        if work <= rate * (end_s - at_s):
            at_s += work / rate if rate else 0.0
            if at_s < duration_s:
                found.append(at_s)
            work = dice.exponential(1.0)
            continue
        work -= rate * (end_s - at_s)
        stretch = (stretch + 1) % len(rates)
        at_s, end_s = end_s, end_s + rates[stretch][0]
    return found


def beyond_chance(rates: Sequence[tuple[float, float]]) -> list[tuple[float, float]]:
    """(seconds, arrivals per second) with the part of their variation that a steady rate has by
    chance taken out.

    What comes at random once more has that part again: without this, arrivals at random would come
    back in denser crowds than they did. The variance of a Poisson count is its mean; that of what
    is made here then is the one that was seen. Silence stays silence.
    """
    span_s = sum(seconds for seconds, _ in rates)
    mean = sum(seconds * rate for seconds, rate in rates) / span_s if span_s else 0.0
    if len(rates) < 2 or mean <= 0:
        return list(rates)
    seen = sum(seconds * (rate - mean) ** 2 for seconds, rate in rates) / mean / (len(rates) - 1)
    kept = math.sqrt(1 - 1 / seen) if seen > 1 else 0.0
    nearer = [
        (seconds, mean + kept * (rate - mean) if rate > 0 else 0.0) for seconds, rate in rates
    ]
    scale = mean * span_s / sum(seconds * rate for seconds, rate in nearer)
    return [(seconds, rate * scale) for seconds, rate in nearer]


class _Drawn:
    """Lengths at random as the histogram has them. Mutable: each draw moves its dice on."""

    def __init__(self, seen: ObservedLengths, longest: int, dice: Dice) -> None:
        self._buckets = buckets(seen.histogram)
        self._sums = list(accumulate(count for _, _, count in self._buckets))
        self._middles, self._spread = seen.middles, seen.inner_spread
        self._longest = max(1, longest)
        self._dice = dice

    def draw(self) -> int:
        """One length, at least 1."""
        place = min(
            len(self._sums) - 1, bisect_left(self._sums, self._dice.uniform() * self._sums[-1])
        )
        (low, high, _), middle = self._buckets[place], self._middles[place]
        length = low + (high - low) * (
            middle + self._spread * (place_within(middle, self._dice.uniform()) - middle)
        )
        return min(self._longest, max(1, math.ceil(length)))


def _sharing(rows: list[Row], hit_ratio: float, block_tokens: int) -> list[Row]:
    """The rows with one beginning in common, as long as makes whole blocks of it `hit_ratio` of all
    prompt tokens.
    """
    if hit_ratio < 0.005 or not rows:
        return rows
    wanted = hit_ratio * sum(row.input_tokens for row in rows)
    low, high = 0, max(row.input_tokens for row in rows) // block_tokens
    while low < high:
        middle = (low + high) // 2
        spared = (
            sum(min(middle, (row.input_tokens - 1) // block_tokens) for row in rows) * block_tokens
        )
        low, high = (middle + 1, high) if spared < wanted else (low, middle)
    return [
        row._replace(
            hash_ids=tuple(range(1, min(low, row.input_tokens // block_tokens) + 1)),
            id_tokens=block_tokens,
        )
        for row in rows
    ]
