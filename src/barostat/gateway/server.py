"""The gateway as a process: it listens, watches its engines and its limits, and ends without
cutting what can be finished.

SIGTERM: /readyz says 503 at once; new connections are taken for a moment more, until those who
route here have noticed; then what is under way has until the drain time to finish, streams get
their final event, and what is left is cut. A second signal ends it at once. SIGHUP: the limits are
read again.
"""

from __future__ import annotations

import asyncio
import errno
import gc
import resource
import signal
import socket
import ssl
import uuid
from collections.abc import Callable, Coroutine
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from barostat.core.errors import InputError, OutsideError
from barostat.core.extras import how_to_install
from barostat.core.limits import ServingLimits
from barostat.gateway.access_log import AccessLog
from barostat.gateway.client import ClientConnection
from barostat.gateway.desk import Desk
from barostat.gateway.exact_count import ExactCount
from barostat.gateway.live_limits.admin import AdminConnection, AdminDoor
from barostat.gateway.live_limits.limits_in_force import LimitsInForce
from barostat.gateway.messages.target import Listing
from barostat.gateway.messages.tenants import load_keys
from barostat.gateway.metrics import Metrics
from barostat.gateway.replica import Replica
from barostat.gateway.say import say
from barostat.gateway.settings import GatewaySettings
from barostat.gateway.state import Gateway
from barostat.gateway.time_limits import TICK_S, Rounds
from barostat.gateway.tls_chain import chain_of, trusting
from barostat.gateway.watching.engine_log import EngineLog
from barostat.gateway.watching.health import Health
from barostat.io.input_files.secret_file import is_open_to_all, secret_in

if TYPE_CHECKING:
    from barostat.gateway.ext_proc.server import ExternalProcessor
    from barostat.gateway.watching.following import Following
    from barostat.io.redis.shared_budget import SharedBudget

_BACKLOG = 2048
_COLLECTED_AFTER = 20_000  # objects: a request leaves no cycles, and looking for some is a pause
_HANDSHAKE_S = 10.0
_OTHER_FILES = 256
_STILL_ACCEPTS_S = 3.0
_TO_DO = {
    errno.EADDRINUSE: "; say another port, or stop what listens there",
    errno.EACCES: "; say a port above 1023",
    errno.EADDRNOTAVAIL: "; that is no address of this machine",
}


def serve(settings: GatewaySettings) -> int:
    """Serve until stopped; return the exit status.

    Errors: InputError for an invalid file, OutsideError if an address is not available.
    """
    return _run(_Serving(settings).run())


def _run(main: Coroutine[Any, Any, int]) -> int:
    try:
        import uvloop
    except ImportError:  # not made for this platform: slower, and otherwise the same
        return asyncio.run(main)
    code: int = uvloop.run(main)
    return code


