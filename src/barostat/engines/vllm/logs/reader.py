"""The pass over the lines: cheap refusals first, then the rules, into the life that is current."""

from __future__ import annotations

import re
from collections.abc import Iterable

from barostat.engines.vllm.logs.clock import LogClock
from barostat.engines.vllm.logs.lines import LifeEvents
from barostat.engines.vllm.logs.lives import Life
from barostat.engines.vllm.logs.rule import EXCEPTION, HARMLESS_EXCEPTIONS, Rule
from barostat.engines.vllm.logs.rules import ENGINE_DEAD, RULES
from barostat.engines.vllm.logs.settings import settings_in, start_line
from barostat.engines.vllm.logs.stats import logged_step, stats_line
from barostat.engines.vllm.logs.text import LONGEST, Line, pasted_together, quote, unwrap

_LONG_NUMBER = re.compile(r"\d{4,}|0x[0-9a-f]+|[0-9a-f]{8}-[0-9a-f-]{27}")
_WORDINGS_KEPT = 512
_RULED = 4_096
"""Characters of a line that the rules look at: messages are short, and a hostile line must not cost
a quadratic search.
"""
_SHORTEST = 3
"""Characters of the shortest line that says something: a log of blank lines costs a count each."""
_TWO_RECORDS = 160
"""Characters that a line of two records has at least."""
_QUIET = frozenset({"INFO", "DEBUG"})
# words of lines that only a starting engine prints
_STARTING = (
    "Loading ",
    "Starting to load model",
    "Automatically detected platform",
    "vLLM is using nccl",
    "Memory profiling",
    "rank ",
    "Starting profile run",
)


_LEVELS = ("INFO", "WARNING", "ERROR", "DEBUG", "CRITICAL", '"level', '"severity')
"""Written in every line that vLLM and its server log; the last two by JSON formatters."""
SAYS_NOTHING = frozenset({"ready", "fd_limit"})
"""Kinds of lines that end no start."""


