"""Whether a vLLM answers at an address, asked once and shortly."""

from __future__ import annotations

import asyncio

from barostat.engines.vllm.metrics.exposition import names_engine
from barostat.io.engine_http.address import address
from barostat.io.engine_http.http import Answer
from barostat.io.engine_http.route import DirectRoute

PATIENCE_S = 2.0


def is_engine(url: str) -> bool:
    """True if its /metrics are a vLLM's. False also where it does not answer in time."""

    async def asked() -> bool:
        route = DirectRoute(address(url))
        try:
            answer = await route.ask("/metrics", within_s=PATIENCE_S)
        finally:
            await route.close()
        return isinstance(answer, Answer) and answer.status == 200 and names_engine(answer.body)

    return asyncio.run(asked())
