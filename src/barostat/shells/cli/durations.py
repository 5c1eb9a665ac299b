"""Durations as people write them: 30s, 2m, 500ms, 1h30m."""

from __future__ import annotations

import argparse
import re

from barostat.catalog.polling import INTERVAL_S

_UNITS_S = {"ms": 0.001, "s": 1.0, "m": 60.0, "min": 60.0, "h": 3600.0, "d": 86_400.0, "": 1.0}
_PART = re.compile(r"(\d+(?:\.\d+)?)\s*(ms|s|min|m|h|d|)")
LONGEST_S = 7 * 86_400.0
LONGEST_PAST_S = 400 * 86_400.0
SHORTEST_INTERVAL_S = 0.1


def _total_s(text: str) -> float | None:
    """What is written, None if it is no duration."""
    parts = list(_PART.finditer(text.strip()))
    if (
        not parts
        or "".join(part[0] for part in parts) != text.strip()
        or (len(parts) > 1 and any(not part[2] for part in parts))
    ):
        return None
    return sum(float(part[1]) * _UNITS_S[part[2]] for part in parts)


def parse_duration(text: str, longest_s: float = LONGEST_S) -> float:
    """The duration in seconds; a bare number is seconds.

    Errors: argparse.ArgumentTypeError, which argparse shows beside the option's name.
    """
    if (total_s := _total_s(text)) is None:
        raise argparse.ArgumentTypeError(f"{text!r} is no duration; write 30s, 2m or 500ms")
    if total_s > longest_s:
        raise argparse.ArgumentTypeError(
            f"{text!r} is longer than "
            f"{'a week' if longest_s == LONGEST_S else f'{longest_s / 86_400:.0f} days'}"
        )
    return total_s


def seconds(text: str) -> float:
    """A number of seconds, or a duration with its unit: 0.03 and 30ms are the same. Who asks for it
    bounds it.

    Errors: argparse.ArgumentTypeError.
    """
    try:
        return float(text)
    except ValueError:
        pass
    if _total_s(text) is None:
        raise argparse.ArgumentTypeError(f"{text!r} is no time; write 0.03, 30ms or 2s")
    return parse_duration(text)


def some_time(text: str) -> float:
    """As parse_duration, above 0.

    Errors: argparse.ArgumentTypeError.
    """
    span_s = parse_duration(text)
    if span_s <= 0:
        raise argparse.ArgumentTypeError(f"{text!r} is no time at all; write 30s or 2m")
    return span_s


def past_span(text: str) -> float:
    """How far to look back, in seconds: an hour at least, 400 days at most.

    Errors: argparse.ArgumentTypeError.
    """
    span_s = parse_duration(text, LONGEST_PAST_S)
    if span_s < 3600:
        raise argparse.ArgumentTypeError(
            f"{text!r} is less than an hour; such a time is looked at with --from and --to"
        )
    return span_s


def interval(text: str) -> float:
    """The time between two scrapes in seconds.

    Errors: argparse.ArgumentTypeError for less than 100 ms, which would be load and no observation.
    """
    each_s = parse_duration(text)
    if each_s < SHORTEST_INTERVAL_S:
        raise argparse.ArgumentTypeError(f"{text!r} is too short; write 100ms or more")
    return each_s


def brief(duration_s: float) -> str:
    """The duration as a person reads it: 0.5 s, 30 s, 2 min, 1.5 h."""
    if duration_s < 120:
        return f"{duration_s:g} s"
    if duration_s < 7200:
        return f"{duration_s / 60:.3g} min"
    return f"{duration_s / 3600:.3g} h"


def add_interval(parser: argparse._ActionsContainer) -> None:
    """Add `--interval`: how long between two looks at an engine."""
    told = f"time between two scrapes, at least 100ms (default {INTERVAL_S:g}s)"
    parser.add_argument(
        "--interval",
        dest="interval_s",
        type=interval,
        default=INTERVAL_S,
        metavar="TIME",
        help=told,
    )
