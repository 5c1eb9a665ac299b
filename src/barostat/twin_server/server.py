"""The seam to uvicorn: the twin listens, is watched over, and ends as vLLM does.

Source: vLLM 0.32.0, entrypoints/launchers/launcher.py (serve_http, watchdog_loop), EngineCore's
shutdown states.
"""

from __future__ import annotations

import asyncio
import contextlib
import copy
import errno
import gc
import os
import signal
import socket
import sys
import time
from collections.abc import Callable, Iterator

import uvicorn

from barostat.core.bounds import CLIENTS
from barostat.core.errors import OutsideError
from barostat.engines.vllm.logs.writer import API, CORE, pool_lines, start_lines, traceback
from barostat.twin_server import core
from barostat.twin_server.app import App
from barostat.twin_server.connection import Connection
from barostat.twin_server.faults import Throttle
from barostat.twin_server.frontend import Frontend
from barostat.twin_server.serving import Serving
from barostat.twin_server.telemetry import Telemetry

WATCHDOG_S = 5.0
_CORE_ENDS_WITHIN_S = 1.0
_THROTTLED_EVERY_S = 0.005
_TURN_S = 0.0005
"""Thread switch interval. During tokenization, the event loop waits this long after each of its
system calls: with the interpreter's default of 5 ms, 500 clients that each send a few bytes would
starve everything else.
"""
_ACCEPTED_AT_ONCE, _BACKLOG = 64, 2048
_TODO = {
    errno.EADDRINUSE: "; say --port N for another, or stop what listens there",
    errno.EACCES: "; say --port N above 1023",
    errno.EADDRNOTAVAIL: "; --host takes an address of this machine",
}


