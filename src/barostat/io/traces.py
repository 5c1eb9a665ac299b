"""Request traces as they are published -> arrivals: Azure, Mooncake, BurstGPT, ServeGen, and rows of our own.

A CSV or JSONL file, gzipped or not; the columns are known by their names, whatever their order and case.
    Azure      TIMESTAMP, ContextTokens, GeneratedTokens            BurstGPT  Timestamp, Model, Request tokens, Response tokens, ...
    Mooncake   {"timestamp" (ms), "input_length", "output_length"}  ours      {"arrival_s", "input_tokens", "output_tokens"}
"""

from __future__ import annotations

import csv
import gzip
import io
import json
import math
import zlib
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from pathlib import Path

from barostat.core.errors import InputError
from barostat.core.units import many
from barostat.judge.traffic import Arrival

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
_MOST_ROWS = 2_000_000
_LARGEST_TOKENS = 100_000_000


def read_trace(path: Path) -> tuple[list[Arrival], list[str]]:
    """The arrivals of this file, ascending, and what was wrong with it (rows left out, a sentence each kind).

    Errors: InputError where the file cannot be read or holds no usable row.
    """
    try:
        raw = path.read_bytes()
        text = (gzip.decompress(raw) if path.suffix == ".gz" else raw).decode("utf-8-sig", errors="replace")
        found, problems = parse_trace(text, str(path))
    except csv.Error as error:
        raise InputError(f"no CSV: {error}", str(path)) from None
    except (OSError, EOFError, zlib.error) as error:
        raise InputError(getattr(error, "strerror", None) or str(error), str(path)) from None
    if not found:
        raise InputError(
            "holds no request with input and output tokens; columns are known as input_tokens, ContextTokens, input_length, Request tokens",
            str(path),
        )
    start = min(row.arrival_s for row in found)
    moved = sorted((Arrival(row.arrival_s - start, row.input_tokens, row.output_tokens) for row in found), key=lambda row: row.arrival_s)
    return moved, problems


def _rows(file: Iterable[str]) -> Iterator[Mapping[str, object]]:
    """The rows of a CSV, a JSONL or a JSON list, by their first character."""
    lines = iter(file)
    first = next((line for line in lines if line.strip()), "")
    if first.lstrip().startswith("["):
        try:
            decoded = json.loads(first + "".join(lines))
        except ValueError:
            return
        yield from (row for row in decoded if isinstance(row, dict))
    elif first.lstrip().startswith("{"):
        for line in _chain(first, lines):
            try:
                row = json.loads(line)
            except ValueError:
                yield {}
                continue
            yield row if isinstance(row, dict) else {}
    else:
        yield from csv.DictReader(_chain(first, lines))


def _chain(first: str, rest: Iterator[str]) -> Iterator[str]:
    if first:
        yield first
    yield from (line for line in rest if line.strip())


def _arrivals(rows: Iterable[Mapping[str, object]], source: str) -> tuple[list[Arrival], list[str]]:
    found: list[Arrival] = []
    bad = untimed = 0
    milliseconds = False
    for number, row in enumerate(rows):
        if number >= _MOST_ROWS:
            return found, [f"{source}: only the first {_MOST_ROWS:,} rows were read"]
        named = {str(key).strip().lower(): value for key, value in row.items() if key is not None}
        tokens_in, tokens_out = _tokens(named, _INPUT), _tokens(named, _OUTPUT)
        if tokens_in is None or tokens_out is None:
            bad += 1
            continue
        milliseconds = milliseconds or ("hash_ids" in named and "timestamp" in named)
        at = _instant(named)
        untimed += at is None
        found.append(Arrival((at or 0.0) / (1000 if milliseconds else 1), tokens_in, tokens_out))
    problems = [f"{source}: left out {many(bad, 'row')} without input or output tokens"] if bad else []
    if untimed:
        problems.append(f"{source}: no time of arrival in {many(untimed, 'row')}: bursts cannot be told")
    return found, problems


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


def _instant(row: Mapping[str, object]) -> float | None:
    for name in _ARRIVAL_S:
        value = row.get(name)
        if value is None or isinstance(value, bool):
            continue
        try:
            number = float(str(value))
        except ValueError:
            return _date(str(value))
        return number if math.isfinite(number) else None
    return None


def _date(text: str) -> float | None:
    """`2023-11-16 18:15:46.6805900` in seconds, whatever the digits of its fraction."""
    head, _, fraction = text.strip().replace("T", " ").rstrip("Z").partition(".")
    digits = "".join(character for character in fraction if character.isdigit())
    try:
        return datetime.fromisoformat(head + "+00:00").timestamp() + (float(f"0.{digits}") if digits else 0.0)
    except ValueError:
        return None


def parse_trace(text: str, source: str = "trace") -> tuple[list[Arrival], list[str]]:
    """The arrivals of a text, for tests and pipes."""
    return _arrivals(_rows(io.StringIO(text)), source)