class Reader:
    """The state of one pass. `life` is the current life, `before` what the one before it left
    behind.
    """

    def __init__(self) -> None:
        self.lines = self.bytes = self.lives = 0
        self.last_line = ""
        self.life = Life()
        self.before: LifeEvents | None = None
        self.clock = LogClock()
        self._cut = self._binary = 0
        self._has_levels = False
        self._prefix = ""
        self._prefixed: Line | None = None
        self._named: dict[str, Rule | None] = {}

    def read(self, lines: Iterable[str]) -> None:
        """Every line is counted; the few that may say something are read."""
        count = size = 0
        unread = last = ""
        for raw in lines:
            count += 1
            last = raw
            if len(raw) < _SHORTEST:
                size += len(raw) if raw.isascii() else len(raw.encode("utf-8", "replace"))
                unread = raw
                continue
            if not self._has_levels:
                self._has_levels = any(level in raw for level in _LEVELS)
            size += len(raw) if raw.isascii() else len(raw.encode("utf-8", "replace"))
            if len(raw) > LONGEST:
                self._cut += 1
                raw = raw[:LONGEST]
            if len(raw) > _TWO_RECORDS and (parts := pasted_together(raw)):
                for part in parts:
                    if may_say_something(part):
                        self._line(part)
                unread = ""
                continue
            if not may_say_something(raw):
                unread = raw
                continue
            self._line(raw)
            unread = ""
        self.lines, self.bytes, self.last_line = count, size, last[:LONGEST]
        if unread:
            self._stamp_only(unread)
        if self.life.stage >= 0 or self.life.progressed or self.life.ready or self.life.failed:
            self.lives += 1

    def is_foreign(self) -> bool:
        """True if no line has a level, as all of vLLM's own have, and none says anything that is
        known: the log of something else.
        """
        life = self.life
        said = (
            life.settings
            or life.pools
            or life.stats
            or life.steps
            or life.events()
            or life.survived()
            or life.stage >= 0
        )
        return self.lines > 0 and not (
            self._has_levels or said or self.before or life.progressed or life.starting
        )

    def stops_in_a_start(self) -> str:
        """The last line, where the current life has begun to start and neither came up nor said why
        not; empty elsewhere.
        """
        life = self.life
        begun = life.stage >= 0 or life.progressed or life.starting
        if (
            not begun
            or life.serves
            or life.failed
            or any(event.kind not in SAYS_NOTHING for event in life.events())
        ):
            return ""
        return quote(unwrap(self.last_line)[-1].text) if self.last_line.strip() else ""

    def problems(self) -> tuple[str, ...]:
        """What was wrong with the log itself, a sentence each."""
        found = []
        if self.is_foreign():
            found.append(
                "no line of the log is vLLM's: none has a level (INFO, WARNING, ERROR), "
                "and none says anything that is known"
            )
        if self._cut:
            found.append(
                f"{self._cut} lines were longer than {LONGEST} characters and were read up to there"
            )
        if self._binary:
            found.append(f"{self._binary} lines hold binary data: part of this is not a text log")
        if self.clock.went_back_s:
            found.append(
                f"the log's clock went back by {self.clock.went_back_s:.0f} s; times go on "
                "from where they were"
            )
        return tuple(found)

    def _stamp_only(self, raw: str) -> None:
        for line in unwrap(raw):
            self.clock.read(line.stamp)

    def _line(self, raw: str) -> None:
        if "\0" in raw or "\ufffd" in raw:
            self._binary += 1
        elif self._prefixed is not None and raw.startswith(self._prefix) and "\x1b" not in raw:
            self._words(self._prefixed._replace(text=raw[len(self._prefix) :].rstrip("\r\n")))
            return
        lines = unwrap(raw)
        for line in lines:
            self._words(line)
        self._remember_prefix(raw, lines[0] if len(lines) == 1 else None)

    def _remember_prefix(self, raw: str, line: Line | None) -> None:
        # The lines of a traceback differ in their text alone: one prefix, ending in [file:line],
        # read once.
        self._prefixed = None
        if line is not None and line.stamp is not None and raw[:1] != "{" and "\x1b" not in raw:
            whole = raw.rstrip("\r\n")
            prefix = whole[: len(whole) - len(line.text)]
            if prefix.rstrip(" ").endswith("]") and prefix + line.text == whole:
                self._prefix, self._prefixed = prefix, line

    def _words(self, line: Line) -> None:
        at = self.clock.read(line.stamp) or 0.0
        text, life = line.text, self.life
        if "hroughput: " in text or "Running: " in text:
            stats = stats_line(text, at, line.engine)
            if stats is not None:
                life.note_stats(stats)
                return
        if '  File "' in text or text[:6] == 'File "':
            life.frame(text)
            return
        if "Iteration(" in text and (step := logged_step(text, at, line.engine)) is not None:
            life.note_step(step)
            return
        if text[:17] == "Received request " or text[:14] == "Added request " or "prompt: '" in text:
            return
        if line.level not in _QUIET and text.lstrip(" ").startswith("raise "):
            life.frame(text)  # code that quotes what it would say
            return
        if line.level not in _QUIET and text[:1] in " ^":
            life.frame(text)
            if not any(
                word in text for word in ("rror", "emory", "Slowdown", "Assertion failed, ")
            ):
                return
        elif line.level in _QUIET:
            life.traceback_ends()
        if (stage := start_line(text)) is not None and line.level in ("", "INFO", "DEBUG"):
            self._start(stage, line, at)
        if line.level in ("", "INFO", "DEBUG", "WARNING"):
            if settings := settings_in(text):
                self.life.set(settings, line.engine, text)
                if stage is not None:
                    return
            if "apturing" in text and ("CUDA graph" in text or "cudagraph" in text):
                self.life.capturing = self.life.ready == 0
                if "] CUDA error: " not in text and "]CUDA error: " not in text:
                    return
            if text.startswith(_STARTING):
                self.life.starting = True
                self.life.loading = self.life.loading or text.startswith("Loading ")
        self._happened(line, at)

    def _start(self, stage: int, line: Line, at: float) -> None:
        if self.life.begins_anew(stage, line.process):
            self.before = LifeEvents(self.life.events(), self.life.ready > 0, at)
            self.life = Life()
            self.lives += 1
        self.life.start(stage, line.process, self.clock.now)

    def _happened(self, line: Line, at: float) -> None:
        text, level = line.text[:_RULED], line.level
        named = self._name(text, level)
        if named is not None and named[0].starting and self.life.in_service(line.file):
            self.life.comes_up()
            named = self._name(text, level)
        if named is not None:
            rule, fields = named
            self.life.note(rule.kind, text, at, fields, weak=rule.weak)
            if (
                rule is not ENGINE_DEAD
                and (also := self._holds(ENGINE_DEAD, text, level)) is not None
            ):
                self.life.note(ENGINE_DEAD.kind, text, at, also[1])
        elif level not in _QUIET and level != "WARNING":
            raised = EXCEPTION.match(text.strip())
            if (
                raised is not None
                and raised["exception"] == "TimeoutError"
                and self.life.reads_a_worker()
            ):
                self.life.note("rpc_timeout", text, at, {})
            elif (
                raised is not None
                and raised["exception"] not in HARMLESS_EXCEPTIONS
                and raised["what"] != "cancelled"
            ):
                self.life.note("unclassified_error", text, at, {"exception": raised["exception"]})

    def _name(self, text: str, level: str) -> tuple[Rule, dict[str, str]] | None:
        # A storm of one error repeats its wording with other numbers: which rule holds is asked
        # once per wording.
        wording = f"{level}{self.life.serves}{_LONG_NUMBER.sub('#', text)}"
        if wording in self._named:
            rule = self._named[wording]
            return None if rule is None else self._holds(rule, text, level)
        named = next(
            (found for rule in RULES if (found := self._holds(rule, text, level)) is not None), None
        )
        if len(self._named) >= _WORDINGS_KEPT:
            self._named.clear()
        self._named[wording] = None if named is None else named[0]
        return named

    def _holds(self, rule: Rule, text: str, level: str) -> tuple[Rule, dict[str, str]] | None:
        if rule.level != "any" and (
            level in _QUIET or (rule.level == "error" and level == "WARNING")
        ):
            return None
        if (rule.starting and self.life.serves) or not any(hint in text for hint in rule.hints):
            return None
        found = rule.pattern.search(text)
        if found is None or (rule.unless is not None and rule.unless.search(text)):
            return None
        return rule, {name: value[:200] for name, value in found.groupdict().items() if value}


