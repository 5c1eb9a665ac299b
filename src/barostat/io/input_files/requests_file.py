"""A workload's rows from a file, with everything that a scheduler looks at: arrivals, lengths,
priorities, shared prefixes.

Our own rows, as JSONL or CSV: {request_id?, arrival_s, input_tokens, output_tokens, priority?,
prompt_token_ids? | hash_ids?, adapter?, data_parallel_rank?}. A row of our own that is wrong is an
error that names its line;
arrivals are taken as they are written. Published traces (Mooncake with its block hashes, Azure,
BurstGPT and what else io.traces knows) start at 0, and rows of theirs that say too little are left
out.
"""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from barostat.core.errors import InputError
from barostat.core.units import many
from barostat.io.input_files.json_text import from_json
from barostat.io.input_files.whole_file import read_whole
from barostat.twin.request import Row

_OURS = {"arrival_s", "input_tokens", "output_tokens"}
_MOONCAKE = {"timestamp", "input_length", "output_length"}
_ID_TOKENS = (16, 32, 64, 128, 256, 512, 1024, 2048, 4096)
_LARGEST = 100_000_000
_LATEST_S = 4_000_000_000  # unix seconds of this century; in nanoseconds it fits 64 bits


def read_requests(
    path: Path, block_tokens: int, id_tokens: int | None = None
) -> tuple[list[Row], list[str]]:
    """Return the rows of the file, and notes on it.

    `id_tokens`: tokens per entry of hash_ids; by default the block size if the rows fit it, else
    the size that they fit.

    Errors: InputError if the file cannot be read, or one of its rows is invalid (with its line).
    """
    return parse_requests(read_whole(path), str(path), block_tokens, id_tokens, path)


def parse_requests(
    text: str,
    source: str,
    block_tokens: int,
    id_tokens: int | None = None,
    path: Path | None = None,
) -> tuple[list[Row], list[str]]:
    """The same for a text."""
    first = next((line for line in text.splitlines() if line.strip()), "")
    names = _names(first)
    problems: list[str] = []
    if names >= _OURS:
        rows = _owned(text, first, source, problems)
    elif names >= _MOONCAKE:
        rows = list(_mooncake(text, first, source, problems))
    elif path is not None:
        rows = _published(path, problems)
    else:
        raise InputError("rows of our own have arrival_s, input_tokens and output_tokens", source)
    if not rows:
        raise InputError("holds no request", source)
    return _with_id_tokens(rows, source, block_tokens, id_tokens), problems


def _names(first: str) -> set[str]:
    if not first.lstrip().startswith("{"):
        try:
            return {name.strip() for name in next(csv.reader([first]), [])}
        except csv.Error:
            return set()
    try:
        row = from_json(first, "")
    except InputError:
        return set()
    return set(row) if isinstance(row, dict) else set()


def _lines(text: str, first: str, source: str) -> Iterator[tuple[int, Mapping[str, Any]]]:
    """(line number, row) of a JSONL or a CSV."""
    if not first.lstrip().startswith("{"):
        reader = csv.DictReader(io.StringIO(text))
        try:
            for row in reader:
                yield (
                    reader.line_num,
                    {str(key): value for key, value in row.items() if value not in ("", None)},
                )
        except csv.Error as error:
            raise InputError(f"no CSV: {error}", f"{source}:{reader.line_num}") from None
        return
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip():
            continue
        decoded = from_json(line, f"{source}:{number}")
        if not isinstance(decoded, dict):
            raise InputError("each line is one JSON object", f"{source}:{number}")
        yield number, decoded


def _owned(text: str, first: str, source: str, problems: list[str]) -> list[Row]:
    rows = []
    empty = 0
    for number, (line, row) in enumerate(_lines(text, first, source)):
        read = _own(row, line, str(number), source)
        if read.output_tokens:
            rows.append(read)
        else:
            empty += 1
    if empty:
        problems.append(
            f"{source}: left out {many(empty, 'row')} with no output: an engine refuses them"
        )
    return rows


def _own(row: Mapping[str, Any], line: int, default_name: str, source: str) -> Row:
    where = f"{source}:{line}"
    arrival_s = _number(row, "arrival_s", where)
    if arrival_s < 0:
        raise InputError(f"arrival_s must not be negative, not {arrival_s:g}", where)
    if arrival_s > _LATEST_S:
        raise InputError(f"arrival_s must be at most {_LATEST_S:,} s, not {arrival_s:g}", where)
    input_tokens, output_tokens = (
        _whole(row, "input_tokens", where),
        _whole(row, "output_tokens", where),
    )
    if input_tokens < 1 or output_tokens < 0:
        raise InputError("input_tokens must be at least 1, output_tokens not negative", where)
    prompt = _ids(row.get("prompt_token_ids"), "prompt_token_ids", where)
    hashes = _ids(row.get("hash_ids"), "hash_ids", where)
    if prompt is not None and hashes is not None:
        raise InputError("a row has prompt_token_ids or hash_ids, not both", where)
    if prompt is not None and len(prompt) != input_tokens:
        raise InputError(
            f"prompt_token_ids has {len(prompt)} tokens, input_tokens says {input_tokens}", where
        )
    priority = _whole(row, "priority", where) if row.get("priority") is not None else 0
    rank = None
    if row.get("data_parallel_rank") not in (None, ""):
        rank = _whole(row, "data_parallel_rank", where)
    name, session, adapter = (row.get(key) for key in ("request_id", "session_id", "adapter"))
    return Row(
        default_name if name is None else str(name), arrival_s, input_tokens, output_tokens, priority, prompt, hashes,
        session_id=None if session is None else str(session), adapter=None if adapter in (None, "") else str(adapter),
        rank=rank,
    )  # fmt: skip