class _Server(uvicorn.Server):
    """uvicorn without its own signal handlers: ours decide the order in which things end."""

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Leave signal handlers alone."""
        yield


def serve(serving: Serving, interrupted: Callable[[], bool]) -> int:
    """Serve until stopped or until the engine dies; return the exit status. `interrupted`: whether
    Ctrl-C was pressed before.

    Errors: OutsideError if the address is not available.
    """
    listener = _listen(serving)
    core_pid, connection = (os.getpid(), None) if serving.refused else core.start(serving)
    telemetry = Telemetry(serving, core_pid)
    for entry in start_lines(serving.start):
        telemetry.write(entry)
    if connection is None:
        return _refuse_to_start(serving, telemetry)
    time.sleep(serving.start_s)
    for entry in pool_lines(serving.start):
        telemetry.write(entry)
    try:
        return asyncio.run(
            _serve(
                serving, Frontend(serving, core_pid, telemetry), listener, connection, interrupted
            )
        )
    finally:
        _end(core_pid)


def _listen(serving: Serving) -> socket.socket:
    listener = socket.socket(socket.AF_INET6 if ":" in serving.host else socket.AF_INET)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((serving.host, serving.port))
    except OSError as error:
        raise _cannot_listen(serving, error) from None
    return listener


def _cannot_listen(serving: Serving, error: OSError) -> OutsideError:
    todo = _TODO.get(error.errno or 0, "")
    return OutsideError(f"{serving.host}:{serving.port}: {error.strerror}{todo}", retryable=False)


def _refuse_to_start(serving: Serving, telemetry: Telemetry) -> int:
    """The log of an engine that does not start, and its exit status."""
    last_frame = (
        ("v1/worker/gpu_model_runner.py", "_allocate_kv_cache_tensors")
        if serving.refused.startswith("torch.")
        else ("v1/core/kv_cache_utils.py", "_check_enough_kv_cache_memory")
    )
    frames = (("v1/engine/core.py", "run_engine_core"), last_frame)
    telemetry.write(
        (
            CORE,
            "ERROR",
            "core.py:1510",
            f"EngineCore failed to start.\n{traceback(frames, serving.refused)}",
        )
    )
    last = (
        "RuntimeError: Engine core initialization failed. See root cause above. Failed core "
        "proc(s): {}"
    )
    telemetry.write(
        (
            API,
            "ERROR",
            "serve.py:140",
            traceback((("v1/engine/utils.py", "wait_for_engine_startup"),), last),
        )
    )
    return 1


def let_others_have_turns() -> None:
    """Shorten the thread switch interval, and exclude loaded modules from garbage collection, which
    stops all threads.
    """
    sys.setswitchinterval(_TURN_S)
    gc.freeze()


async def _serve(
    serving: Serving,
    frontend: Frontend,
    listener: socket.socket,
    connection: socket.socket,
    before: Callable[[], bool],
) -> int:
    app = App(frontend)
    let_others_have_turns()
    lines = copy.deepcopy(uvicorn.config.LOGGING_CONFIG)
    lines["handlers"]["access"]["stream"] = "ext://sys.stderr"
    config = uvicorn.Config(
        app,
        log_config=lines,
        log_level="info",
        access_log=serving.access_log,
        lifespan="on",
        timeout_keep_alive=5,
        limit_concurrency=CLIENTS.most,
        backlog=_ACCEPTED_AT_ONCE,
        http=Connection,
        ws="none",
        loop="asyncio",
        ssl_keyfile=serving.ssl_keyfile or None,
        ssl_certfile=serving.ssl_certfile or None,
    )
    server = _Server(config)
    listening = await frontend.connect(connection)
    told = asyncio.Event()
    loop = asyncio.get_running_loop()

    def interrupted() -> None:
        """A person who presses Ctrl-C again does not wait for clients."""
        server.force_exit = told.is_set()
        told.set()

    loop.add_signal_handler(signal.SIGTERM, told.set)
    loop.add_signal_handler(signal.SIGINT, interrupted)
    if before():
        told.set()
    serving_task = loop.create_task(server.serve(sockets=[listener]))
    others = [listening, loop.create_task(_watch(frontend, server))]
    if serving.log_stats:
        others.append(loop.create_task(_statistics(serving, frontend)))
    shares = [fault.amount for fault in serving.faults if fault.name == "throttle-cpu"]
    if shares:
        others.append(loop.create_task(_throttled(Throttle(shares[0] / 2))))
    while not server.started and not serving_task.done():
        await asyncio.sleep(0.01)
    if server.started:
        listener.listen(_BACKLOG)  # more may wait than are accepted in one turn of the loop
    frontend.tell({"listening": True})
    stopping = loop.create_task(_stop_when_told(serving, frontend, server, told))
    try:
        await serving_task
    except (
        OSError
    ) as error:  # bound by two, who both may share the address, and listened on by the other first
        raise _cannot_listen(serving, error) from None
    finally:
        for task in (*others, stopping):
            task.cancel()
    return 0


async def _stop_when_told(
    serving: Serving, frontend: Frontend, server: _Server, told: asyncio.Event
) -> None:
    """On SIGTERM, stop the core immediately, or when open requests are done or the time-out is
    over; then stop the server.

    Without a shutdown time-out, clients are not notified: the server closes its port and stays
    until they disconnect.
    """
    await told.wait()
    telemetry, timeout_s = frontend.telemetry, serving.shutdown_timeout_s
    mode = "drain" if timeout_s else "abort"
    telemetry.log("INFO", "launcher.py:254", "[shutdown] API server: shutdown triggered")
    telemetry.log(
        "INFO",
        "launcher.py:270",
        f"[shutdown] API server: stopping engine client mode={mode} timeout={timeout_s:g}s",
    )
    telemetry.log(
        "INFO", "utils.py:628", "[shutdown] Process manager: send sigterm to process EngineCore"
    )
    telemetry.write(
        (CORE, "INFO", "core.py:1454", "[shutdown] EngineCore: trigger received signal=SIGTERM")
    )
    frontend.stopping = True
    if timeout_s:
        telemetry.write(
            (
                CORE,
                "INFO",
                "core.py:1635",
                f"[shutdown] EngineCore: start mode=drain timeout={timeout_s:g}s",
            )
        )
        if frontend.in_flight:
            left = f"count={frontend.in_flight} timeout={timeout_s:g}s"
            telemetry.write(
                (
                    CORE,
                    "INFO",
                    "core.py:1655",
                    f"[shutdown] EngineCore: draining in-flight requests {left}",
                )
            )
            await frontend.drained(timeout_s)
        frontend.abort_all()
        text = "[shutdown] EngineCore: request processing complete; starting resource teardown"
        telemetry.write((CORE, "INFO", "core.py:1666", text))
    _end(frontend.core_pid)
    telemetry.log("INFO", "launcher.py:279", "[shutdown] API server: engine client stopped")
    telemetry.log(
        "INFO", "launcher.py:282", "[shutdown] API server: signalling HTTP server shutdown"
    )
    telemetry.log(
        "INFO", "launcher.py:304", "[shutdown] API server: shutting down FastAPI HTTP server"
    )
    server.should_exit = True


async def _watch(frontend: Frontend, server: _Server) -> None:
    """Stop the server when the engine dies: after an error has been reported to a client, or at the
    next watchdog check.
    """
    await frontend.dead.wait()
    if frontend.stopping:
        return
    log = frontend.telemetry.log
    log(
        "WARNING",
        "core_client.py:817",
        "[shutdown] MPClient: engine core exited unexpectedly; starting cleanup",
    )
    error = (
        "vllm.v1.engine.exceptions.EngineDeadError: EngineCore encountered an issue. See stack "
        "trace (above) for the root cause."
    )
    frames = (
        ("v1/engine/async_llm.py", "output_handler"),
        ("v1/engine/core_client.py", "get_output_async"),
    )
    log("ERROR", "async_llm.py:906", f"AsyncLLM output_handler failed.\n{traceback(frames, error)}")
    with contextlib.suppress(TimeoutError):
        await asyncio.wait_for(frontend.told_of_death.wait(), WATCHDOG_S)
    server.should_exit = True


async def _statistics(serving: Serving, frontend: Frontend) -> None:
    """The statistics line, every so often."""
    due_s = time.monotonic()
    while True:
        due_s += serving.log_stats_every_s
        await asyncio.sleep(max(0.0, due_s - time.monotonic()))
        text = frontend.telemetry.statistics.text(time.monotonic())
        if text is not None:
            frontend.telemetry.log("INFO", "loggers.py:335", text)


async def _throttled(throttle: Throttle) -> None:
    """This process is throttled when its CPU quota is used up."""
    while True:
        await asyncio.sleep(_THROTTLED_EVERY_S)
        if (owed_s := throttle.owed_s()) > 0:
            time.sleep(owed_s)


def _end(core_pid: int) -> None:
    """The core is gone: by itself, since its line is closed, else by force."""
    with contextlib.suppress(ProcessLookupError, ChildProcessError):
        os.kill(core_pid, signal.SIGTERM)
        deadline = time.monotonic() + _CORE_ENDS_WITHIN_S
        while os.waitpid(core_pid, os.WNOHANG)[0] == 0:
            if time.monotonic() > deadline:
                os.kill(core_pid, signal.SIGKILL)
                os.waitpid(core_pid, 0)
                break
            time.sleep(0.02)
