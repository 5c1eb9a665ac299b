"""The pass over the lines: cheap refusals first, then the rules, into the life that is current."""

from __future__ import annotations

import re
from collections.abc import Iterable

from barostat.engines.vllm.logs.clock import LogClock
from barostat.engines.vllm.logs.lines import LifeEvents
from barostat.engines.vllm.logs.lives import Life
from barostat.engines.vllm.logs.rule import EXCEPTION, HARMLESS_EXCEPTIONS, Rule
from barostat.engines.vllm.logs.rules import ENGINE_DEAD, RULES, SAYS_NOTHING
from barostat.engines.vllm.logs.settings import OF_SETTINGS, settings_in, start_line
from barostat.engines.vllm.logs.stats import OF_STATS, logged_step, stats_line
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
_OF_A_FAILURE = ("rror", "xception", "Traceback", 'File "', "    raise ", "Failed:", "exit", "\0")
"""Words of errors without a rule, of tracebacks, and what a log that is no text holds."""


def _shortest(words: Iterable[str]) -> tuple[str, ...]:
    """The words without those that hold another one of them."""
    given = set(words)
    return tuple(sorted(word for word in given if not any(o in word for o in given if o != word)))


_SHORT = 80
_MOST_IDLE = 1024
"""Short lines that say nothing and are known again: a log of the same line a million times."""
_HINTS = _shortest(
    (
        *(hint for rule in RULES for hint in rule.hints),
        *OF_SETTINGS,
        *OF_STATS,
        *_STARTING,
        *_OF_A_FAILURE,
    )
)
"""A line that holds none of these says nothing: each reader and each rule names its own."""


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
        idle: set[str] = set()
        for raw in lines:
            count += 1
            last = raw
            if len(raw) < _SHORTEST:
                size += len(raw) if raw.isascii() else len(raw.encode("utf-8", "replace"))
                unread = raw
                continue
            if raw in idle:
                size += len(raw)
                unread = raw
                continue
            if not self._has_levels:
                self._has_levels = any(map(raw.__contains__, _LEVELS))
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
                if len(raw) <= _SHORT and len(idle) < _MOST_IDLE and raw.isascii():
                    idle.add(raw)
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
        """Return the problems of the log itself, a sentence each."""
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
    """False for the lines that fill a log: access lines and idle chatter. Substring tests beat any
    pattern here.
    """
    if (" HTTP/1." in raw and "INFO" in raw) or (
        " request " in raw[:160] and ("] Added request " in raw or "] Received request " in raw)
    ):
        return False
    return any(map(raw.__contains__, _HINTS))
