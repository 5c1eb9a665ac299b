"""An engine that is not where it was said to be: what is told of its address, and what the same
failure tells of no engine.
"""

from __future__ import annotations

import asyncio

from barostat.core.errors import OutsideError
from barostat.io.engine_http.address import address
from barostat.io.engine_http.http import Failure
from barostat.io.engine_http.route import DirectRoute
from barostat.io.prometheus.access import access
from barostat.io.prometheus.client import Prometheus


def why(host: str) -> str:
    async def asked() -> str:
        route = DirectRoute(address(f"http://{host}:8000"))
        found = await route.ask("/metrics", within_s=5.0)
        await route.close()
        assert isinstance(found, Failure)
        assert found.kind == "no-name"
        return found.why

    return asyncio.run(asked())


def test_a_bare_name_that_does_not_resolve_may_be_a_pods() -> None:
    assert why("no-such-pod").endswith(
        "in a cluster it may be pod/no-such-pod or deploy/no-such-pod"
    )
    assert "in a cluster" not in why("no-such-host.invalid")


def test_that_is_said_of_engines_only() -> None:
    async def asked() -> str:
        server = Prometheus(access("http://no-such-prometheus:9090"))
        try:
            await server.at("up", 0.0)
        except OutsideError as error:
            return str(error)
        finally:
            await server.close()
        return ""

    told = asyncio.run(asked())
    assert "does not resolve" in told
    assert "in a cluster" not in told
