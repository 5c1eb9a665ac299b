"""What bench/overload.py sends, and what came of it: requests whose answers nobody knows the length
of, a run, and its judgement.

An answer ends by chance: of two tokens that may be sampled one is the end, with the chance that
makes answers as long as wanted on average (they are then spread like the exponential). All state
the same output limit. So neither the engine nor the gateway can know.
"""

from __future__ import annotations

import json
import math
import random
import re
import threading
import time
import urllib.request
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean

from dev.load import FIRST_PLAIN_TOKEN, VOCABULARY
from dev.replay import LEAD_S, Answer, encoded, replay_encoded

from barostat.engines.vllm.metrics import exposition
from barostat.twin.request import Row
from barostat.twin.summary import spread

OUTPUT_LIMIT, OUTPUT_MEAN = 1024, 200
PROMPT = (300, 700)
SHARED, OWN, PREFIXES = 1024, (20, 60), 6
END, OTHER = 1, 9
"""Token ids: of the end, and of the one other that may come."""
RAMP_S = 3.0
LAST_TOKEN_S = 0.5
"""An answer whose last token came no longer than this before the clients left was under way
then.
"""
_USAGE = re.compile(rb'"completion_tokens":(\d+)')
_COUNTED = (
    "vllm:generation_tokens_total",
    "vllm:num_preemptions_total",
    "vllm:num_requests_running",
    "vllm:num_requests_waiting",
)
CLEAR = frozenset({400, 413, 429, 503})


@dataclass(frozen=True, slots=True)
class Stretch:
    """Requests at a rate for a while, by one tenant."""

    rate_per_s: float
    from_s: float
    until_s: float
    tenant: str = ""
    shared_prefix: bool = False


@dataclass(frozen=True, slots=True)
class Slo:
    """A good answer: its first token in time, and its mean gap at most so long. Seconds."""

    ttft_s: float
    gap_s: float

    def holds(self, answer: Answer) -> bool:
        """True of an answer that is whole and kept both."""
        return answer.whole and self.kept(answer)

    def kept(self, answer: Answer) -> bool:
        """True of an answer that kept both so far."""
        times = answer.token_s
        return (
            self.begun(answer)
            and (times[-1] - times[0]) / max(1, tokens_of(answer) - 1) <= self.gap_s
        )

    def begun(self, answer: Answer) -> bool:
        """True of an answer whose first token came in time."""
        return bool(answer.token_s) and answer.token_s[0] - answer.row.arrival_s <= self.ttft_s


@dataclass(frozen=True, slots=True)
class Run:
    """One run as it was. `counted`: the engine's counters over the judged part, in the order of
    `_COUNTED`.
    """

    answers: Sequence[Answer]
    tenants: Sequence[str]
    seconds: float
    tokens: float
    preemptions: float
    begun: int

    def good_per_s(self, slo: Slo) -> float:
        """Good answers that ended in the judged part, per second."""
        ended = (
            one
            for one in self.answers
            if one.token_s and RAMP_S <= one.token_s[-1] < RAMP_S + self.seconds
        )
        return sum(map(slo.holds, ended)) / self.seconds

    def answered_per_s(self) -> float:
        """Whole answers that ended in the judged part, per second."""
        return (
            sum(
                one.whole and RAMP_S <= one.token_s[-1] < RAMP_S + self.seconds
                for one in self.answers
                if one.token_s
            )
            / self.seconds
        )

    @property
    def tokens_per_s(self) -> float:
        """Tokens that the engine made in the judged part, per second."""
        return self.tokens / self.seconds

    @property
    def preempted_ratio(self) -> float:
        """Preemptions over answers that began, from the first on: no less than the share of them
        that was preempted.
        """
        return self.preemptions / max(1, self.begun)

    def refusals(self) -> Counter[str]:
        """Answers with a no, by status and reason; what is not clear is called so."""
        return Counter(refused(one) for one in self.answers if one.status not in (0, 200))

    def failed(self) -> int:
        """Requests that came to nothing without a word."""
        return sum(bool(one.failed) and one.status == 0 for one in self.answers)

    def good_ratio(self, slo: Slo, tenant: str, until_s: float) -> float:
        """Of this tenant's requests that came until then: how many were good. Cut by the end of the
        run and good so far: not counted.
        """
        came = self.own(slo, tenant, until_s)
        return sum(map(slo.holds, came)) / max(1, len(came))

    def missed(self, slo: Slo, tenant: str, until_s: float) -> Counter[str]:
        """What the others of them were: refused, begun too late or not at all, or with gaps too
        long.
        """
        not_good = (one for one in self.own(slo, tenant, until_s) if not slo.holds(one))
        return Counter(
            "refused" if one.status not in (0, 200) else "slow" if slo.begun(one) else "late"
            for one in not_good
        )

    def own(self, slo: Slo, tenant: str, until_s: float) -> list[Answer]:
        """Of this tenant's requests that came until then: all whose end tells whether they were
        good.
        """
        own = (
            one
            for one, who in zip(self.answers, self.tenants, strict=False)
            if who == tenant and one.row.arrival_s < until_s
        )
        return [one for one in own if not self.cut_by_the_end(one, slo)]

    def cut_by_the_end(self, one: Answer, slo: Slo) -> bool:
        """True of an answer that was under way, and good so far, when the clients left."""
        left_at = RAMP_S + self.seconds - LAST_TOKEN_S
        return not one.whole and bool(one.token_s) and one.token_s[-1] >= left_at and slo.kept(one)

    def ttft_p99_s(self) -> float:
        """Of answers that began."""
        found = spread(
            one.token_s[0] - one.row.arrival_s for one in self.answers if one.token_s
        ).p99
        return math.nan if found is None else found

    def gap_mean_s(self) -> float:
        """Mean of the answers' mean gaps."""
        whole = [one for one in self.answers if one.whole and tokens_of(one) > 1]
        return (
            fmean((one.token_s[-1] - one.token_s[0]) / (tokens_of(one) - 1) for one in whole)
            if whole
            else math.nan
        )


