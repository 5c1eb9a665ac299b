"""The length of an input as the engine itself counts it: asked for inputs that may be too long, a
few at a time, beside live requests.

count --> too long by any count --> decided
  |-----> counted by the engine --> decided by the count
  |-----> no answer, no form      --> decided by the conservative estimate, or by the mean where the
  |                                   limits' failure policy is open
  +-----> as many wait as may     --> 503
"""

from __future__ import annotations

import asyncio
from collections import deque
from typing import TYPE_CHECKING, Literal

import orjson

from barostat.admit.decision import Refused
from barostat.gateway.asking import Asking
from barostat.gateway.desk import Desk
from barostat.gateway.engine_query import EngineQuery
from barostat.gateway.messages.shape import Shape
from barostat.gateway.messages.tokenize_question import TokenizeQuestion, questions_of

if TYPE_CHECKING:
    from barostat.gateway.replica import Replica

AT_ONCE = 4
WAITING = 256
WITHIN_S = 5.0
ALL_WITHIN_S = 10.0
MOST_QUESTIONS = 256
_RETRY_S = 2.0
_ABSURD_BYTES_PER_TOKEN = 128
"""Longer than any token of a text model: a body with more bytes per allowed token is rejected
without counting.
"""

Uncounted = Literal["no-answer", "no-form"]
"""Why there is no count. `no-answer`: there may be one soon. `no-form`: there will be none."""


class ExactCount:
    """Counts inputs, `AT_ONCE` at a time, in the order in which they came."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk
        self._waiting: deque[Asking] = deque()
        self._tasks: set[asyncio.Task[None]] = set()

    def count(self, exchange: Asking) -> None:
        """Have the exchange decided on again once its input is counted."""
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
        elif self._desk.shadow or self._desk.rules.max_input_tokens is None:
            self._decide_by_estimate(exchange, shape)
        else:
            exchange.uncountable(
                Refused(
                    503,
                    "count-queue-full",
                    f"{WAITING} inputs wait to be counted, as many as may",
                    _RETRY_S,
                )
            )

    def _start(self, exchange: Asking) -> None:
        task = asyncio.get_running_loop().create_task(self._count(exchange))
        self._tasks.add(task)
        task.add_done_callback(self._ended)

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        while self._waiting and len(self._tasks) < AT_ONCE:
            following = self._waiting.popleft()
            if not following.settled:
                self._start(following)

    async def _count(self, exchange: Asking) -> None:
        shape, body = exchange.shape, exchange.body
        assert shape is not None
        try:
            async with asyncio.timeout(ALL_WITHIN_S):
                counts = await self._prompts(exchange, shape)
        except TimeoutError:
            counts = "no-answer"
        if exchange.settled:
            return
        failed = counts if isinstance(counts, str) else None
        self._desk.metrics.count("exact_counts_total", outcome="failed" if failed else "counted")
        if isinstance(counts, str):
            self._without_a_count(exchange, shape, counts)
            return
        tokens, all_counted = counts
        if all_counted and not shape.media:  # before vLLM 0.17 a picture counts as one token
            self._desk.counted(shape, sum(tokens))
            self._desk.engines_of(shape).counts.was_counted(
                shape, body, sum(tokens), self._desk.draw
            )
        longest, limit = max(tokens, default=0), self._desk.longest_input(shape)
        # One prompt that is too long has the request refused, however short the others are.
        too_long = limit is not None and longest > limit
        exchange.counted(
            self._desk.ask(exchange, shape, longest * len(tokens) if too_long else sum(tokens))
        )

    async def _prompts(self, exchange: Asking, shape: Shape) -> tuple[list[int], bool] | Uncounted:
        """Return the tokens of each prompt, and whether all were counted: of several, those that
        are short enough by their bytes are not.
        """
        questions = questions_of(shape, exchange.body)
        if questions is None or len(questions.asked) > MOST_QUESTIONS:
            return "no-form"
        replica = self._desk.any_replica(self._desk.not_serving(shape))
        counts, all_counted = [*questions.known], True
        limit, bounds = self._desk.longest_input(shape), self._desk.engines_of(shape).counts
        for question in questions.asked:
            text = question.document.get("prompt")
            if limit is not None and type(text) is str and bounds.bound_of_text(text) <= limit:
                counts.append(min(limit, bounds.estimate_of_text(shape.route, text)))
                all_counted = False
                continue
            if replica is None:
                return "no-answer"
            count = await _counted(replica, question, exchange.credentials)
            if isinstance(count, str):
                return count
            counts.append(count)
        cut = questions.cut if questions.cut != -1 else self._desk.longest_taken(shape)
        return counts if cut is None else [min(count, cut) for count in counts], all_counted

    def _without_a_count(self, exchange: Asking, shape: Shape, why: Uncounted) -> None:
        """Hold it to the limit of the file. To its own context the engine holds it itself."""
        limit = self._desk.rules.max_input_tokens
        if limit is None or self._desk.shadow:
            self._decide_by_estimate(exchange, shape)
            return
        bounds = self._desk.engines_of(shape).counts
        opens = self._desk.opens("maxInputTokens")
        if opens:
            tokens = -(-bounds.estimate(shape) // shape.prompts)
        else:
            tokens = limit + 1 if shape.unbounded else bounds.each(shape, shape.bound)
        if tokens <= limit:
            self._decide_by_estimate(exchange, shape)
            return
        about = "" if shape.unbounded else f"; it may be {tokens} tokens long"
        message = f"the input cannot be counted{{}}{about}, and at most {limit} are served"
        exchange.uncountable(
            Refused(413, "input-not-counted", message.format(" in this form"))
            if why == "no-form"
            else Refused(503, "input-not-counted", message.format(" now"), _RETRY_S)
        )

    def _decide_by_estimate(self, exchange: Asking, shape: Shape) -> None:
        limit = self._desk.longest_input(shape) or 0
        estimate = self._desk.engines_of(shape).counts.estimate(shape)
        exchange.counted(self._desk.ask(exchange, shape, min(estimate, limit * shape.prompts)))


async def _counted(
    replica: Replica, question: TokenizeQuestion, credentials: bytes
) -> int | Uncounted:
    """Ask the engine. If it lacks the path, or will not count inputs longer than its context there,
    use the other form.
    """
    answer = await EngineQuery(
        replica,
        b"POST",
        question.path,
        body=orjson.dumps(question.document),
        credentials=credentials,
    ).asked(WITHIN_S)
    if answer is not None and 400 <= answer[0] < 500:
        if question.otherwise is None:
            return "no-form"
        other = TokenizeQuestion(b"/tokenize", question.otherwise)
        return await _counted(replica, other, credentials)
    if answer is None or answer[0] != 200:
        return "no-answer"
    try:
        count = orjson.loads(answer[1])[question.answered]
    except (orjson.JSONDecodeError, KeyError, TypeError):
        return "no-form"
    return count if type(count) is int and count >= 0 else "no-form"
