"""Extracts the engine's own text from a raw log line: without colours, wrappers and prefixes; and
redacts it for quoting.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from itertools import pairwise
from typing import Any, NamedTuple

from barostat.engines.vllm.logs.clock import OTHER, WRAPPER, Stamp, instant, local_stamp
from barostat.engines.vllm.logs.content import without_content

LONGEST = 32_768
"""Characters read per line. The longest useful line, the resolved configuration, has about 6,000.
"""
QUOTED = 400
_PYDANTIC_ASIDE = re.compile(r" \[type=\w{1,40}, input_value=.*$")
"""Suffix of a pydantic message: the value as Python prints it, truncated in the middle."""

_ANSI = re.compile(r"\x1b(?:\[[0-9;?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[@-Z\\^_])")
# colour codes whose escape character was lost or is spelled out: `[36m`, `^[[36m`, `#033[36m`,
# `\u001b[36m`
_SPELLED_COLOUR = re.compile(
    r"(?:\^\[|#033|\\u001[bB]|\\x1[bB]|\\033|\\e|\u241b)?\[\d{0,3}(?:;\d{1,3}){0,4}m(?!\])"
)
_POD = re.compile(r"^\[pod/[^\]\s]+\]\s?")
# the bar of an exception group, or of a tool that marks forwarded lines
_BAR = re.compile(r"^ {2,12}\| ")
# indentation before a process prefix comes from pasting, since no code starts with such a prefix
_INDENTED = re.compile(r"^ +(?=\[rank\d|\([A-Za-z_][\w-]*(?: rank=\d+)? pid=\d)")
_COMPOSE = re.compile(r"^[\w.-]{1,60}\s+\| ")
_CRI = re.compile(
    r"^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:?\d\d))(?: (stdout|stderr) ([FP]))? ?"
)
_ENGINE_STAMP = re.compile(
    r"\b(DEBUG|INFO|WARNING|ERROR|CRITICAL|FATAL) (?:(\d\d)-(\d\d) )?(\d\d):(\d\d):(\d\d)(?:[.,](\d{1,6}))?\]? ?"
    r"(?:\[?([\w./<>-]+\.(?:py|rs)):\d+\] ?)?"
)
_PROCESS = re.compile(
    r"\(([A-Za-z_][\w-]*)(?: (?:rank=\d+ )?pid=\d+)(?:, ?ip=[\d.:a-f]+)?(?: rank=\d+)?\) ?"
)
_RECORD = re.compile(
    r"(?:\([A-Za-z_][\w-]*(?: rank=\d+)? pid=\d+(?:, ?ip=[\d.:a-f]+)?\) )*(?:DEBUG|INFO|WARNING|ERROR|CRITICAL) \d\d-\d\d \d\d:\d\d:\d\d "
)
_QUOTES_A_PROMPT = (
    "prompt: ",
    "prompt_token_ids",
    "Received request",
    "messages=",
    "'content'",
    '"content"',
)
_PROCESSES = re.compile(r"^(?:" + _PROCESS.pattern + r")+")
_RANK = re.compile(r"^\[rank\d+\]:\s?")
_TORCH = re.compile(r"^\[([IWEF])(\d{1,2})(\d\d) (\d\d):(\d\d):(\d\d)(?:\.\d+)? [^\]]*\] ?")
_DATED = re.compile(r"^\[?(\d{4})-(\d\d)-(\d\d)[ T](\d\d):(\d\d):(\d\d)(?:[.,]\d+)?\]?:?\s?")
_SYSLOG = re.compile(r"^([A-Z][a-z]{2}) +(\d{1,2}) (\d\d):(\d\d):(\d\d) (?=\S)")
_UNIT = re.compile(r"^[\w.-]{1,80} [\w.@:/-]{1,80}\[\d{1,9}\]: ")
_SHORT_TIME = re.compile(r"(\d\d)-(\d\d) (\d\d):(\d\d):(\d\d)")
_MESSAGE_KEYS = (
    "message", "msg", "log", "event", "textPayload", "MESSAGE", "line", "body", "@message"
)  # fmt: skip
_LEVEL_KEYS = ("levelname", "level", "severity", "lvl")
_TIME_KEYS = ("time", "timestamp", "asctime", "ts", "@timestamp", "created")
_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
# `%(asctime)s - %(name)s - %(levelname)s - `: without a logger name, another tool forwarded the
# line, and its level is ignored
_PASSED_ON = re.compile(r"^- (?:([\w.]+) - )?(DEBUG|INFO|WARNING|ERROR|CRITICAL) - (?:\[\w+\] )?")
_LEVEL = re.compile(r"^(?:\[?(DEBUG|INFO|WARNING|WARN|ERROR|CRITICAL|FATAL)\]?\b[:|\s-]*)")
_ENGINE_INDEX = re.compile(r"(?:EngineCore|Engine|_)_?DP(\d+)|EngineCore_(\d+)")


class Line(NamedTuple):
    """One log line without wrappers and prefixes.

    `level`: empty for a bare line. `engine`: the data-parallel index in its process prefix, or
    empty. `file`: the source file in its stamp, or empty.
    """

    text: str
    level: str
    engine: str
    process: str
    stamp: Stamp | None
    file: str = ""


def unwrap(raw: str) -> list[Line]:
    """Return the lines in one raw line; several if a JSON record contains a traceback.

    Removes colours, `kubectl --prefix` and `--timestamps`, CRI, Docker's json-file, JSON
    formatters, journald's and logging's prefixes, process prefixes, torch's and ray's stamps.

    Errors: none; undecodable lines are returned unchanged.
    """
    stamp: Stamp | None = None
    level = ""
    text = raw
    for _ in range(3):
        text = _POD.sub("", plain(text)) if text[:5] == "[pod/" else plain(text)
        if found := _CRI.match(text):
            at = instant(found[1])
            stamp = Stamp(WRAPPER, at) if at is not None else stamp
            text = _UNIT.sub("", text[found.end() :])
        if text[:1] != "{":
            break
        inner = _record(text)
        if inner is None:
            break
        text, found_level, found_stamp = inner
        level = found_level or level
        stamp = stamp or found_stamp
    if (
        (found := _SYSLOG.match(text))
        and found[1] in _MONTHS
        and (unit := _UNIT.match(text[found.end() :]))
    ):
        day, hour, minute, second = (int(part) for part in found.groups()[1:])
        stamp = stamp or local_stamp(_MONTHS.index(found[1]) + 1, day, hour, minute, second, OTHER)
        text = text[found.end() + unit.end() :]
    if "\n" in text:
        return [_parsed(part, level, stamp) for part in text.split("\n") if part.strip()]
    return [_parsed(text, level, stamp)]


def pasted_together(raw: str) -> list[str]:
    """Split a line that contains several records because its line ends were lost; empty for a
    single record.

    A line that quotes a prompt is never split, because the prompt may look like a record.
    """
    if raw.count("INFO ") + raw.count("ERROR ") + raw.count("WARNING ") < 2 or any(
        word in raw for word in _QUOTES_A_PROMPT
    ):
        return []
    if raw[:1] == "{":
        return []  # JSON keeps its own line ends
    starts = [found.start() for found in _RECORD.finditer(raw)]
    if len(starts) < 2:
        return []
    bounds = [0, *starts, len(raw)] if starts[0] else [*starts, len(raw)]
    return [raw[begin:end].rstrip(" ") for begin, end in pairwise(bounds)]


def plain(text: str) -> str:
    """Return the text without terminal colours, NULs and line ends."""
    if "\x1b" in text:
        text = _ANSI.sub("", text)
    elif "[0m" in text or "[0;" in text or "[39m" in text:
        text = _SPELLED_COLOUR.sub("", text)
    if "\0" in text:
        text = text.replace("\0", "")
    return text.strip("\r\n")


def engine_index(process: str) -> str:
    """Return the data-parallel index in a process name, or an empty string."""
    found = _ENGINE_INDEX.search(process)
    return (found[1] or found[2]) if found else ""


@lru_cache(maxsize=64)  # every setting of one long line quotes that line
def quote(text: str) -> str:
    """Return the line redacted for display: no prompt, no token or key, at most 400 characters."""
    text = _PYDANTIC_ASIDE.sub("", text.strip()[: 8 * QUOTED])
    text, _ = without_content(text)
    return text if len(text) <= QUOTED else text[: QUOTED - 3] + "..."


def _record(text: str) -> tuple[str, str, Stamp | None] | None:
    try:
        record = json.loads(text)
    except (ValueError, RecursionError):
        return None
    if not isinstance(record, dict):
        return None
    message = _first_text(record, _MESSAGE_KEYS)
    if message is None:
        return None
    for key in ("exc_info", "exc_text", "exception", "stack_info", "traceback"):
        if isinstance(record.get(key), str) and record[key] not in message:
            message += "\n" + record[key]
    level = (_first_text(record, _LEVEL_KEYS) or "").upper()
    stamps = (_record_stamp(record.get(key)) for key in _TIME_KEYS)
    stamp = next((found for found in stamps if found is not None), None)
    process = record.get("processName")
    pid = record.get("process")
    if (
        isinstance(process, str)
        and isinstance(pid, int)
        and process.isidentifier()
        and message[:1] != "("
    ):
        message = f"({process} pid={pid}) {message}"
    return message.rstrip("\r\n")[:LONGEST], "WARNING" if level == "WARN" else level, stamp


def _first_text(record: Mapping[str, Any], keys: Sequence[str]) -> str | None:
    """Return the first string value under one of the keys; None if there is none."""
    return next((record[key] for key in keys if isinstance(record.get(key), str)), None)


def _record_stamp(value: object) -> Stamp | None:
    """Return the time in a JSON field: ISO 8601, `MM-DD hh:mm:ss`, unix seconds or milliseconds."""
    if isinstance(value, str):
        if (at := instant(value)) is not None:
            return Stamp(WRAPPER, at)
        if short := _SHORT_TIME.match(value):
            month, day, hour, minute, second = (int(part) for part in short.groups())
            return local_stamp(month, day, hour, minute, second)
    elif isinstance(value, int | float) and not isinstance(value, bool) and 1e9 < value < 1e14:
        return Stamp(WRAPPER, value if value < 1e11 else value / 1000.0)
    return None


def _parsed(text: str, level: str, stamp: Stamp | None) -> Line:
    text = text.rstrip("\r")
    if text[:2] == "  " and (found := _BAR.match(text)):
        text = text[found.end() :]
    if text[:1] == " " and (found := _INDENTED.match(text)):
        text = text[found.end() :]
    process = ""
    if found := _ENGINE_STAMP.search(text, 0, 400):
        month, day, hour, minute, second = found.group(2, 3, 4, 5, 6)
        process = (
            " ".join(part[1] for part in _PROCESS.finditer(text, 0, found.start()))
            if found.start()
            else ""
        )
        if stamp is None:
            fraction = float("0." + found[7]) if found[7] else 0.0
            if month:
                stamp = local_stamp(
                    int(month), int(day), int(hour), int(minute), int(second) + fraction
                )
            else:
                stamp = Stamp(
                    2,
                    int(hour) * 3600.0 + int(minute) * 60.0 + int(second) + fraction,
                    day_known=False,
                )
        return Line(
            text[found.end() :], found[1], engine_index(process), process, stamp, found[8] or ""
        )
    if text[:1] == "(":
        process, text = _behind_process(text)
    elif text[:1].islower() and (found := _COMPOSE.match(text)):
        return _parsed(text[found.end() :], level, stamp)
    if text[:5] == "[rank":
        text = _RANK.sub("", text)
    if text[:1] == "[" and (found := _TORCH.match(text)):
        level = {"I": "INFO", "W": "WARNING", "E": "ERROR", "F": "CRITICAL"}[found[1]]
        stamp = stamp or _other_stamp(found)
        text = text[found.end() :]
    elif found := _DATED.match(text):
        stamp = stamp or _other_stamp(found)
        text = text[found.end() :]
        if text[:2] == "- " and (found := _PASSED_ON.match(text)):
            level = found[2] if found[1] else level
            text = text[found.end() :]
            named, text = _behind_process(text)
            process = named or process
    if found := _LEVEL.match(text):
        level = "WARNING" if found[1] == "WARN" else found[1]
        text = text[found.end() :]
    return Line(text, level, engine_index(process), process, stamp)


def _behind_process(text: str) -> tuple[str, str]:
    """Split off the process prefix; it is empty if there is none."""
    if (found := _PROCESSES.match(text)) is None:
        return "", text
    return " ".join(part[1] for part in _PROCESS.finditer(found[0])), text[found.end() :]


def _other_stamp(found: re.Match[str]) -> Stamp | None:
    month, day, hour, minute, second = (int(part) for part in found.groups()[1:])
    return local_stamp(month, day, hour, minute, second, OTHER)