class _Serving:
    """One run of the gateway."""

    def __init__(self, settings: GatewaySettings) -> None:
        self._settings = settings
        self._metrics = Metrics()
        self._keys = keys = (
            load_keys(settings.keys_file) if settings.keys_file is not None else None
        )
        self._limits = LimitsInForce(
            settings.limits_file,
            self._metrics,
            with_keys=keys.tenants if keys is not None else None,
        )
        self._token = (
            secret_in(settings.admin_token_file) if settings.admin_token_file is not None else ""
        )
        self._engine_key = (
            secret_in(settings.engine_key_file) if settings.engine_key_file is not None else ""
        )
        self._log = AccessLog(settings.access_log) if settings.access_log is not None else None
        self._tls_chain = chain_of(settings)
        for path in (
            settings.keys_file,
            settings.admin_token_file,
            settings.engine_key_file,
            settings.tls_key,
        ):
            if path is not None and is_open_to_all(path):
                say(f"everybody on this machine can read {path}: chmod 600 {path}")
        self._inside = self._tls_chain.context if self._tls_chain is not None else None
        self._outside = trusting(settings)
        self._public = _listener("--host", settings.host, settings.port)
        self._admin = _listener("--admin-host", settings.admin_host, settings.admin_port)
        connections = _allow_files(settings.bounds.connections)
        self._bounds = replace(settings.bounds, connections=connections)
        self._told = asyncio.Event()
        self._again = asyncio.Event()

    async def run(self) -> int:
        """Run from the first health check to the last byte."""
        settings, rounds = self._settings, Rounds()
        loop = asyncio.get_running_loop()
        loop.set_exception_handler(_say_what_broke)
        replicas = [
            Replica(address, settings.bounds, lambda: rounds.now, self._outside)
            for address in settings.upstreams
        ]
        desk = Desk(
            self._limits.limits(rounds.now),
            replicas,
            self._metrics,
            loop.time,
            loop.call_soon,
            shadow=settings.shadow,
        )
        gateway = Gateway(
            desk,
            rounds,
            self._metrics,
            bounds=self._bounds,
            keys=self._keys,
            engine_key=self._engine_key,
            log=self._log,
            listing=Listing(settings.allowed_paths),
            allowed_parameters=settings.allowed_parameters,
        )
        desk.counter = ExactCount(desk).count
        told = EngineLog(desk)

        def adopt(limits: ServingLimits, enforce: bool) -> None:
            gateway.adopt(limits, enforce)
            told.misfits()

        def elsewhere(work: Callable[[], Any], done: Callable[[Any], None]) -> None:
            loop.run_in_executor(None, work).add_done_callback(lambda read: done(read.result()))

        self._limits.adopt = adopt
        self._limits.elsewhere = elsewhere
        rounds.on_tick.append(self._limits.tick)
        if self._tls_chain is not None:
            rounds.on_tick.append(self._tls_chain.tick)
        health = Health(desk, gateway.engine_credentials)
        self._listen_to_signals(loop, lambda: self._reload(rounds.now))
        rounds.start(loop)
        following = self._follows(gateway, health)
        if following is not None:
            await following.start()
        await health.first_look()
        health.start()
        public = await loop.create_server(
            lambda: cast("asyncio.Protocol", ClientConnection(gateway)),
            sock=self._public,
            ssl=self._inside,
            backlog=_BACKLOG,
            ssl_handshake_timeout=_HANDSHAKE_S if self._inside is not None else None,
        )
        door = AdminDoor(gateway, self._limits, self._token)
        admin = await loop.create_server(lambda: AdminConnection(door), sock=self._admin)
        budget = await self._shared_budget(gateway)
        external = await self._external(gateway)
        self._announce()
        told.all()
        gc.freeze()
        gc.set_threshold(_COLLECTED_AFTER, 50, 50)
        await self._told.wait()
        await self._drain(gateway, public)
        if external is not None:
            await external.stop(settings.bounds.drain_s)
        if budget is not None:
            await budget.close()
        if following is not None:
            await following.stop()
        await health.stop()
        rounds.stop()
        admin.close()
        for replica in desk.replicas.values():
            replica.close()
        if self._log is not None:
            self._log.flush()
        return 0

    def _follows(self, gateway: Gateway, health: Health) -> Following | None:
        """The pods of a Deployment as engines, where one is named."""
        if self._settings.follow is None:
            return None
        from barostat.gateway.watching.following import Following

        return Following(
            self._settings.follow, gateway, health, self._settings.bounds, self._outside
        )

    async def _shared_budget(self, gateway: Gateway) -> SharedBudget | None:
        """This gateway's part in the shared budgets, if configured: only then Redis is needed."""
        settings = self._settings
        if settings.shared_budget is None:
            return None
        try:
            from barostat.gateway.shared_entry import SharedEntry
            from barostat.io.redis.shared_budget import SharedBudget
        except ImportError:
            raise InputError(
                f"needs the Redis client: {how_to_install('budget')}", "--shared-budget"
            ) from None
        try:
            opens = gateway.desk.opens("kvTokenBudget")
            budget = SharedBudget(
                settings.shared_budget, settings.shared_budget_name, uuid.uuid4().hex, opens=opens
            )
        except ValueError:
            raise InputError(
                "is no URL of a Redis; write it as redis://host:6379/0", "--shared-budget"
            ) from None
        await budget.start()
        gateway.shared = shared = SharedEntry(gateway.desk, budget)
        gateway.rounds.on_tick.append(shared.look)
        return budget

    async def _external(self, gateway: Gateway) -> ExternalProcessor | None:
        """The external processor, if configured: only then gRPC is needed."""
        if self._settings.ext_proc is None:
            return None
        try:
            from barostat.gateway.ext_proc.server import ExternalProcessor, listen_address
        except ImportError:
            raise InputError(
                f"needs gRPC and Envoy's messages: {how_to_install('envoy')}", "--ext-proc"
            ) from None
        external = ExternalProcessor(gateway, listen_address(self._settings.ext_proc))
        await external.start()
        say(f"external processor on {external.address}")
        return external

    def _reload(self, now: float) -> None:
        self._limits.reload(now)
        if self._tls_chain is not None:
            self._tls_chain.reload()
        if self._log is not None:
            self._log.reopen()

    def _listen_to_signals(self, loop: asyncio.AbstractEventLoop, reload: Any) -> None:
        def stop() -> None:
            (self._again if self._told.is_set() else self._told).set()

        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, stop)
        loop.add_signal_handler(signal.SIGHUP, reload)

    def _announce(self) -> None:
        settings = self._settings
        public = f"http{'s' if self._inside is not None else ''}://{_in_url(settings.host)}:{settings.port}"
        lines = [
            (
                f"listening on {public}, metrics on "
                f"http://{_in_url(settings.admin_host)}:{settings.admin_port}/metrics"
            )
        ]
        if settings.shadow:
            lines.append("in shadow: nothing is refused or changed, what would be is counted")
        most = self._bounds.connections
        if most < settings.bounds.connections:
            lines.append(
                f"this process may open few files: at most {most} connections of clients instead "
                f"of {settings.bounds.connections}; raise the limit (ulimit -Hn)"
            )
        for line in lines:
            say(line)

    async def _drain(self, gateway: Gateway, public: asyncio.Server) -> None:
        """Wait for open requests until the drain time is over."""
        loop, bounds = asyncio.get_running_loop(), self._settings.bounds
        gateway.draining = True
        began = loop.time()
        count, most = (
            _under_way(gateway),
            f"{bounds.drain_s:g} s at most; a second signal ends it at once",
        )
        say(f"told to stop; {count} requests are under way, for {most}")
        closed = False
        while not self._again.is_set() and loop.time() - began < bounds.drain_s:
            idle = not _under_way(gateway)
            if not closed and (loop.time() - began >= min(_STILL_ACCEPTS_S, bounds.drain_s / 2)):
                public.close()
                closed = True
                for client in tuple(gateway.clients):
                    client.close_if_idle()
            if closed and idle:
                break
            await asyncio.sleep(TICK_S)
        public.close()
        for client in tuple(gateway.clients):
            client.drain()
        await asyncio.sleep(TICK_S)
        for client in tuple(gateway.clients):
            client.cut_off()
        await asyncio.sleep(0)


