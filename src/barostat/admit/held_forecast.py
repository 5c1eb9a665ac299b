"""What one replica holds and will hold: mean and variance of its tokens at horizons ahead, over the
running set.

    held(h) = sum over its requests of (prompt + produced + h) if it still runs then    (chance of that: `lengths`)

A look at all of them costs some 2 us each and is due after 0.2 ms for each, so that looks take some
1 % of a core at any size; in between, what is admitted is added and what is returned is taken away.
While everything fits even if every answer runs to its limit, there is no forecast at all. What the
engine says of its pool corrects the sum: prompts that are shared hold less than their parts
(`shared_ratio`), clients that do not come through this gateway hold more (`foreign_tokens`).
"""

from __future__ import annotations

from math import sqrt

from barostat.admit.asked import AskedRequest
from barostat.admit.learned import Learned
from barostat.admit.lengths import HORIZONS, LengthClass
from barostat.admit.pace_limit import PaceLimit
from barostat.admit.replica_news import Observation, Pool
from barostat.admit.rules import ClassRule

_LOOK_EACH_S = 2e-4
_LOOK_LEAST_S = 2e-3
_LOOK_MOST_S = 0.5
_CLEAR = 0.85  # of the budget: what fits into so much by the last look needs no new one
_COUNT = len(HORIZONS)
NEVER = -1e9
_SHARED_MORE, _SHARED_LESS = (
    0.3,
    0.5,
)  # of what one look says: that prompts share is believed more slowly than that they do not
_MUCH_MORE, _FAR_OFF = (
    0.6,
    0.67,
)  # and sooner where it says by much that they share more: what is learned anew, and no noise
# of the prompts: with more answers that are only reckoned, a look says nothing of what prompts
# share
_UNSURE = 0.25
# after which a prompt is taken to be computed, though nothing was heard of its answer, which may
# not be streamed
_SETTLED_S = 2.0
_PACE_WEIGHT = 0.02
_FAR = (*(1.0,) * (_COUNT - 7), 0.9, 0.8, 0.7, 0.6, 0.4, 0.2, 0.0)
"""Share of the margin that is kept at each horizon: what is far off can still be answered by
admitting less until then.
"""
_FAR_SQUARED = tuple(share * share for share in _FAR)
_SHARED_LEAST = 0.02
_NOTHING = 1e-6
_ANSWERS = 2000  # as many as a class remembers
_OURS_RATIO = 0.25
"""Of the pool, that this gateway keeps however much others hold: who goes round it fills any pool,
and would shut it to all who do not.
"""


_Alike = tuple[tuple[float, ...], int, float, float, float]
"""Requests whose chances are the same: those, sequences of each, how many there are, what they
hold, the sum of the squares of that.
"""


class Holding:
    """One request's use of a replica's KV cache. Mutable.

    `prompt_tokens`: held by its prompts. `cap`: the most tokens that one sequence produces.
    `produced`: tokens of one sequence, as of `heard_at`. `charge`: tokens that it is expected to
    come to, charged to its tenant. `priority_class`: None if the limits name none; `rank`: its
    place among them, 0 for the most important. `row`, `held`: its part of the replica's forecast
    (chances by horizon; tokens held).
    """

    __slots__ = (
        "admitted_at", "cap", "charge", "heard_at", "held", "lengths", "number", "priority_class", "produced", "prompt_tokens",
        "rank", "request", "row",
    )  # fmt: skip

    def __init__(
        self,
        number: int,
        request: AskedRequest,
        lengths: LengthClass,
        prompt_tokens: int,
        cap: int,
        charge: float,
    ) -> None:
        self.number = number
        self.request = request
        self.lengths = lengths
        self.prompt_tokens = prompt_tokens
        self.cap = cap
        self.charge = charge
        self.priority_class: ClassRule | None = None
        self.rank = 0
        self.admitted_at = 0.0
        self.heard_at = 0.0
        self.produced = 0
        self.held = 0.0
        self.row: tuple[float, ...] = ()


