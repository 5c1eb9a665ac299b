"""A trace on an engine that runs on this machine: every request at its instant, of its lengths, and when each of its tokens came back.

    answers = replay(engine.url, rows, seed=3)

Open loop: a late answer delays nobody. Prompts are token ids that no two requests share; output lengths are certain (`ignore_eos`).
Everything is encoded before the first request is sent, and of the answer only the events are counted: the engine shares its cores
with this. Loopback only.
"""

from __future__ import annotations

import asyncio
import gc
import json
import random
import socket
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass, field

from dev.load import FIRST_PLAIN_TOKEN, VOCABULARY, loopback

from barostat.twin.request import Row

EVENT = b"data: {"
ENDED, DONE = b'"finish_reason":"length"', b"data: [DONE]"
LAST_BYTES = 1000
LEAD_S = 0.3


@dataclass(slots=True)
class Answer:
    """What became of one row. Seconds from the start of the trace; `sent_s` is when it really was sent; `token_s` one per event: an engine
    that is late may put several tokens into one. `whole`: it says itself that every token came, and ended its stream.
    """

    row: Row
    sent_s: float = 0.0
    token_s: list[float] = field(default_factory=list)
    failed: str = ""
    whole: bool = False


def replay(url: str, rows: Sequence[Row], seed: int, stop: threading.Event | None = None) -> list[Answer]:
    """The trace has been sent and every answer has ended. `seed`: of the prompts' contents. From `stop` on no more requests are sent, and
    what has not been sent by then is left out."""
    host, port = loopback(url)
    dice = random.Random(seed)
    encoded = [_request(host, port, row, dice) for row in rows]
    gc.collect()
    gc.disable()  # a pause of ours would look like one of the engine
    try:
        return asyncio.run(_all(host, port, rows, encoded, stop or threading.Event()))
    finally:
        gc.enable()


async def _all(host: str, port: int, rows: Sequence[Row], encoded: list[bytes], stop: threading.Event) -> list[Answer]:
    start = time.monotonic() + LEAD_S
    sent: list[Answer] = []
    async with asyncio.TaskGroup() as group:
        for row, body in sorted(zip(rows, encoded, strict=True), key=lambda pair: pair[0].arrival_s):
            delay = start + row.arrival_s - time.monotonic()
            if delay > 0:
                await asyncio.sleep(delay)
            if stop.is_set():
                break
            sent.append(Answer(row))
            group.create_task(_one(host, port, body, sent[-1], start))
    return sent


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
                    if (status := piece[:12].partition(b" ")[2]) != b"200":
                        answer.failed = f"status {status.decode(errors='replace') or 'none'}"
                        return
                seen = last[-len(EVENT) + 1 :] + piece
                answer.token_s += [now] * seen.count(EVENT)
                last = (last + piece)[-LAST_BYTES:]
            answer.whole = ENDED in last and DONE in last
    except OSError as error:
        answer.failed = type(error).__name__


def _request(host: str, port: int, row: Row, dice: random.Random) -> bytes:
    prompt = dice.choices(range(FIRST_PLAIN_TOKEN, VOCABULARY), k=row.input_tokens)
    asked = {"model": "tiny", "prompt": prompt, "max_tokens": row.output_tokens, "ignore_eos": True, "temperature": 0, "stream": True}
    body = json.dumps(asked).encode()
    head = (
        f"POST /v1/completions HTTP/1.1\r\nHost: {host}:{port}\r\nContent-Type: application/json\r\n"
        f"Content-Length: {len(body)}\r\nConnection: close\r\n\r\n"
    )
    return head.encode() + body
