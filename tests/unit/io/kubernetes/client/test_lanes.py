"""Requests are spread over the pools by how many each has in progress."""

from __future__ import annotations

import asyncio
from collections import Counter

import httpx

from barostat.io.kubernetes.client.lanes import LANES, Lanes


def test_requests_in_progress_are_spread_and_a_closed_answer_frees_its_lane() -> None:
    """Eight at once use every lane; later ones, one after the other, need no more connections."""

    async def go() -> tuple[Counter[str], int]:
        connections = 0
        waiting = asyncio.Semaphore(0)

        async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            nonlocal connections
            connections += 1
            try:
                while await reader.readuntil(b"\r\n\r\n"):
                    await waiting.acquire()
                    writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok")
                    await writer.drain()
            except (asyncio.IncompleteReadError, ConnectionError):
                writer.close()

        server = await asyncio.start_server(answer, "127.0.0.1", 0)
        url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        lanes = Lanes(False, httpx.Limits(max_connections=16, max_keepalive_connections=16))
        async with httpx.AsyncClient(transport=lanes) as client:
            together = [asyncio.create_task(client.get(url)) for _ in range(2 * LANES)]
            while connections < 2 * LANES:
                await asyncio.sleep(0.01)
            in_progress = Counter(map(str, lanes._in_progress))
            for _ in range(2 * LANES + 3):
                waiting.release()
            await asyncio.gather(*together)
            for _ in range(3):
                await client.get(url)
            assert lanes._in_progress == [0] * LANES
        server.close()
        return in_progress, connections

    in_progress, connections = asyncio.run(go())
    assert in_progress == {"2": LANES}
    assert connections == 2 * LANES


def test_a_request_that_fails_frees_its_lane() -> None:
    async def go() -> None:
        lanes = Lanes(False, httpx.Limits(max_connections=16, max_keepalive_connections=16))
        async with httpx.AsyncClient(transport=lanes) as client:
            for _ in range(3):
                try:
                    await client.get("http://127.0.0.1:9")
                except httpx.ConnectError:
                    continue
            assert lanes._in_progress == [0] * LANES

    asyncio.run(go())