def tokens_of(answer: Answer) -> int:
    """Of the answer, as the engine says at its end; else what came."""
    said = _USAGE.findall(answer.last)
    return int(said[-1]) if said else len(answer.token_s)


def refused(answer: Answer) -> str:
    """Status and reason of a refusal, `unclear` before it where a client could not tell what to
    do.
    """
    head, _, body = answer.said.partition(b"\r\n\r\n")
    fields = head.lower()
    reason = re.search(rb"x-barostat-reason: (\S+)", fields)
    name = f"{answer.status} {reason[1].decode() if reason else 'without a reason'}"
    try:
        worded = bool(json.loads(body)["error"]["message"])
    except (ValueError, KeyError, TypeError):
        worded = False
    later = answer.status in (400, 413) or b"retry-after: " in fields
    return name if answer.status in CLEAR and reason and worded and later else f"unclear {name}"


def run(
    url: str,
    engine: str,
    stretches: Sequence[Stretch],
    seed: int,
    keys: dict[str, str] | None = None,
) -> Run:
    """All of them sent to `url`, judged from RAMP_S to the end, when every client leaves; the
    engine is empty before and after.
    """
    dice = random.Random(f"overload/{seed}")
    planned = sorted((at, one) for one in stretches for at in _arrivals(one, dice))
    until_s = max(one.until_s for one in stretches)
    rows, bodies = [], []
    prefixes = [_tokens(dice, SHARED) for _ in range(PREFIXES)]
    for number, (at, one) in enumerate(planned):
        prompt = (
            dice.choice(prefixes) + _tokens(dice, dice.randint(*OWN))
            if one.shared_prefix
            else _tokens(dice, dice.randint(*PROMPT))
        )
        rows.append(Row(str(number), at, len(prompt), OUTPUT_LIMIT))
        lines = (f"Authorization: Bearer {keys[one.tenant]}",) if keys else ()
        bodies.append(encoded(url, _asked(prompt), *lines))
    _until_empty(engine)
    watch = _Watch(engine, until_s)
    answers = replay_encoded(url, rows, bodies, until_s=until_s)
    begun, ramped, ended = watch.read()
    _until_empty(engine)
    with_token = sum(bool(one.token_s) for one in answers)
    tenants = [one.tenant for _, one in planned]
    return Run(
        answers, tenants, until_s - RAMP_S, ended[0] - ramped[0], ended[1] - begun[1], with_token
    )


def _arrivals(one: Stretch, dice: random.Random) -> list[float]:
    found: list[float] = []
    at = one.from_s + dice.expovariate(one.rate_per_s)
    while at < one.until_s:
        found.append(at)
        at += dice.expovariate(one.rate_per_s)
    return found


def _tokens(dice: random.Random, count: int) -> list[int]:
    return dice.choices(range(FIRST_PLAIN_TOKEN, VOCABULARY), k=count)


def _asked(prompt: list[int]) -> dict[str, object]:
    return {
        "model": "tiny", "prompt": prompt, "max_tokens": OUTPUT_LIMIT, "temperature": 1, "stream": True,
        "stream_options": {"include_usage": True}, "allowed_token_ids": [END, OTHER], "logit_bias": {str(END): -math.log(OUTPUT_MEAN - 1)},
    }  # fmt: skip


def counters(engine: str) -> tuple[float, ...]:
    """What the engine has counted, in the order of `_COUNTED`."""
    with urllib.request.urlopen(f"{engine}/metrics", timeout=30) as page:
        read = exposition.read(page.read().decode())
    return tuple(sum(sample.value for sample in read.named(name)) for name in _COUNTED)


def _until_empty(engine: str, within_s: float = 60.0) -> None:
    deadline = time.monotonic() + within_s
    while any(counters(engine)[2:]):
        if time.monotonic() > deadline:
            raise SystemExit(
                f"overload: the engine still has requests {within_s:.0f} s after its clients left"
            )
        time.sleep(0.2)


class _Watch:
    """The engine's counters at the beginning, at the end of the ramp, and just before the end."""

    def __init__(self, engine: str, until_s: float) -> None:
        self._found: list[tuple[float, ...]] = []
        self._thread = threading.Thread(target=self._run, args=(engine, until_s), daemon=True)
        self._thread.start()

    def _run(self, engine: str, until_s: float) -> None:
        began = time.monotonic() + LEAD_S
        for at_s in (0.0, RAMP_S, until_s - 0.1):
            time.sleep(max(0.0, began + at_s - time.monotonic()))
            self._found.append(counters(engine))

    def read(self) -> tuple[tuple[float, ...], ...]:
        """All three. Errors: SystemExit where the engine did not say."""
        self._thread.join(60)
        if len(self._found) != 3:
            raise SystemExit("overload: the engine's metrics could not be read")
        return tuple(self._found)
