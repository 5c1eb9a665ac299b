"""How long one request holds the loop of the twin's server, by kind of request: CPU time of the
process between two beats of the loop.

    python -m tests.support.held_loop [KIND ...]     one line of JSON: by kind [seconds, status]

CPU time, for a busy machine makes every wait longer and no work: what is counted is this process's
own work, be it on the loop or by a thread that holds the interpreter's lock meanwhile. A process of
its own, since a collection of garbage looks at all that the process holds. A kind that is over the
limit is tried three times and the least told: the loop's thread may be woken late while another
works.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
import time
from collections.abc import Callable

from barostat.core.version import parse_version
from barostat.engines.vllm.logs.writer import StartFacts
from barostat.twin.pace import EverySteps
from barostat.twin.settings import KvGroup, Settings
from barostat.twin_server import core
from barostat.twin_server.app import App
from barostat.twin_server.asgi import Message
from barostat.twin_server.frontend import Frontend
from barostat.twin_server.lengths import OutputLengths
from barostat.twin_server.server import let_others_have_turns
from barostat.twin_server.serving import Serving
from barostat.twin_server.telemetry import Telemetry

TRIES, MOST_S = 3, 0.05
_BEAT_S = 0.001
_PIECE = 1 << 16
_MIB = 1 << 20
_CONTEXT = 1 << 20


def _completion(**body: object) -> bytes:
    return json.dumps({"model": "m", "max_tokens": 2, **body}, ensure_ascii=False).encode(
        "utf-8", "surrogatepass"
    )


def _many(piece: bytes, count: int) -> bytes:
    return b'{"model":"m","prompt":[' + piece * count + b"1]}"


KINDS: dict[str, tuple[str, Callable[[], bytes]]] = {
    "333,000 lists": ("/v1/completions", lambda: _many(b"[],", 333_000)),
    "250,000 objects": ("/v1/completions", lambda: _many(b'{"a":1},', 250_000)),
    "as many lists as are read": ("/v1/completions", lambda: _many(b"[],", 49_000)),
    "a million numbers": ("/v1/completions", lambda: _many(b"5,", 990_000)),
    "a million floats": ("/v1/completions", lambda: _many(b"1e5,", 990_000)),
    "a million texts": ("/v1/completions", lambda: _many(b'"x",', 990_000)),
    "a million texts, one of them none": (
        "/v1/completions",
        lambda: _many(b'"x",', 990_000).replace(b"1]", b'"\\ud800"]'),
    ),
    "a number of 11 million digits": (
        "/v1/completions",
        lambda: _completion(temperature=0).replace(b"0", b"1." + b"1" * (11 * _MIB)),
    ),
    "a name of 11 MiB": (
        "/v1/completions",
        lambda: _completion(model="x" * (11 * _MIB), prompt="x"),
    ),
    "11 MiB where yes or no belongs": (
        "/v1/completions",
        lambda: _completion(stream="x" * (11 * _MIB), prompt="x"),
    ),
    "11 MiB of escapes": (
        "/v1/completions",
        lambda: b'{"prompt":"' + rb"\u00e9" * (11 * _MIB // 6) + b'"}',
    ),
    "too deep": ("/v1/completions", lambda: b"[" * 900_000),
    "a prompt as long as the context": (
        "/v1/completions",
        lambda: _completion(prompt=[7] * (_CONTEXT - 60_000)),
    ),
    "a text as long as the context": (
        "/v1/completions",
        lambda: _completion(prompt="ab cd " * (11 * _MIB // 6)),
    ),
    "4,096 prompts": ("/v1/completions", lambda: _completion(prompt=["x"] * 4096)),
    "16,384 answers": ("/v1/completions", lambda: _completion(prompt=[7] * 2000, n=16_384)),
    "16,384 answers to a chat, streamed": (
        "/v1/chat/completions",
        lambda: _completion(messages=[{"role": "user", "content": "x"}], n=16_384, stream=True),
    ),
    "tokens of 11 MiB of text": (
        "/tokenize",
        lambda: _completion(prompt="a b " * (11 * _MIB // 4), return_token_strs=True),
    ),
    "text of a million tokens": ("/detokenize", lambda: _completion(tokens=[50_000] * 990_000)),
}


async def held_s(app: App, path: str, body: bytes) -> tuple[float, int]:
    """The longest that the loop did not come round while that request was answered, and the
    answer's status.
    """
    pieces = [body[start : start + _PIECE] for start in range(0, len(body), _PIECE)][::-1]
    statuses: list[int] = []
    longest_s, done = 0.0, False

    async def receive() -> Message:
        await asyncio.sleep(0)
        if not pieces:
            await asyncio.Event().wait()
        piece = pieces.pop()
        return {"type": "http.request", "body": piece, "more_body": bool(pieces)}

    async def send(message: Message) -> None:
        if "status" in message:
            statuses.append(message["status"])

    async def beat() -> None:
        nonlocal longest_s
        while not done:
            worked_s = time.process_time()
            await asyncio.sleep(_BEAT_S)
            longest_s = max(longest_s, time.process_time() - worked_s)

    beating = asyncio.create_task(beat())
    await app(
        {
            "type": "http",
            "method": "POST",
            "path": path,
            "headers": [(b"content-type", b"application/json")],
        },
        receive,
        send,
    )
    done = True
    await beating
    return longest_s, statuses[0]


def _serving() -> Serving:
    version = parse_version("0.32.0")
    assert version is not None
    settings = Settings(
        kv_blocks=2 * _CONTEXT // 16,
        groups=(KvGroup(16),),
        max_model_len=_CONTEXT,
        max_num_seqs=1024,
    )
    start = StartFacts(version, "org/m", "m", (), "GPU", "", 100, 0, 0.0)
    return Serving(
        settings, EverySteps(1_000_000), version, "org/m", ("m",), 100_000, {}, start, OutputLengths(), tokenized_bytes_per_s=1e9
    )  # fmt: skip


async def measured(kinds: list[str]) -> dict[str, tuple[float, int]]:
    """Each kind, the least of its tries."""
    serving = _serving()
    pid, connection = core.start(serving)
    frontend = Frontend(serving, pid, Telemetry(serving, pid))
    listening = await frontend.connect(connection)
    let_others_have_turns()
    found: dict[str, tuple[float, int]] = {}
    for kind in kinds:
        path, made = KINDS[kind]
        for _ in range(TRIES):
            one = await held_s(App(frontend), path, made())
            found[kind] = min(found.get(kind, one), one)
            if one[0] <= MOST_S:
                break
    listening.cancel()
    return found


if __name__ == "__main__":
    print(json.dumps(asyncio.run(measured(sys.argv[1:] or list(KINDS)))), flush=True)
    os._exit(0)
