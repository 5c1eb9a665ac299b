"""How long an input is, as the engine itself counts it: asked near a limit only, a few at a time,
beside live requests.
"""

from __future__ import annotations

import asyncio
from collections import deque
from typing import TYPE_CHECKING

import orjson

from barostat.gateway.asking import Asking
from barostat.gateway.desk import Desk
from barostat.gateway.messages.routes import Shape
from barostat.gateway.messages.tokenize_question import TokenizeQuestion, questions_of
from barostat.gateway.question import Question

if TYPE_CHECKING:
    from barostat.gateway.replica import Replica

AT_ONCE = 4
WAITING = 256
WITHIN_S = 5.0
_ABSURD_BYTES_PER_TOKEN = 128
"""No token of a text model is longer: a body above so many bytes for each allowed token is too long
without a count.
"""


class ExactCount:
    """Counts one after the other. What cannot be counted passes or is refused, as the limits'
    failure policy for maxInputTokens says.
    """

    def __init__(self, desk: Desk) -> None:
        self._desk = desk
        self._waiting: deque[Asking] = deque()
        self._tasks: set[asyncio.Task[None]] = set()

    def count(self, exchange: Asking) -> None:
        """The exchange is decided on again once its input is counted."""
        shape = exchange.shape
        assert shape is not None
        limit = self._desk.longest_input(shape)
        if (
            limit is not None
            and not shape.media
            and shape.text_bytes > limit * shape.prompts * _ABSURD_BYTES_PER_TOKEN + 65536
        ):
            exchange.counted(
                self._desk.ask(exchange, shape, -(-shape.text_bytes // _ABSURD_BYTES_PER_TOKEN))
            )
        elif len(self._tasks) < AT_ONCE:
            self._start(exchange)
        elif len(self._waiting) < WAITING:
            self._waiting.append(exchange)
        else:
            self._unknown(exchange, shape)

    def _start(self, exchange: Asking) -> None:
        task = asyncio.get_running_loop().create_task(self._one(exchange))
        self._tasks.add(task)
        task.add_done_callback(self._ended)

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        while self._waiting and len(self._tasks) < AT_ONCE:
            following = self._waiting.popleft()
            if not following.settled:
                self._start(following)

    async def _one(self, exchange: Asking) -> None:
        shape = exchange.shape
        assert shape is not None
        found = await self._prompts(exchange, shape)
        if exchange.settled:
            return
        self._desk.metrics.count(
            "exact_counts_total", outcome="counted" if found is not None else "failed"
        )
        if found is None:
            self._unknown(exchange, shape)
            return
        counts, all_counted = found
        if (
            not shape.media and all_counted
        ):  # before 0.17 a picture counts there as the one token that stands for it
            self._desk.counted(shape, sum(counts))
        longest, limit = max(counts, default=0), self._desk.longest_input(shape)
        too_long = (
            limit is not None and longest > limit
        )  # of one prompt: it is refused for that, however short the others are
        exchange.counted(
            self._desk.ask(exchange, shape, longest * len(counts) if too_long else sum(counts))
        )

    async def _prompts(self, exchange: Asking, shape: Shape) -> tuple[list[int], bool] | None:
        """Tokens of each prompt, and whether all were counted: of several, what is short enough by
        its bytes is not. None for not known.
        """
        replica = self._desk.any_replica(self._desk.not_serving(shape))
        questions = questions_of(shape, exchange.body)
        if questions is None or (questions.asked and replica is None):
            return None
        counts, all_counted = [*questions.known], True
        limit, told = self._desk.longest_input(shape), self._desk.engines_of(shape).counts
        for one in questions.asked:
            assert replica is not None
            text = one.document.get("prompt")
            if limit is not None and type(text) is str and told.bound_of_text(text) <= limit:
                counts.append(min(limit, told.estimate_of_text(shape.route, text)))
                all_counted = False
                continue
            count = await _counted(replica, one, exchange.credentials)
            if count is None:
                return None
            counts.append(count)
        cut = questions.cut if questions.cut != -1 else self._desk.longest_taken(shape)
        return counts if cut is None else [min(count, cut) for count in counts], all_counted

    def _unknown(self, exchange: Asking, shape: Shape) -> None:
        limit = self._desk.longest_input(shape) or 0
        allowed = (
            shape.prompts == 1 and shape.bound <= limit
        )  # only where its cap has room is not known
        if allowed or self._desk.shadow or self._desk.opens("maxInputTokens"):
            exchange.counted(
                self._desk.ask(
                    exchange,
                    shape,
                    min(self._desk.engines_of(shape).counts.estimate(shape), limit * shape.prompts),
                )
            )
        else:
            exchange.uncountable()


async def _counted(replica: Replica, asked: TokenizeQuestion, credentials: bytes) -> int | None:
    """What the engine says, None where it says nothing that can be read. One that lacks the path,
    or will not count there what is longer than its context, is asked in the other form.
    """
    came = await Question(
        replica, b"POST", asked.path, body=orjson.dumps(asked.document), credentials=credentials
    ).asked(WITHIN_S)
    if came is not None and came[0] in (400, 404, 405) and asked.otherwise is not None:
        return await _counted(replica, TokenizeQuestion(b"/tokenize", asked.otherwise), credentials)
    if came is None or came[0] != 200:
        return None
    try:
        count = orjson.loads(came[1])[asked.answered]
    except (orjson.JSONDecodeError, KeyError, TypeError):
        return None
    return count if type(count) is int else None
