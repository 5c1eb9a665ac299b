"""One life of the engine while its log is being read: what was set, what happened, and what a later
success outweighs.

banner ... arguments ... configuration ... weights, pool, graphs ... ready ... statistics ...
failure or SIGTERM `---------------- starting ----------------------------------------'
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable

from barostat.core.config import ConfigScalar, ConfigValue
from barostat.engines.vllm.logs.lines import LogEvent, LoggedStep, StatsLine
from barostat.engines.vllm.logs.rule import Phase, in_service, phase_of
from barostat.engines.vllm.logs.rules import NO_FAILURE, RULES
from barostat.engines.vllm.logs.text import QUOTED, quote

STATS_KEPT = 4_000
STEPS_KEPT = 20_000
"""The latest step lines of each engine: some minutes of them, and enough for a pace."""
_FRAMES_AFTER = 60
"""Lines after an OOM within which a traceback still belongs to it: some printers put the message
first.
"""

# Failures that an engine which goes on generating has evidently survived.
_SURVIVABLE = (
    "gpu_oom",
    "gpu_oom_serving",
    "rpc_timeout",
    "collective_timeout",
    "gpu_program_error",
    "shm_too_small",
    "host_oom",
    "unclassified_error",
)
# What explains a broken collective better than the collective itself, and a dead engine in any
# case.
_ROOTS = (
    "gpu_oom",
    "gpu_oom_startup",
    "gpu_oom_graph_capture",
    "gpu_oom_serving",
    "shm_too_small",
    "gpu_fault",
    "gpu_program_error",
    "host_oom",
    "broken_install",
    "invalid_config",
)


_OF_A_START = frozenset(rule.kind for rule in RULES if rule.starting) - {"unclassified_error"} | {
    "gpu_oom",
    "gpu_oom_graph_capture",
}
_HEADED = frozenset(rule.kind for rule in RULES if rule.starting and rule.weak)
"""Failures of a start that have lines of their own for what only heads or follows them: such a line
counts until the failure is read.
"""
_A_COMPILER_ENDED = "returned non-zero exit status"
_BENEATH_A_COMPILER = ("storage_refused", "host_oom", "shm_too_small", "fd_limit")
_DIED_AT_WORK = "EngineCore encountered a fatal error"
"""vLLM says this of a core that had started; of one that had not it says `EngineCore failed to
start`.
"""


_FAILED_TO_START = ("failed to start", "initialization failed")
"""vLLM's messages for a core or worker that failed to start, whatever the reason."""
_WAITS_FOR_CARDS = "placement group of specs"
_GAVE_UP_ON_A_START = "Timed out waiting for engine"
_NCCL_WARNS = "CCL WARN "
_FATAL_SIGNAL = "ot fatal signal from worker processes"
"""Last message of the server in vLLM 0.7 and 0.8, after an exception in a core or worker."""
_WAITS_OF_A_START = 20
"""Minutes that loading, compiling and capturing may keep the workers from answering; a start of a
large model took thirteen.
"""
_PEER = "gloo/transport/"
"""Gloo's words for a connection that the other side closed."""


class _Happened:
    """All lines of one kind so far."""

    __slots__ = ("count", "fields", "first_at", "last_at", "text", "weak")

    def __init__(self, at: float) -> None:
        self.count = 0
        self.first_at = self.last_at = at
        self.text = ""
        self.fields: dict[str, str] = {}
        self.weak = True

    def event(self, kind: str) -> LogEvent:
        return LogEvent(
            kind,
            self.count,
            self.first_at,
            self.last_at,
            quote(self.text),
            tuple(sorted(self.fields.items())),
        )