def _number(row: Mapping[str, Any], name: str, where: str) -> float:
    value = row.get(name)
    try:
        number = (
            float(value)
            if isinstance(value, int | float | str) and not isinstance(value, bool)
            else math.nan
        )
    except (ValueError, OverflowError):
        number = math.nan
    if not math.isfinite(number):
        raise InputError(f"{name} must be a number, not {value!r}", where)
    return number


def _whole(row: Mapping[str, Any], name: str, where: str) -> int:
    number = _number(row, name, where)
    if number != int(number) or abs(number) > _LARGEST:
        raise InputError(
            f"{name} must be a whole number of at most {_LARGEST:,}, not {row.get(name)!r}", where
        )
    return int(number)


def _ids(value: object, name: str, where: str) -> tuple[int, ...] | None:
    """A list of whole numbers, or `0 14-27 30` (inclusive ranges)."""
    if value is None:
        return None
    if isinstance(value, str):
        try:
            found: list[int] = []
            for part in value.split():
                low, dash, high = part.partition("-")
                start, end = int(low), int(high) if dash else int(low)
                if end - start > _LARGEST:
                    raise ValueError
                found.extend(range(start, end + 1))
            return tuple(found)
        except ValueError:
            raise InputError(
                f"{name} must be whole numbers and ranges such as 14-27", where
            ) from None
    if not isinstance(value, list) or any(type(item) is not int for item in value):
        raise InputError(f"{name} must be a list of whole numbers", where)
    return tuple(value)


def _mooncake(text: str, first: str, source: str, problems: list[str]) -> Iterator[Row]:
    """Milliseconds to seconds; ids of blocks of 512 tokens. Source: Mooncake FAST25 traces."""
    bad = 0
    for line, row in _lines(text, first, source):
        where = f"{source}:{line}"
        try:
            tokens = _whole(row, "input_length", where), _whole(row, "output_length", where)
            at_s = _number(row, "timestamp", where) / 1000
            hashes = _ids(row.get("hash_ids"), "hash_ids", where)
        except InputError:
            bad += 1
            continue
        if min(tokens) < 1 or at_s < 0:
            bad += 1
            continue
        yield Row("", at_s, *tokens, hash_ids=hashes, id_tokens=512)
    if bad:
        problems.append(
            f"{source}: left out {many(bad, 'row')} without a usable time, input or output"
        )


def _published(path: Path, problems: list[str]) -> list[Row]:
    from barostat.io.input_files.traces import read_trace

    arrivals, said = read_trace(path)
    problems.extend(said)
    usable = [row for row in arrivals if row.input_tokens >= 1 and row.output_tokens >= 1]
    if len(usable) < len(arrivals):
        problems.append(
            f"{path}: left out {many(len(arrivals) - len(usable), 'row')} with no input or "
            "no output"
        )
    return [Row("", row.arrival_s, row.input_tokens, row.output_tokens) for row in usable]


def _with_id_tokens(
    rows: list[Row], source: str, block_tokens: int, id_tokens: int | None
) -> list[Row]:
    """Every row named and every id of known length."""
    if id_tokens is None and any(
        row.hash_ids is not None and row.id_tokens is None for row in rows
    ):
        id_tokens = _agreed(rows, (block_tokens, *_ID_TOKENS))
        if id_tokens is None:
            raise InputError(
                "how many tokens one of hash_ids stands for is not clear: say --hash-block-size",
                source,
            )
    named = []
    seen: set[str] = set()
    for number, row in enumerate(rows):
        name = row.request_id or str(number)
        if name in seen:
            raise InputError(f"request_id {name!r} is there twice", source)
        seen.add(name)
        size = id_tokens if id_tokens is not None and row.hash_ids is not None else row.id_tokens
        named.append(row._replace(request_id=name, id_tokens=size))
    return named


def _agreed(rows: Iterable[Row], sizes: Iterable[int]) -> int | None:
    """The first size with which every row's number of ids agrees, a part-filled last block counted
    or not.
    """
    pairs = {(row.input_tokens, len(row.hash_ids)) for row in rows if row.hash_ids is not None}
    for size in sizes:
        if all(count == -(-tokens // size) for tokens, count in pairs) or all(
            count == tokens // size for tokens, count in pairs
        ):
            return size
    return None
