"""A plain reverse proxy in aiohttp, as a team writes it in an afternoon: what bench/gateway.py
measures as `aiohttp`.

python aiohttp_proxy.py PORT UPSTREAM_URL
"""

import sys

import uvloop
from aiohttp import ClientSession, ClientTimeout, TCPConnector, web

SKIPPED = frozenset({"host", "content-length", "transfer-encoding", "connection", "keep-alive"})
SESSION = web.AppKey("session", ClientSession)


async def _pass_on(request: web.Request) -> web.StreamResponse:
    """The upstream's answer, streamed."""
    headers = {
        name: value for name, value in request.headers.items() if name.lower() not in SKIPPED
    }
    body = await request.read()
    async with request.app[SESSION].request(
        request.method, sys.argv[2] + request.path_qs, headers=headers, data=body
    ) as answer:
        kept = {
            name: value for name, value in answer.headers.items() if name.lower() not in SKIPPED
        }
        response = web.StreamResponse(status=answer.status, headers=kept)
        response.content_length = answer.content_length
        await response.prepare(request)
        async for piece in answer.content.iter_any():
            await response.write(piece)
        await response.write_eof()
        return response


async def _application() -> web.Application:
    application = web.Application(client_max_size=200 << 20)
    application[SESSION] = ClientSession(
        connector=TCPConnector(limit=0), timeout=ClientTimeout(total=None), auto_decompress=False
    )
    application.router.add_route("*", "/{path:.*}", _pass_on)
    return application


if __name__ == "__main__":
    uvloop.install()
    web.run_app(
        _application(),
        host="127.0.0.1",
        port=int(sys.argv[1]),
        access_log=None,
        print=lambda *_: None,
    )