def _in_url(host: str) -> str:
    return f"[{host}]" if ":" in host else host


def _allow_files(connections: int) -> int:
    """Raise the limit of open files for that many connections: one to the client, one to an engine
    each, and some more. Return the number of connections that the limit allows.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = 2 * connections + _OTHER_FILES
    if soft != resource.RLIM_INFINITY and soft < wanted:
        soft = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    if soft == resource.RLIM_INFINITY or soft >= wanted:
        return connections
    return max(16, (soft - min(_OTHER_FILES, soft // 4)) // 2)


def _under_way(gateway: Gateway) -> int:
    """Requests that have not come whole, whose answer is not complete, or not sent."""
    return sum(client.is_busy for client in gateway.clients)


def _say_what_broke(_: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
    """Log a bug in one connection, which ends that connection, without any request content."""
    error, transport = context.get("exception"), context.get("transport")
    if isinstance(error, ConnectionError | TimeoutError | ssl.SSLError):
        return
    where = ""
    if error is not None and error.__traceback__ is not None:
        last = error.__traceback__
        while last.tb_next is not None:
            last = last.tb_next
        where = f" at {Path(last.tb_frame.f_code.co_filename).name}:{last.tb_lineno}"
    say(f"this is a bug: {type(error).__name__}{where} ({context.get('message')})")
    if transport is not None:
        transport.abort()


def _listener(option: str, host: str, port: int) -> socket.socket:
    try:
        family, kind, proto, _, address = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
    except (OSError, UnicodeError) as error:  # a name that cannot be looked up at all is the second
        why = error.strerror if isinstance(error, OSError) else "no name of a host"
        raise InputError(f"is no address to listen on ({why})", f"{option} {host!r}") from None
    listener = socket.socket(family, kind, proto)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind(address)
    except OSError as error:
        listener.close()
        raise OutsideError(
            f"{host}:{port}: {error.strerror}{_TO_DO.get(error.errno or 0, '')}", retryable=False
        ) from None
    listener.setblocking(False)
    return listener