def may_say_something(raw: str) -> bool:
    """False for the lines that fill a log: access lines and idle chatter. A chain of substring
    tests beats any pattern here.
    """
    if (" HTTP/1." in raw and "INFO" in raw) or (
        " request " in raw[:160] and ("] Added request " in raw or "] Received request " in raw)
    ):
        return False
    return (
        "hroughput: " in raw
        or "Running: " in raw
        or "oading" in raw
        or "rror" in raw
        or "emory" in raw
        or "cache" in raw
        or "xception" in raw
        or 'File "' in raw
        or "imed out" in raw
        or "imeout" in raw
        or "Iteration(" in raw
        or "illed" in raw
        or "died" in raw
        or "nitializing" in raw
        or "args: " in raw
        or "version" in raw
        or "CCL" in raw
        or "ccl" in raw
        or "CUDA" in raw
        or "HIP" in raw
        or "SIG" in raw
        or "hut" in raw
        or "startup complete" in raw
        or "Uvicorn" in raw
        or " took " in raw
        or "blocks" in raw
        or "block " in raw
        or "max_" in raw
        or "max " in raw
        or "concurrency" in raw
        or "utilization" in raw
        or "engine" in raw
        or "Engine" in raw
        or "ulimit" in raw
        or "open files" in raw
        or "shm" in raw
        or "hared" in raw
        or "argument" in raw
        or "in use" in raw
        or "preempted" in raw
        or "queue full" in raw
        or "cannot accept" in raw
        or "backlog" in raw
        or "GPU" in raw
        or "ollective" in raw
        or "exit" in raw
        or "divisible" in raw
        or "not supported" in raw
        or "not exist" in raw
        or "derived" in raw
        or "apturing" in raw
        or "egmentation" in raw
        or "egfault" in raw
        or "Assertion failed" in raw
        or "core dumped" in raw
        or "HSA_" in raw
        or "Finished server" in raw
        or "Interrupt" in raw
        or "invalid" in raw
        or "No such" in raw
        or "Fatal" in raw
        or "fatal" in raw
        or "not a valid" in raw
        or "assert" in raw
        or "    raise " in raw
        or "capture" in raw
        or "warm" in raw
        or "load_" in raw
        or "ECC" in raw
        or "Traceback" in raw
        or "OOM" in raw
        or "ALLOC_FAILED" in raw
        or "Tried to allocate" in raw
        or "ackground loop" in raw
        or "n't load" in raw
        or "annot " in raw
        or "bad_alloc" in raw
        or "does not appear" in raw
        or "eceived signal" in raw
        or "endezvous" in raw
        or "erminate called" in raw
        or "exceeds" in raw
        or "exec format" in raw
        or 'exec: "' in raw
        or "Failed:" in raw
        or "oom_kill" in raw
        or "No space left" in raw
        or "quota exceeded" in raw
        or "Read-only file" in raw
        or "oom-kill" in raw
        or "abric" in raw
        or "gated" in raw
        or "illegal" in raw
        or "misaligned" in raw
        or "not found" in raw
        or "Permission denied" in raw
        or "FullMesh" in raw
        or "NET/IB" in raw
        or "Slowdown" in raw
        or "access fault" in raw
        or "not yet initialized" in raw
        or " backend" in raw
        or "llreduce" in raw
        or "TRACE_FUNCTION" in raw
        or "device handle" in raw
        or "SEGV" in raw
        or "Not enough" in raw
        or "not enough" in raw
        or "EADDRINUSE" in raw
        or "retrieving" in raw
        or "peer access" in raw
        or "P2PStatus" in raw
        or "uid not found" in raw
        or "placement group" in raw
        or "inspected" in raw
        or "custom_all_reduce" in raw
        or "No compiled" in raw
        or "special_tokens_extended" in raw
        or "\0" in raw
    )
