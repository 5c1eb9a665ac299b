"""The process that steps: it reads what is to be added and aborted, and sends what each step
brought. One line of JSON per message.

    in:   {"add": [id, [output tokens], first choice, whether more of them follow, digest, priority,
    arrival], "prompt": [token, ...]}
          {"abort": [id, ...]}   {"listening": true}
    out:  {"at": ns, "stats": [running, waiting, usage, lookups, looked up, hit], "outputs": [[id,
    finished, preemptions, first], ...]}

A step lasts what the pace says, measured from when it was due: what comes late is made up for, but
for a stretch in which the whole process stood still. Steps are the only clock of the engine;
nothing here knows HTTP.
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import select
import signal
import socket
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any, NoReturn

from barostat.engines.vllm.logs.writer import CORE, line, out_of_memory, traceback
from barostat.twin.pace import Pace
from barostat.twin.scheduler.live import LiveEngine, LiveRequest, Tick
from barostat.twin.settings import Settings
from barostat.twin.workload.words import Answer
from barostat.twin_server.faults import Throttle
from barostat.twin_server.serving import Serving

_STOOD_STILL_NS = 500_000_000
_TITLE = b"VLLM::EngineCore"
_PR_SET_PDEATHSIG = 1


class _Slowed:
    """A pace whose steps take longer by a factor that can change."""

    def __init__(self, pace: Pace) -> None:
        self.factor = 1.0
        self._pace = pace

    def step_ns(self, prefill_tokens: int, decodes: int, kv_tokens: int, pairs: int = 0) -> int:
        """The duration of such a step."""
        return round(self._pace.step_ns(prefill_tokens, decodes, kv_tokens, pairs) * self.factor)

    def start_ns(self, arrival_ns: int) -> int:
        """Return the start of the step; delegates to the wrapped pace."""
        return self._pace.start_ns(arrival_ns)

    @property
    def empty_ns(self) -> int:
        """Return the duration of an empty step; delegates to the wrapped pace."""
        return self._pace.empty_ns


def start(serving: Serving) -> tuple[int, socket.socket]:
    """The process that steps runs: its id, and the line to it. To be called before anything else is
    running in this process.
    """
    ours, theirs = socket.socketpair()
    sys.stdout.flush()
    sys.stderr.flush()
    signal.pthread_sigmask(
        signal.SIG_BLOCK, {signal.SIGINT}
    )  # neither is interrupted before it knows which of the two it is
    pid = os.fork()
    if pid:
        theirs.close()
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
        return pid, ours
    ours.close()
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    with contextlib.suppress(OSError, ValueError, AttributeError):
        ctypes.CDLL(None).prctl(
            _PR_SET_PDEATHSIG, signal.SIGKILL
        )  # nobody is left behind, not even stopped or hung
        name_process(_TITLE)
    try:
        _Core(serving, theirs).run()
    except (BrokenPipeError, ConnectionResetError):
        os._exit(0)
    except KeyboardInterrupt:
        os._exit(130)
    except BaseException:
        if os.environ.get("BAROSTAT_TRACEBACK"):
            sys.excepthook(*sys.exc_info())
        os._exit(70)
    os._exit(0)


def _stepped(serving: Serving) -> Settings:
    """Return the scheduler's settings. A request for a vector ends in the twin with a token that
    vLLM does not sample, so there is room for one.

    Source: vLLM 0.32.0, Scheduler.num_sampled_tokens_per_step, 0 for pooling models.
    """
    settings = serving.settings
    room = 1 if serving.pooling else 0
    return replace(settings, max_model_len=settings.max_model_len + room)


def name_process(title: bytes) -> None:
    """The process list shows that title for this process: the memory of its arguments is written
    over, as title setters do.

    Source: proc(5), stat fields 48 and 49.
    """
    fields = Path("/proc/self/stat").read_text().rpartition(")")[2].split()
    first, last = int(fields[45]), int(fields[46])
    if last - first > len(title):
        ctypes.memmove(first, title.ljust(last - first, b"\0"), last - first)


class _Core:
    """The stepping process's state. Mutable."""

    def __init__(self, serving: Serving, connection: socket.socket) -> None:
        self._serving = serving
        self._pace = _Slowed(serving.pace)
        self._engine = LiveEngine(_stepped(serving), self._pace)
        self._connection = connection
        self._buffer = b""
        self._prompts: dict[str, list[int]] = {}
        self._due_ns: int | None = None
        self._late: list[LiveRequest] = []
        self._listening_s: float | None = None
        self._faults = [fault for fault in serving.faults if fault.name != "slow-network"]
        shares = [fault.amount for fault in self._faults if fault.name == "throttle-cpu"]
        self._throttle = Throttle(shares[0] / 2) if shares else None

    def run(self) -> None:
        """Step until the other side is gone."""
        while True:
            now_ns = time.monotonic_ns()
            wait_s = self._wait_s(now_ns)
            if select.select([self._connection], [], [], wait_s)[0]:
                if not self._read():
                    return
                if self._due_ns is None and self._engine.unfinished:
                    self._due_ns = time.monotonic_ns()
            self._misbehave()
            if self._due_ns is not None and self._due_ns <= (now_ns := time.monotonic_ns()):
                if now_ns - self._due_ns > _STOOD_STILL_NS:
                    self._due_ns = now_ns
                self._send(self._ticked(self._due_ns))

    def _ticked(self, now_ns: int) -> Tick:
        """Start the next step, without requests that arrived during the last one: with asynchronous
        scheduling it was already composed.

        Source: vLLM 0.32.0, EngineCore.step_with_batch_queue, which reads no request while it waits
        for a step's result.
        """
        tick = self._engine.tick(now_ns)
        late, self._late = self._late, []
        for request in late:
            self._engine.add(request)
        if late and tick.until_ns is None:
            tick.until_ns = now_ns
        return tick

    def _wait_s(self, now_ns: int) -> float | None:
        waits = [] if self._due_ns is None else [max(0, self._due_ns - now_ns) / 1e9]
        if self._listening_s is not None and self._faults:
            waits.append(0.05)
        return min(waits) if waits else None

    def _read(self) -> bool:
        data = self._connection.recv(1 << 20)
        if not data:
            return False
        *lines, self._buffer = (self._buffer + data).split(b"\n")
        for text in lines:
            message: dict[str, Any] = json.loads(text)
            if "add" in message:
                self._add(message["prompt"], *message["add"])
            self._prompts.pop(message.get("left", ""), None)
            for request_id in message.get("abort", ()):
                self._engine.abort(request_id)
                self._late = [request for request in self._late if request.request_id != request_id]
                if self._due_ns is None:
                    self._due_ns = time.monotonic_ns()
            if "listening" in message:
                self._listening_s = time.monotonic()
        return True

    def _add(
        self,
        prompt: list[int],
        request_id: str,
        lengths: list[int],
        first: int,
        more: bool,
        digest: str,
        priority: int,
        arrival_s: float,
    ) -> None:
        """The prompt comes with the first choices of a request; it is kept while more of them
        follow.
        """
        if first:
            prompt = self._prompts.pop(request_id)
        if more:
            self._prompts[request_id] = prompt
        for choice, output_tokens in enumerate(lengths, first):
            answer = Answer(self._serving.seed, digest, choice, self._serving.vocabulary)
            request = LiveRequest(
                f"{request_id}-{choice}", prompt, output_tokens, answer.token, self._serving.settings,
                now_ns=time.monotonic_ns(), arrival_s=arrival_s, priority=priority,
            )  # fmt: skip
            if self._due_ns is not None and self._serving.settings.async_scheduling:
                self._late.append(request)
            else:
                self._engine.add(request)

    def _send(self, tick: Tick) -> None:
        now_ns = time.monotonic_ns()
        self._due_ns = tick.until_ns
        if not tick.stepped and not tick.lookup_requests:
            return
        message = {
            "at": now_ns,
            "stats": [
                tick.running,
                tick.waiting,
                tick.usage_ratio,
                tick.lookup_requests,
                tick.lookup_tokens,
                tick.hit_tokens,
            ],
            "outputs": [
                [out.request_id, out.finished, out.preemptions, out.first] for out in tick.outputs
            ],
        }
        self._connection.sendall(json.dumps(message, separators=(",", ":")).encode() + b"\n")

    def _misbehave(self) -> None:
        if self._throttle is not None and (owed_s := self._throttle.owed_s()) > 0:
            time.sleep(owed_s)
        if self._listening_s is None or not self._faults:
            return
        since_s = time.monotonic() - self._listening_s
        self._pace.factor = 1.0
        for fault in list(self._faults):
            if not fault.active(since_s):
                continue
            if fault.name == "slow-steps":
                self._pace.factor = fault.amount
            elif fault.name == "hang":
                self._faults.remove(fault)
                time.sleep(10**8 if fault.for_s is None else fault.for_s)
            elif fault.name == "kill":
                os.kill(os.getpid(), signal.SIGKILL)
            elif fault.name == "oom":
                self._run_out_of_memory()

    def _run_out_of_memory(self) -> NoReturn:
        """The core ends as one whose step could not allocate."""
        error = out_of_memory(tried_gib=1.24, total_gib=79.11, free_gib=0.39, idle_gib=1.61)
        frames = (
            ("v1/engine/core.py", "run_engine_core"),
            ("v1/engine/core.py", "run_busy_loop"),
            ("v1/executor/uniproc_executor.py", "execute_model"),
            ("v1/worker/gpu_model_runner.py", "execute_model"),
        )
        text = f"EngineCore encountered a fatal error.\n{traceback(frames, error)}"
        stamp = time.strftime("%m-%d %H:%M:%S")
        with contextlib.suppress(OSError):
            print(
                line(CORE, os.getpid(), "ERROR", stamp, "core.py:1512", text),
                file=sys.stderr,
                flush=True,
            )
        self._connection.close()
        os._exit(1)
