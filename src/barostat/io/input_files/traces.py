"""Request traces as they are published -> arrivals: Azure, Mooncake, BurstGPT, ServeGen, and rows
of our own.

A CSV or JSONL file, gzipped or not; the columns are known by their names, whatever their order and
case.
    Azure      TIMESTAMP, ContextTokens, GeneratedTokens            BurstGPT  Timestamp, Model, Request tokens, Response tokens, ...
    Mooncake   {"timestamp" (ms), "input_length", "output_length"}  ours      {"arrival_s", "input_tokens", "output_tokens"}
"""

from __future__ import annotations

import csv
import io
import math
import re
from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime
from itertools import chain
from pathlib import Path
from typing import Any

from barostat.core.errors import InputError
from barostat.core.units import many
from barostat.io.input_files.json_text import TooDeep, from_json
from barostat.io.input_files.whole_file import read_whole
from barostat.judge.sizing.request_shape import Arrival

# Column names, lower case, by what they hold. Source: the published files of each trace.
_INPUT = (
    "input_tokens",
    "contexttokens",
    "input_length",
    "request tokens",
    "prompt_tokens",
    "input length",
    "num_prefill_tokens",
    "prompt_len",
    "input_len",
)
_OUTPUT = (
    "output_tokens",
    "generatedtokens",
    "output_length",
    "response tokens",
    "completion_tokens",
    "num_decode_tokens",
    "output_len",
    "output length",
)
_ARRIVAL_S = ("arrival_s", "arrived_at", "arrival_time", "timestamp", "arrival_timestamp")
_FRACTION = re.compile(r"[.,](\d+)")
_MOST_ROWS = 2_000_000
_LARGEST_TOKENS = 100_000_000


def read_trace(path: Path) -> tuple[list[Arrival], list[str]]:
    """Return the arrivals in this file, ascending, and its problems (skipped rows, a sentence per
    kind).

    Errors: InputError if the file cannot be read or has no usable row, or if only some of its rows
    have a time.
    """
    try:
        found, problems = parse_trace(read_whole(path), str(path))
    except csv.Error as error:
        raise InputError(f"no CSV: {error}", str(path)) from None
    if not found:
        raise InputError(
            "holds no request with input and output tokens; columns are known as "
            "input_tokens, ContextTokens, input_length, Request tokens",
            str(path),
        )
    start = min(row.arrival_s for row in found)
    moved = sorted(
        (Arrival(row.arrival_s - start, row.input_tokens, row.output_tokens) for row in found),
        key=lambda row: row.arrival_s,
    )
    return moved, problems


class _Lines:
    """The lines of a text that hold something. `number`: of the one that was read last, from 1."""

    def __init__(self, file: Iterable[str]) -> None:
        self.number = 0
        self._rest = self._told(file)

    def _told(self, file: Iterable[str]) -> Iterator[str]:
        for self.number, line in enumerate(file, 1):
            if line.strip():
                yield line

    def __iter__(self) -> Iterator[str]:
        return self._rest


def _rows(
    file: Iterable[str], source: str, broken: list[InputError]
) -> Iterator[tuple[str, Mapping[str, object]]]:
    """The rows of a CSV, a JSONL or a JSON list, by their first character, and where each is.
    `broken` gets what is no JSON.

    Errors: InputError for JSON that is nested too deeply.
    """
    lines = _Lines(file)
    first = next(iter(lines), "")
    if first.lstrip().startswith("["):
        decoded = _decoded(first + "".join(lines), source, broken)
        yield from (
            (f"{source}: row {number}", row)
            for number, row in enumerate(decoded or [], 1)
            if isinstance(row, dict)
        )
    elif first.lstrip().startswith("{"):
        for line in chain([first], lines):
            where = f"{source}:{lines.number}"
            row = _decoded(line, where, broken)
            yield where, row if isinstance(row, dict) else {}
    else:
        for named in csv.DictReader(chain([first] if first else [], lines)):
            yield f"{source}:{lines.number}", named


def _decoded(text: str, where: str, broken: list[InputError]) -> Any:
    try:
        return from_json(text, where)
    except TooDeep:
        raise
    except InputError as error:
        broken.append(error)
        return None