class Life:
    """Everything that the current life has shown so far. Bounded: one entry per kind, a ring of
    statistics lines, a ring of frames.
    """

    def __init__(self) -> None:
        self.stage = -1
        self.starter = ""
        self.began_at: float | None = None
        self.last_at: float | None = None
        self.ready = 0
        self.came_up = False
        self.progressed = False
        self.starting = False
        self.loading = False
        self.fatal_signal = False
        self.failed_to_start = False
        self.capturing = False
        self.settings: dict[str, ConfigValue] = {}
        self.pools: dict[str, int] = {}
        self.stats: deque[StatsLine] = deque(maxlen=STATS_KEPT)
        self.stats_seen = 0
        self.steps: dict[str, deque[LoggedStep]] = {}
        self.frames: deque[str] = deque(maxlen=80)
        self.outweighed: dict[str, _Happened] = {}
        self._happened: dict[str, _Happened] = {}
        self._open_oom: tuple[str, float, dict[str, str]] | None = None
        self._open_left = 0
        self._generating_lines = 0

    # --- what the reader tells

    def begins_anew(self, stage: int, starter: str) -> bool:
        """True if a start line (0 banner, 1 arguments, 2 configuration) of this process belongs to
        a new life.

        One start prints all three, and every data-parallel engine prints the last:
        only a start that goes back, after something came of the one before, is a new life.
        """
        works = self.serves
        if stage > self.stage:
            return works
        if stage < self.stage:
            return True
        if stage == 2 and starter != self.starter:
            return False
        return works or self.failed or (stage < 2 and self.progressed)

    def start(self, stage: int, starter: str, at: float | None) -> None:
        """A start line was read."""
        self.stage = max(stage, self.stage)
        if stage == 2:
            self.starter = starter
        if self.began_at is None:
            self.began_at = at

    def set(self, found: dict[str, ConfigScalar], engine: str, text: str) -> None:
        """Apply logged settings: later values win; of several ranks, the smallest pool and the
        largest weights.
        """
        for name, value in found.items():
            before = self.settings.get(name)
            if (
                before is not None
                and isinstance(value, int | float)
                and isinstance(before.value, int | float)
            ):
                if name in (
                    "available_kv_cache_memory_gib",
                    "kv_cache_size_tokens",
                    "kv_cache_max_concurrency",
                ):
                    value = min(value, before.value)
                elif name in ("model_memory_gib", "graph_memory_gib"):
                    value = max(value, before.value)
            said = quote(text)
            self.settings[name] = ConfigValue(
                value,
                "log",
                said if len(said) <= 120 else f"{said[:60]}... {name}={str(value)[:40]}",
            )
            if name in (
                "kv_cache_size_tokens",
                "available_kv_cache_memory_gib",
                "model_memory_gib",
                "num_gpu_blocks",
                "graph_memory_gib",
            ):
                self.progressed = True
        if isinstance(tokens := found.get("kv_cache_size_tokens"), int):
            self.pools[engine] = min(tokens, self.pools.get(engine, tokens))

    def frame(self, text: str) -> None:
        """A line of a traceback was read."""
        self.frames.append(text[:200])
        if self._open_oom is not None:
            self._open_left -= 1
            if phase := phase_of(text):
                self._settle(phase)
            elif self._open_left <= 0:
                self._settle("")

    def traceback_ends(self) -> None:
        """A line that belongs to no traceback was read."""
        self.frames.clear()
        if self._open_oom is not None:
            self._settle("")

    def note(
        self, kind: str, text: str, at: float, fields: dict[str, str], *, weak: bool = False
    ) -> None:
        """A line of a kind was read."""
        if kind == "gpu_oom":
            self._oom(text, at, fields)
            return
        if kind == "shutdown" and weak and self.failed:
            return  # the server goes down because the engine did
        if kind == "host_oom" and weak and ("shutdown" in self._happened or self._kills_itself()):
            # told to stop, and killed when it took too long; or killed by vLLM itself, after a
            # failure
            return
        if (
            kind in ("engine_dead", "collective_timeout", "unclassified_error")
            and (weak or kind != "collective_timeout")
            and "shutdown" in self._happened
        ):
            return  # ranks that miss each other while all are being told to stop
        if (
            kind == "collective_timeout"
            and _PEER in text
            and "unclassified_error" in self._happened
        ):
            return  # a rank that only lost its peer: the one that went first says why
        if (
            kind == "unclassified_error"
            and (lost := self._happened.get("collective_timeout"))
            and lost.weak
            and _PEER in lost.text
        ):
            del self._happened["collective_timeout"]  # as above: it was read first
        self._record(kind, text, at, fields, weak=weak)
        if kind == "engine_dead" and _FATAL_SIGNAL in text:
            self.fatal_signal = True
        if kind == "engine_dead" and not self.serves and _DIED_AT_WORK in text:
            self.comes_up()
        if (
            kind == "engine_dead"
            and not self.serves
            and any(words in text for words in _FAILED_TO_START)
        ):
            self.failed_to_start = True
            if (oom := self._happened.pop("gpu_oom", None)) is not None:
                self._record(
                    f"gpu_oom_{self._phase_by_place(oom.text)}",
                    oom.text,
                    oom.last_at,
                    oom.fields,
                    weak=False,
                )
        if kind == "ready":
            self.ready += 1
            self._outweigh(kind for kind in list(self._happened) if kind not in NO_FAILURE)

    def note_stats(self, line: StatsLine) -> None:
        """A statistics line was read. The second one that shows generation after a failure proves
        that the engine survived it.
        """
        self.stats.append(line)
        self.stats_seen += 1
        self.progressed = True
        if not self.failed:
            return
        if (line.generation_tokens_per_s or 0.0) > 0:
            self._generating_lines += 1
            if self._generating_lines >= 3 and "engine_dead" not in self._happened:
                self._outweigh(kind for kind in _SURVIVABLE if kind in self._happened)
                self._generating_lines = 0

    def note_step(self, step: LoggedStep) -> None:
        """A step line was read. One that only keeps data-parallel engines in step is not kept."""
        if step.context_tokens + step.generation_tokens > 0:
            self.steps.setdefault(step.engine, deque(maxlen=STEPS_KEPT)).append(step)

    def in_service(self, file: str) -> bool:
        """True if the traceback that is being read, or the file of a line's stamp, is of an engine
        that serves.
        """
        return in_service("\n".join(self.frames), file)

    def reads_a_worker(self) -> bool:
        """True if the traceback that is being read ends where the core waits for a worker's
        answer.
        """
        return any("shm_broadcast.py" in frame for frame in list(self.frames)[-4:])

    def comes_up(self) -> None:
        """The start is known to be over: what looked like its failure was met at work, and has
        another reason.
        """
        self.came_up = True
        for kind in [kind for kind in self._happened if kind in _OF_A_START]:
            happened = self._happened.pop(kind)
            now = "gpu_oom_serving" if kind.startswith("gpu_oom") else "unclassified_error"
            self._record(now, happened.text, happened.last_at, happened.fields, weak=False)

    @property
    def serves(self) -> bool:
        """True if the engine came up in this life: it said so, counted tokens, or failed at
        work.
        """
        return self.ready > 0 or self.stats_seen > 0 or self.came_up

    @property
    def failed(self) -> bool:
        """True if anything but a notice has happened."""
        return any(kind not in NO_FAILURE for kind in self._happened)

    def has(self, kind: str) -> bool:
        """True if a line of this kind was read and nothing has outweighed it."""
        return kind in self._happened

    # --- what it comes to

    def events(self) -> tuple[LogEvent, ...]:
        """Return the events without those that are only consequences."""
        if self._open_oom is not None:
            self._settle("")
        kept = []
        for kind, happened in self._happened.items():
            if (
                happened.weak
                and kind == "collective_timeout"
                and (self._warns(happened) or any(root in self._happened for root in _ROOTS))
            ):
                continue
            if (
                kind == "broken_install"
                and happened.weak
                and self._ended_for_another_reason(happened)
            ):
                continue
            if kind == "invalid_config" and happened.weak and self._is_past(happened):
                continue
            if kind == "rpc_timeout" and self._waits_for_work():
                continue
            if kind in ("collective_timeout", "rpc_timeout") and self._came_after(
                "gpu_program_error", kind
            ):
                continue
            if kind == "unclassified_error" and not self._unexplained():
                continue
            kept.append(happened.event(kind))
        return tuple(kept)

    def survived(self) -> tuple[LogEvent, ...]:
        """Failures that a later success outweighs."""
        return tuple(happened.event(kind) for kind, happened in self.outweighed.items())

    def _kills_itself(self) -> bool:
        # vLLM 0.7 and 0.8 end a server whose core failed with SIGKILL to their own process tree:
        # the shell says `Killed`.
        dead = self._happened.get("engine_dead")
        if dead is None:
            return False
        return self.fatal_signal or any(
            kind in self._happened for kind in ("unclassified_error", *_ROOTS) if kind != "host_oom"
        )

    def _waits_for_work(self) -> bool:
        """True if the lines about waiting for a worker are of one that was idle, busy starting, or
        ended with an error of its own.
        """
        waits = self._happened.get("rpc_timeout")
        if waits is None or not waits.weak:
            return False
        if self._waits_idle() or "gpu_program_error" in self._happened:
            return True
        if "unclassified_error" in self._happened and "engine_dead" in self._happened:
            return self._has_an_own_error()
        return (
            not self.serves
            and (self.loading or self.progressed)
            and waits.count < _WAITS_OF_A_START
        )

    def _warns(self, happened: _Happened) -> bool:
        # NCCL warns of much that it then does without: an error of the core's own says more.
        return (
            _NCCL_WARNS in happened.text
            and "engine_dead" in self._happened
            and "unclassified_error" in self._happened
        )

    def _ended_for_another_reason(self, happened: _Happened) -> bool:
        # A compiler that ended was there: what ran out beneath it says more.
        return _A_COMPILER_ENDED in happened.text and any(
            kind in self._happened for kind in _BENEATH_A_COMPILER
        )

    def _is_past(self, refused: _Happened) -> bool:
        # Weights are loaded once there are cards; and a server gives up on a core that another line
        # tells of.
        if _WAITS_FOR_CARDS in refused.text:
            return self.loading or self.progressed or self.serves
        beside = self._say_no_cause() | {"invalid_config"}
        said = (
            self.failed_to_start
            or self._has_an_own_error()
            or any(kind not in beside for kind in self._happened)
        )
        return said and _GAVE_UP_ON_A_START in refused.text

    def _say_no_cause(self) -> frozenset[str]:
        # Kinds of lines that leave open why an engine ended.
        return (
            NO_FAILURE
            | {"engine_dead", "unclassified_error"}
            | ({"rpc_timeout"} if self._waits_for_work() else set())
        )

    def _has_an_own_error(self) -> bool:
        # One that says more than that something took too long.
        error = self._happened.get("unclassified_error")
        return error is not None and not error.fields.get("exception", "").endswith("TimeoutError")

    def _waits_idle(self) -> bool:
        # Workers of an idle engine wait for their next message and say so; so do workers while the
        # first step compiles.
        if self.stats:
            last = self.stats[-1]
            return last.running == 0 and last.waiting == 0
        return self.ready > 0

    def _came_after(self, cause: str, kind: str) -> bool:
        # The ranks that are left wait for one whose program broke; of a stuck collective the
        # watchdog may break the programs.
        order = list(self._happened)
        return cause in order and order.index(cause) < order.index(kind)

    def _unexplained(self) -> bool:
        beside = self._say_no_cause()
        lost = self._happened.get("collective_timeout")
        beside |= (
            {"collective_timeout"}
            if lost is not None and lost.weak and self._warns(lost)
            else set()
        )
        refused = self._happened.get("invalid_config")
        beside |= (
            {"invalid_config"}
            if refused is not None and refused.weak and self._is_past(refused)
            else set()
        )
        explained = any(kind not in beside for kind in self._happened)
        ended = "engine_dead" in self._happened or not self.serves
        return ended and not explained and "shutdown" not in self._happened

    def _oom(self, text: str, at: float, fields: dict[str, str]) -> None:
        if self._open_oom is not None:
            self._settle("")
        phase = phase_of(text) or phase_of("\n".join(self.frames))
        self._open_oom = (text, at, fields)
        self._open_left = _FRAMES_AFTER
        if phase:
            self._settle(phase)

    def _settle(self, phase: Phase) -> None:
        assert self._open_oom is not None
        text, at, fields = self._open_oom
        self._open_oom = None
        if phase == "startup" and self.ready and self.stats_seen:
            # names such as _dummy_run also occur in the idle step of a data-parallel engine
            phase = "serving"
        elif not phase:
            if before := next(
                (kind for kind in self._happened if kind.startswith("gpu_oom_")), None
            ):
                self._record(
                    before, text, at, fields, weak=True
                )  # the same error, printed once more on its way up
                return
            phase = self._phase_by_place(text)
        if phase:
            self._happened.pop("gpu_oom", None)
        self._record(f"gpu_oom_{phase}" if phase else "gpu_oom", text, at, fields, weak=False)

    def _phase_by_place(self, text: str) -> Phase:
        if self.serves:
            return "serving"
        if self.progressed or self.starting or self.stage >= 0 or self.failed_to_start:
            return "graph_capture" if self.capturing else "startup"
        # the graphs are there already, and their capture wraps its own errors
        return "serving" if "private pools (e.g., CUDA Graphs)" in text else ""

    def _record(
        self, kind: str, text: str, at: float, fields: dict[str, str], *, weak: bool
    ) -> None:
        happened = self._happened.get(kind)
        if happened is None:
            happened = self._happened[kind] = _Happened(at)
            self._generating_lines = 0
        if kind in _HEADED and happened.weak and not weak:
            happened.count = 0  # so far only the heading of this error was read
        if kind not in _HEADED or happened.weak or not weak:
            happened.count += 1
        happened.last_at = at
        if not weak or happened.weak:
            happened.text = text[: 8 * QUOTED]
            if fields:
                happened.fields = fields
        happened.weak = happened.weak and weak

    def _outweigh(self, kinds: Iterable[str]) -> None:
        for kind in kinds:
            self.outweighed[kind] = self._happened.pop(kind)
