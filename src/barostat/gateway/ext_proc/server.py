"""The external processor listens: gRPC `ext_proc` v3 on grpc.aio, a stream for each HTTP request,
the rest shared with the embedded form.

    Envoy --headers, body--> Call --ask--> Desk (ledger, queue, tenants)      the same process, metrics, limits and health looks
          <--engine | answer--

Only what Envoy is configured to send comes here; docs/guide/gateway-envoy.md has the configuration.
The health service is on the same port.
"""

from __future__ import annotations

import asyncio
import contextlib
import ipaddress
import socket
from typing import Any

import grpc
import grpc.aio
from envoy.service.ext_proc.v3.external_processor_pb2 import ProcessingRequest, ProcessingResponse

from barostat.core.errors import InputError, OutsideError
from barostat.core.whole_number import whole_number
from barostat.gateway.engine_query import EngineQuery
from barostat.gateway.ext_proc.call import Call
from barostat.gateway.ext_proc.pace import Pace
from barostat.gateway.replica import UpstreamAddress
from barostat.gateway.state import Gateway

SERVICE = "envoy.service.ext_proc.v3.ExternalProcessor"
_LOOK_EVERY_S = 1.0
_PACE_EVERY_S = 2.0
_METRICS_WITHIN_S = 2.0


def listen_address(text: str) -> str:
    """The address that --ext-proc was given, HOST:PORT. Errors: InputError where it is none."""
    host, colon, port = text.rpartition(":")
    if not colon or not host or not 0 < (whole_number(port) or 0) < 65536:
        raise InputError(
            "is no address to listen on; write it as 127.0.0.1:9002", f"--ext-proc {text}"
        )
    return text


def endpoint_of(address: UpstreamAddress) -> str:
    """IP address and port of an engine, as Envoy wants its destination. Errors: InputError where
    the name has no address.
    """
    with contextlib.suppress(ValueError):
        found = ipaddress.ip_address(address.host)
        return f"[{found}]:{address.port}" if found.version == 6 else f"{found}:{address.port}"
    try:
        resolved = socket.getaddrinfo(address.host, address.port, type=socket.SOCK_STREAM)[0]
    except OSError as error:
        raise InputError(f"has no address ({error.strerror})", address.host) from None
    host = str(resolved[4][0])
    return f"[{host}]:{address.port}" if ":" in host else f"{host}:{address.port}"


class ExternalProcessor:
    """The gRPC server and its open calls. `endpoints`: the engines' addresses by name.
    `shows_heads`: Envoy sends response headers (known once one arrived).
    """

    def __init__(self, gateway: Gateway, address: str) -> None:
        """Errors: InputError where the name of an engine has no address."""
        self.gateway = gateway
        self.address = address
        self.endpoints = {
            name: endpoint_of(replica.address) for name, replica in gateway.desk.replicas.items()
        }
        self.calls: set[Call] = set()
        self.shows_heads = False
        self._paces: dict[str, Pace] = {name: Pace() for name in self.endpoints}
        self._tasks: list[asyncio.Task[None]] = []
        most = gateway.bounds.body_bytes + (1 << 20)
        sizes = [
            ("grpc.max_receive_message_length", most),
            ("grpc.max_send_message_length", most),
            ("grpc.so_reuseport", 0),
        ]
        self._server = grpc.aio.server(options=sizes)
        process = grpc.stream_stream_rpc_method_handler(
            self._process,
            request_deserializer=ProcessingRequest.FromString,
            response_serializer=ProcessingResponse.SerializeToString,
        )
        health = grpc.unary_unary_rpc_method_handler(self._health)
        self._server.add_generic_rpc_handlers(
            (
                grpc.method_handlers_generic_handler(SERVICE, {"Process": process}),
                grpc.method_handlers_generic_handler("grpc.health.v1.Health", {"Check": health}),
            )
        )

    def pace_of(self, name: str) -> Pace:
        """How fast that engine makes tokens."""
        return self._paces[name]

    async def start(self) -> None:
        """Start listening. Errors: OutsideError if the address cannot be bound."""
        try:
            self._server.add_insecure_port(self.address)
        except RuntimeError:
            raise OutsideError(
                f"{self.address}: not to be had; say another port, or stop what listens there",
                retryable=False,
            ) from None
        await self._server.start()
        loop = asyncio.get_running_loop()
        self._tasks = [loop.create_task(self._look()), loop.create_task(self._learn_pace())]

    async def stop(self, grace_s: float) -> None:
        """Stop after `grace_s` seconds for open calls."""
        for task in self._tasks:
            task.cancel()
        await self._server.stop(grace_s)
        for call in tuple(self.calls):
            call.end(cut=True)

    async def _process(
        self, _: Any, context: grpc.aio.ServicerContext[ProcessingRequest, ProcessingResponse]
    ) -> None:
        call = Call(self)
        self.calls.add(call)
        whole = False
        try:
            while (message := await context.read()) is not grpc.aio.EOF:
                for told in await call.take(message):
                    await context.write(told)
            whole = True
        finally:
            self.calls.discard(call)
            call.end(cut=not whole)

    async def _health(self, _: bytes, __: object) -> bytes:
        """grpc.health.v1: field 1 is 1 where requests are wanted (SERVING), else 2."""
        return b"\x08\x02" if self.gateway.not_ready() else b"\x08\x01"

    async def _look(self) -> None:
        while True:
            await asyncio.sleep(_LOOK_EVERY_S)
            for call in tuple(self.calls):
                call.look()

    async def _resolve_again(self, name: str, address: UpstreamAddress) -> None:
        """A name that has another address by now; one that has none for a moment keeps its last."""
        with contextlib.suppress(InputError):
            self.endpoints[name] = await asyncio.get_running_loop().run_in_executor(
                None, endpoint_of, address
            )

    async def _learn_pace(self) -> None:
        desk = self.gateway.desk
        while True:
            for name, replica in desk.replicas.items():
                await self._resolve_again(name, replica.address)
                came = await EngineQuery(replica, b"GET", b"/metrics").asked(_METRICS_WITHIN_S)
                if came is not None and came[0] == 200:
                    self._paces[name].seen(came[1], desk.clock())
            await asyncio.sleep(_PACE_EVERY_S)