def _arrivals(
    rows: Iterable[tuple[str, Mapping[str, object]]], source: str
) -> tuple[list[Arrival], list[str]]:
    found: list[Arrival] = []
    times = _Times()
    bad = 0
    milliseconds = False
    problems = []
    for number, (where, row) in enumerate(rows):
        if number >= _MOST_ROWS:
            problems.append(f"{source}: only the first {_MOST_ROWS:,} rows were read")
            break
        named = {str(key).strip().lower(): value for key, value in row.items() if key is not None}
        tokens_in, tokens_out = _tokens(named, _INPUT), _tokens(named, _OUTPUT)
        if tokens_in is None or tokens_out is None:
            bad += 1
            continue
        milliseconds = milliseconds or ("hash_ids" in named and "timestamp" in named)
        at_s = times.read(named, row, where)
        found.append(Arrival(at_s / (1000 if milliseconds else 1), tokens_in, tokens_out))
    if bad:
        problems.append(f"{source}: left out {many(bad, 'row')} without input or output tokens")
    if times.check():
        problems.append(
            f"{source}: no time of arrival in {many(len(found), 'row')}: bursts cannot be told"
        )
    return found, problems


class _Times:
    """The times of a file's rows: all of them dates, all of them numbers, or none at all."""

    def __init__(self) -> None:
        self._dated: bool | None = None
        self._as = ""
        self._unread: InputError | None = None

    def read(self, named: Mapping[str, object], row: Mapping[str, object], where: str) -> float:
        """Return the row's time in its own unit; 0 if it has none. `check` reports invalid times."""
        name = next(
            (
                name
                for name in _ARRIVAL_S
                if named.get(name) not in (None, "") and not isinstance(named[name], bool)
            ),
            "",
        )
        number = _number(named.get(name))
        at_s = _date(str(named.get(name))) if number is None else number
        if at_s is None or not math.isfinite(at_s):
            self._unread = self._unread or InputError(_no_time(row), where)
            return 0.0
        if self._dated is None:
            self._dated, self._as = number is None, where
        elif self._dated is not (number is None):
            kinds = ("a date", "a number") if self._dated else ("a number", "a date")
            said = f"{_no_time(row)} like the others: {self._as} has {kinds[0]}, this is {kinds[1]}"
            self._unread = self._unread or InputError(said, where)
        return at_s

    def check(self) -> bool:
        """True if no row had a time.

        Errors: InputError naming the first row that has none where others have one, or a number
        where others have dates.
        """
        if self._unread is not None and self._dated is not None:
            raise self._unread
        return self._unread is not None


def _no_time(row: Mapping[str, object]) -> str:
    """What the row has in place of a time, under the file's own name for it."""
    found = [
        (str(key).strip(), value)
        for key, value in row.items()
        if key is not None and str(key).strip().lower() in _ARRIVAL_S
    ]
    name, value = min(
        found,
        key=lambda pair: (pair[1] in (None, ""), _ARRIVAL_S.index(pair[0].lower())),
        default=("", None),
    )
    return f"{name} {value!r:.60} is no time" if name else "the row has no time, which others have"


def _tokens(row: Mapping[str, object], names: tuple[str, ...]) -> int | None:
    for name in names:
        value = row.get(name)
        if isinstance(value, bool) or value is None:
            continue
        try:
            number = float(str(value))
        except ValueError:
            return None
        return int(number) if math.isfinite(number) and 0 <= number <= _LARGEST_TOKENS else None
    return None


def _number(value: object) -> float | None:
    try:
        return float(str(value))
    except ValueError:
        return None


def _date(text: str) -> float | None:
    """`2023-11-16 18:15:46.6805900` in seconds, whatever the digits of its fraction; UTC unless it
    says otherwise, as in `+00:00`.
    """
    text = text.strip()
    fraction = _FRACTION.search(text)
    if fraction is not None:
        text = text[: fraction.start()] + text[fraction.end() :]
    try:
        at = datetime.fromisoformat(text.removesuffix("UTC").rstrip())
    except ValueError:
        return None
    whole_s = (at if at.tzinfo is not None else at.replace(tzinfo=UTC)).timestamp()
    return whole_s + (float(f"0.{fraction[1]}") if fraction is not None else 0.0)


def parse_trace(text: str, source: str = "trace") -> tuple[list[Arrival], list[str]]:
    """The arrivals of a text, for tests and pipes.

    Errors: InputError naming the line of what is no time among times, is nested too deeply, or is
    no JSON where no row is usable.
    """
    broken: list[InputError] = []
    found, problems = _arrivals(_rows(io.StringIO(text), source, broken), source)
    if broken and not found:
        raise broken[0]
    return found, problems
