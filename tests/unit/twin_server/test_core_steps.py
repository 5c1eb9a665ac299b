"""The stepping process as its other half sees it: when a request that comes in the midst of a step
has its first token.
"""

from __future__ import annotations

import asyncio
import json
import socket
import threading
import time

import pytest

from barostat.core.version import parse_version
from barostat.engines.vllm.logs.writer import StartFacts
from barostat.twin.linear_pace import LinearPace
from barostat.twin.settings import KvGroup, Settings
from barostat.twin_server.core import _Core
from barostat.twin_server.frontend import _AT_ONCE, Frontend, Prompt, WantedSequence
from barostat.twin_server.lengths import OutputLengths
from barostat.twin_server.serving import Serving
from barostat.twin_server.telemetry import Telemetry

STEP_S = 0.2


def serving(*, asynchronous: bool) -> Serving:
    settings = Settings(
        groups=(KvGroup(16),), max_model_len=1000, kv_blocks=200, async_scheduling=asynchronous
    )
    version = parse_version("0.32.0")
    assert version is not None
    start = StartFacts(version, "m", "m", (), "GPU", "", 1000, 0, 0.0)
    return Serving(
        settings, LinearPace(STEP_S), version, "m", ("m",), 100, {}, start, OutputLengths()
    )


@pytest.mark.parametrize(("asynchronous", "steps"), [(True, 2), (False, 1)])
def test_who_comes_during_a_step_is_in_the_next_or_where_that_is_made_up_already_in_the_one_after(
    asynchronous: bool, steps: int
) -> None:
    """Times are those that the core itself tells: (added, scheduled) and when its step began, by
    the ends of the steps around it.
    """
    ours, theirs = socket.socketpair()
    worker = threading.Thread(target=_Core(serving(asynchronous=asynchronous), theirs).run)
    worker.start()
    try:
        _tell(ours, "long", 20)
        time.sleep(1.5 * STEP_S)
        _tell(ours, "late", 2)
        ends: list[int] = []
        firsts: dict[str, tuple[int, list[int]]] = {}
        reader = ours.makefile()
        while "late-0" not in firsts:
            message = json.loads(reader.readline())
            ends.append(message["at"])
            firsts |= {
                one[0]: (message["at"], one[3]) for one in message["outputs"] if one[3] is not None
            }
    finally:
        ours.shutdown(socket.SHUT_RDWR)
        worker.join()
    at_ns, (added_ns, scheduled_ns, _) = firsts["late-0"]
    under_way = next(end for end in ends if end > added_ns)
    assert (at_ns - under_way) / 1e9 == pytest.approx(steps * STEP_S, rel=0.3)
    assert (at_ns - scheduled_ns) / 1e9 == pytest.approx(steps * STEP_S, rel=0.3)


def test_the_prompt_of_who_leaves_between_two_parts_is_kept_no_longer() -> None:
    ours, theirs = socket.socketpair()
    theirs.settimeout(5)
    core = _Core(serving(asynchronous=False), theirs)
    front = Frontend(core._serving, 1, Telemetry(core._serving, 1))

    async def leaves() -> None:
        wanted = WantedSequence(n=3 * _AT_ONCE, max_tokens=2)
        listening = await front.connect(ours)
        asked = asyncio.create_task(front.submit("r", Prompt([1, 2]), wanted, 0.0, []))
        await asyncio.sleep(0)
        assert core._read()
        assert list(core._prompts) == ["r"]
        asked.cancel()
        await asyncio.gather(asked, return_exceptions=True)
        while core._prompts:
            assert core._read()
        listening.cancel()

    asyncio.run(leaves())


def _tell(core: socket.socket, name: str, tokens: int) -> None:
    added = [name, [tokens], 0, False, "digest", 0, time.time()]
    core.sendall(json.dumps({"add": added, "prompt": list(range(20))}).encode() + b"\n")