class HeldForecast:
    """The forecast of one replica. Mutable. `live`: requests that it was given and has not
    returned, `sequences` of them. `open`: it is in rotation.

    `others`: requests of other clients, as of the last look. `learned`: of it and those that serve
    the same. `class_tokens`: what runs here is expected to come to, by rank of its priority class.
    """

    __slots__ = (
        "block_half", "block_variance", "class_tokens", "foreign_tokens", "held_tokens", "learned", "live", "looked_at", "mean",
        "most_tokens", "name", "open", "others", "pace", "pool", "preemptions", "sequences", "shared_ratio", "token_s", "variance",
        "waiting",
    )  # fmt: skip

    def __init__(self, name: str, pool: Pool) -> None:
        self.name = name
        self.live: dict[int, Holding] = {}
        self.sequences = 0
        self.class_tokens: dict[int, float] = {}
        self.others = 0
        self.pace = PaceLimit()
        self.learned = Learned()
        self.open = True
        self.shared_ratio = 1.0
        self.foreign_tokens = 0.0
        self.preemptions: int | None = None
        self.token_s: float | None = None
        self.waiting = 0
        self.held_tokens = 0.0
        self.looked_at = NEVER
        self.mean = [0.0] * _COUNT
        self.variance = [0.0] * _COUNT
        self.takes(pool)

    def takes(self, pool: Pool) -> None:
        """The pool is this one from now on."""
        self.pool = pool
        self.block_half = pool.block_tokens / 2
        self.block_variance = pool.block_tokens**2 / 12
        self.most_tokens = sum(map(self.most, self.live.values()))

    def holds(self, one: Holding, produced: int) -> float:
        """Tokens that the request holds once it has produced so many, in whole blocks on
        average.
        """
        return one.prompt_tokens * self.shared_ratio + one.request.sequences * (
            produced + self.block_half
        )

    def paced(self, tokens: int, for_s: float) -> None:
        """A sequence has taken so long for so many tokens: used to estimate progress not yet
        reported.
        """
        said = for_s / tokens
        self.token_s = (
            said if self.token_s is None else self.token_s + _PACE_WEIGHT * (said - self.token_s)
        )

    def produced_by(self, one: Holding, at: float) -> int:
        """Return its output tokens at `at`: those heard of, and since then at the pace of this
        replica. Progress of a response that is not streamed is only known at its end.
        """
        token_s, for_s = self.token_s, at - one.heard_at
        if not token_s or for_s <= 0:
            return one.produced
        return min(one.cap, one.produced + int(for_s / token_s))

    def most(self, one: Holding) -> float:
        """Tokens that the request can come to hold at most."""
        return one.prompt_tokens + one.request.sequences * (one.cap + 2 * self.block_half)

    def look(self, at: float) -> None:
        """The forecast is of now, if it was due."""
        age_s = at - self.looked_at
        if age_s < _LOOK_LEAST_S or age_s < _LOOK_EACH_S * len(self.live):
            return
        self.looked_at = at
        groups: dict[tuple[int, int], _Alike] = {}
        for one in self.live.values():
            self._group(one, at, groups)
        mean, variance, shaky = [0.0] * _COUNT, [0.0] * _COUNT, [0.0] * _COUNT
        for row, sequences, count, held, squares in groups.values():
            rounded, twice = count * sequences * self.block_variance, 2.0 * held
            for place, chance in enumerate(row):
                grown = HORIZONS[place] * sequences
                more = count * grown
                mean[place] += chance * (held + more)
                if chance < 1.0:
                    sure = chance * (1.0 - chance)
                    variance[place] += sure * (squares + grown * (twice + more)) + chance * rounded
                    shaky[place] += sqrt(sure) * (held + more)
                else:
                    variance[place] += rounded
        # The chances are themselves learned from so many answers, and wrong for all requests alike.
        answers = (
            max(1, min(_ANSWERS, next(iter(self.live.values())).lengths.root.seen))
            if self.live
            else 1
        )
        for place, tokens in enumerate(shaky):
            variance[place] += tokens * tokens / answers
        self.mean, self.variance = mean, variance
        self.held_tokens = mean[0]

    def _group(self, one: Holding, at: float, groups: dict[tuple[int, int], _Alike]) -> None:
        request = one.request
        produced = self.produced_by(one, at)
        row = one.lengths.remaining(produced, one.cap - produced)
        held = self.holds(one, produced)
        one.row, one.held = row, held
        key = (
            id(row),
            request.sequences,
        )  # a class gives one row for each age, which `one` holds on to
        group = groups.get(key)
        groups[key] = (
            (row, request.sequences, 1.0, held, held * held)
            if group is None
            else (row, request.sequences, group[2] + 1.0, group[3] + held, group[4] + held * held)
        )

    def budget(self, stated_tokens: int | None) -> float:
        """Return the KV tokens that requests of this gateway may come to hold here: the pool, or
        `stated_tokens`, less what others hold; at least a quarter.
        """
        pool = self.pool.kv_tokens * (1.0 - self.pool.watermark_ratio)
        usable = pool if stated_tokens is None else min(pool, stated_tokens)
        return max(usable - self.foreign_tokens, _OURS_RATIO * usable)

    def has_a_place(self, sequences: int, max_running: int | None) -> bool:
        """So many sequences more may run here, if there is room for what they hold: it is in
        rotation, a slot is free, nothing queues, and tokens would still come as fast as is promised
        (one request always may).
        """
        running = len(self.live)
        if not self.open or running >= self.pool.slots or (max_running and running >= max_running):
            return False
        # More wait in the engine than just came, and not behind others' requests that leave this
        # gateway no more than its part.
        if (
            self.waiting > 2 + running // 4
            and self.foreign_tokens <= (1.0 - _OURS_RATIO) * self.pool.kv_tokens
        ):
            return False
        most = self.pace.most
        return most is None or not running or self.sequences + sequences <= most - self.others

    def fits(self, one: Holding, z: float, budget: float, at: float) -> bool:
        """True if with this request the bound on what is held stays within the budget at every
        horizon. Sets `one.held` and `one.row`.
        """
        one.held = self.holds(one, 0)
        if self.most_tokens + self.most(one) <= budget:
            return True
        one.row = one.lengths.remaining(0, one.cap)
        if not self.live and not self.foreign_tokens and one.prompt_tokens <= budget:
            # alone: it takes nobody's room, and with more room than all of it will never come
            return True
        if at - self.looked_at < _LOOK_MOST_S and self._within(one, z, budget * _CLEAR):
            return True
        self.look(at)
        return self._within(one, z, budget)

    def _within(self, one: Holding, z: float, budget: float) -> bool:
        mean, variance, sequences, squared, held = (
            self.mean,
            self.variance,
            one.request.sequences,
            z * abs(z),
            one.held,
        )
        for place, chance in enumerate(one.row):
            mine = held + HORIZONS[place] * sequences
            room = budget - mean[place] - chance * mine
            spread = variance[place] + chance * (1.0 - chance) * mine * mine
            if room * abs(room) < squared * _FAR_SQUARED[place] * spread:
                return False
        return True

    def peak(self, z: float) -> float:
        """The bound on what will be held at the highest horizon, as of the last look (of now where
        there was none).
        """
        if self.looked_at == NEVER:
            self.look(0.0)
        ahead = zip(self.mean, self.variance, _FAR, strict=True)
        return max(mean + z * share * sqrt(max(0.0, spread)) for mean, spread, share in ahead)

    def admit(self, one: Holding) -> None:
        """The request is on this replica, and in its forecast. `one.row` and `one.held` are those
        of `fits`.
        """
        self.live[one.number] = one
        if one.priority_class is not None:
            self._class_holds(one, one.charge)
        self.sequences += one.request.sequences
        self.most_tokens += self.most(one)
        self.held_tokens += one.held
        if self.most_tokens > self.pool.kv_tokens:
            self._add(one, 1.0)
        else:
            self.looked_at = NEVER  # nothing is forecast, so that the next forecast is a new one

    def class_has_room(self, one: Holding, budget_tokens: int | None) -> bool:
        """True if its priority class, with those below it, stays within its share of the budget, by
        what each request is expected to come to. One request alone always does.
        """
        rule = one.priority_class
        if rule is None or rule.pool_share >= 1.0:
            return True
        held = sum(tokens for rank, tokens in self.class_tokens.items() if rank >= rule.rank)
        return held <= 0.0 or held + one.charge <= rule.pool_share * self.budget(budget_tokens)

    def _class_holds(self, one: Holding, tokens: float) -> None:
        left = self.class_tokens.get(one.rank, 0.0) + tokens
        if left > _NOTHING:
            self.class_tokens[one.rank] = left
        else:
            self.class_tokens.pop(one.rank, None)

    def classes_changed(self) -> None:
        """Recount the tokens of each priority class after a change of the rules."""
        self.class_tokens.clear()
        for one in self.live.values():
            if one.priority_class is not None:
                self._class_holds(one, one.charge)

    def take_back(self, one: Holding) -> None:
        """The request holds nothing here any more."""
        del self.live[one.number]
        if one.priority_class is not None:
            self._class_holds(one, -one.charge)
        self.sequences -= one.request.sequences
        if self.most_tokens > self.pool.kv_tokens:
            self._add(one, -1.0)
        else:
            self.looked_at = NEVER
        self.most_tokens -= self.most(one)
        self.held_tokens -= one.held
        if not self.live:
            self.most_tokens = self.held_tokens = 0.0

    def _add(self, one: Holding, sign: float) -> None:
        mean, variance, sequences, held = self.mean, self.variance, one.request.sequences, one.held
        for place, chance in enumerate(one.row):
            mine = held + HORIZONS[place] * sequences
            part = sign * chance * mine
            mean[place] += part
            variance[place] += part * (1.0 - chance) * mine

    def observe(self, seen: Observation, at: float) -> int:
        """Take in an observation of the engine. Returns the preemptions since the last one.

        Prompts are compared only while nothing waits in the engine: what waits holds nothing yet,
        whatever its reservation says; and while most of what was produced was heard of: at a pace
        that changed since, answers that are not streamed would pass for shared prompts. Prompts
        whose answers have not begun hold nothing or all of their part: what they share lies between
        the two, and counts for less. What is above every prompt by itself and every answer as it is
        reckoned is held by somebody else, or by answers that are longer.
        """
        before, self.preemptions = self.preemptions, seen.preemptions
        self.waiting = seen.waiting
        prompts = produced = unheard = unsettled = 0.0
        sequences = self.sequences
        for one in self.live.values():
            so_far = self.produced_by(one, at)
            produced += one.request.sequences * (so_far + self.block_half if so_far else 0.0)
            unheard += one.request.sequences * (so_far - one.produced)
            if one.produced or (so_far and at - one.admitted_at > _SETTLED_S):
                prompts += one.prompt_tokens
            else:
                unsettled += one.prompt_tokens
        used = seen.usage_ratio * self.pool.kv_tokens
        self.others = max(0, seen.running + seen.waiting - sequences)
        others = self.others > 0
        share, noise = (
            (self.shared_ratio, 0.0)
            if others
            else (1.0, 2.0 * sqrt(sequences * self.block_variance))
        )
        self.foreign_tokens = max(0.0, used - share * (prompts + unsettled) - produced - noise)
        if (
            self.pool.shares_prefixes
            and not seen.waiting
            and not others
            and prompts > 0
            and unheard <= _UNSURE * prompts
        ):
            held, both = used - produced, prompts + unsettled
            said = min(1.0, max(_SHARED_LEAST, held / both, min(held / prompts, self.shared_ratio)))
            weight = (
                _SHARED_LESS
                if said > self.shared_ratio
                else _MUCH_MORE
                if said < _FAR_OFF * self.shared_ratio
                else _SHARED_MORE
            )
            self.shared_ratio += weight * prompts / both * (said - self.shared_ratio)
        if before is None or seen.preemptions < before:
            return 0  # the first look, or the engine began anew
        return seen.preemptions - before
