"""A server that answers with what is no number has kept nothing."""

from __future__ import annotations

import asyncio

import pytest
from tests.support.small_servers import always, answer, serving

from barostat.core.errors import OutsideError
from barostat.io.prometheus.access import Access
from barostat.io.prometheus.client import Prometheus
from barostat.io.prometheus.history import kept

NO_NUMBERS = b'{"status":"success","data":{"result":[{"metric":{},"values":[[1,"NaN"],[2,"+Inf"]]}]}}'


async def asked(port: int) -> None:
    server = Prometheus(Access(f"http://127.0.0.1:{port}"))
    try:
        await kept(server, "", 86_400.0, 1_795_252_969.0)
    finally:
        await server.close()


def test_a_history_without_a_number_is_none() -> None:
    with serving(always(answer(NO_NUMBERS, kind="application/json"))) as (port, _), pytest.raises(OutsideError, match="keeps no series"):
        asyncio.run(asked(port))
