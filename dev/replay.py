"""A trace on an engine that runs on this machine: every request at its instant, of its lengths, and
when each of its tokens came back.

    answers = replay(engine.url, rows, seed=3)

Open loop: a late answer delays nobody. Prompts are token ids that no two requests share; output
lengths are certain (`ignore_eos`). Everything is encoded before the first request is sent, and of
the answer only the events are counted: the engine shares its cores with this. Loopback only.
"""

from __future__ import annotations

import asyncio
import contextlib
import gc
import json
import random
import socket
import threading
import time
from collections.abc import Coroutine, Mapping, Sequence
from dataclasses import dataclass, field

from dev.load import FIRST_PLAIN_TOKEN, VOCABULARY, loopback

from barostat.twin.request import Row

EVENT = b"data: {"
ENDED, STOPPED, DONE = b'"finish_reason":"length"', b'"finish_reason":"stop"', b"data: [DONE]"
LAST_BYTES = 1000
LEAD_S = 0.3


@dataclass(slots=True)
class Answer:
    """What became of one row. Seconds from the start of the trace; `sent_s` is when it really was
    sent; `token_s` one per event: an engine that is late may put several tokens into one. `whole`:
    it says itself that every token came, and ended its stream. `status`: 0 where none came; `said`:
    what came with any but 200, with its head. `last`: the last bytes, where `usage` stands.
    """

    row: Row
    sent_s: float = 0.0
    token_s: list[float] = field(default_factory=list)
    failed: str = ""
    whole: bool = False
    status: int = 0
    said: bytes = b""
    last: bytes = b""


def replay(
    url: str, rows: Sequence[Row], seed: int, stop: threading.Event | None = None
) -> list[Answer]:
    """The trace has been sent and every answer has ended. `seed`: of the prompts' contents. From
    `stop` on no more requests are sent, and what has not been sent by then is left out.
    """
    dice = random.Random(seed)
    return replay_encoded(url, rows, [encoded(url, completion(row, dice)) for row in rows], stop)


def replay_encoded(
    url: str,
    rows: Sequence[Row],
    requests: Sequence[bytes],
    stop: threading.Event | None = None,
    until_s: float | None = None,
) -> list[Answer]:
    """The same of requests that are whole already, each for its row. At `until_s` every client
    leaves: what is under way is cut off.
    """
    host, port = loopback(url)
    gc.collect()
    gc.disable()  # a pause of ours would look like one of the engine
    sent: list[Answer] = []
    try:
        asyncio.run(
            _within(_all(host, port, rows, requests, stop or threading.Event(), sent), until_s)
        )
    finally:
        gc.enable()
    return sent


async def _within(work: Coroutine[object, object, None], until_s: float | None) -> None:
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(None if until_s is None else until_s + LEAD_S):
            await work


async def _all(
    host: str,
    port: int,
    rows: Sequence[Row],
    requests: Sequence[bytes],
    stop: threading.Event,
    sent: list[Answer],
) -> None:
    start = time.monotonic() + LEAD_S
    async with asyncio.TaskGroup() as group:
        for row, body in sorted(
            zip(rows, requests, strict=True), key=lambda pair: pair[0].arrival_s
        ):
            delay = start + row.arrival_s - time.monotonic()
            if delay > 0:
                await asyncio.sleep(delay)
            if stop.is_set():
                break
            sent.append(Answer(row))
            group.create_task(_one(host, port, body, sent[-1], start))


async def _one(host: str, port: int, body: bytes, answer: Answer, start: float) -> None:
    loop = asyncio.get_running_loop()
    try:
        with socket.socket() as connection:
            connection.setblocking(False)
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            await loop.sock_connect(connection, (host, port))
            answer.sent_s = time.monotonic() - start
            await loop.sock_sendall(connection, body)
            last = b""
            first = True
            while piece := await loop.sock_recv(connection, 65_536):
                now = time.monotonic() - start
                if first:
                    first = False
                    status = piece[:12].partition(b" ")[2]
                    answer.status = int(status) if status.isdigit() else 0
                    if status != b"200":
                        answer.failed = f"status {status.decode(errors='replace') or 'none'}"
                        answer.said = piece
                        return
                seen = last[-len(EVENT) + 1 :] + piece
                answer.token_s += [now] * seen.count(EVENT)
                last = (last + piece)[-LAST_BYTES:]
            answer.whole, answer.last = (ENDED in last or STOPPED in last) and DONE in last, last
    except OSError as error:
        answer.failed = type(error).__name__


def completion(row: Row, dice: random.Random) -> dict[str, object]:
    """A body: token ids that nobody else has, and an answer that is exactly as long as the row
    says.
    """
    prompt = dice.choices(range(FIRST_PLAIN_TOKEN, VOCABULARY), k=row.input_tokens)
    return {
        "model": "tiny",
        "prompt": prompt,
        "max_tokens": row.output_tokens,
        "ignore_eos": True,
        "temperature": 0,
        "stream": True,
    }


def encoded(url: str, asked: Mapping[str, object], *lines: str) -> bytes:
    """The whole request. `lines`: further lines of its head."""
    host, port = loopback(url)
    body = json.dumps(asked).encode()
    head = [
        f"POST /v1/completions HTTP/1.1\r\nHost: {host}:{port}\r\nContent-Type: application/json",
        *lines,
    ]
    return (
        "\r\n".join([*head, f"Content-Length: {len(body)}\r\nConnection: close\r\n\r\n"]).encode()
        + body
    )
