"""A recorded bundle as input series of `promtool test rules`: what the real engine showed, played
as long as a rule needs to see it.

    python dev/promtool_series.py tests/data/bundles/kv-preemption-thrash --for 20m > series.yaml

A recording of half a minute is repeated: gauges take their values again, counters go on by what
they rose in one round, the step between two rounds being the mean of the others. Nothing else is
invented; a counter that stood still stands still for ever.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable, Mapping, Sequence
from math import isnan
from pathlib import Path
from typing import Any

import yaml

from barostat.engines.vllm.metrics.exposition import Exposition
from barostat.io.bundles import bundle

Series = dict[str, list[float]]
STEP_S = 15.0
"""One value every so many seconds, as Prometheus is mostly told to scrape."""
_COUNTERS = ("_total", "_count", "_sum", "_bucket")


def readings(folder: Path) -> list[Exposition]:
    """The pages of the one engine in that bundle, in their order."""
    (replica,) = bundle.read(folder).replicas
    return [scrape.exposition for scrape in replica.scrapes]


def recorded_series(pages: Sequence[Exposition], **labels: str) -> Series:
    """Each series by how it is written, with these labels added, its values in order."""
    found: Series = {}
    for page in pages:
        for sample in page.samples:
            found.setdefault(written(sample.name, {**sample.labels, **labels}), []).append(
                sample.value
            )
    return {name: values for name, values in found.items() if len(values) == len(pages)}


def written(name: str, labels: Mapping[str, str]) -> str:
    """A series as PromQL writes it."""
    inside = ",".join(f'{label}="{_quoted(value)}"' for label, value in sorted(labels.items()))
    return f"{name}{{{inside}}}"


def played(series: Series, every_s: float, for_s: float) -> Series:
    """The series at every STEP_S for that long. `every_s`: how far apart the recorded values
    are.
    """
    return {
        name: [_at(values, name, at / every_s) for at in _instants(for_s)]
        for name, values in series.items()
    }


def joined(*parts: Series) -> Series:
    """One after the other; a series that is missing in a part is missing there (None becomes a
    gap).
    """
    lengths = [len(next(iter(part.values()))) for part in parts]
    names = dict.fromkeys(name for part in parts for name in part)
    gap = float("nan")
    return {
        name: [
            value
            for part, length in zip(parts, lengths, strict=True)
            for value in part.get(name, [gap] * length)
        ]
        for name in names
    }


def input_series(series: Series) -> list[dict[str, str]]:
    """As promtool reads them; NaN is a gap."""
    return [{"series": name, "values": " ".join(_runs(values))} for name, values in series.items()]


def _instants(for_s: float) -> Iterable[float]:
    return (step * STEP_S for step in range(int(for_s / STEP_S) + 1))


def _at(values: Sequence[float], name: str, place: float) -> float:
    """The value at a place of the endless recording: where one was recorded, the last one
    before.
    """
    length = len(values)
    index = int(place + 1e-9)
    rounds, within = divmod(index, length)
    if not name.partition("{")[0].endswith(_COUNTERS) or length < 2:
        return values[within]
    rise = values[-1] - values[0]
    return values[within] + rounds * (rise + rise / (length - 1))


def _runs(values: Sequence[float]) -> Iterable[str]:
    """`a+0xN` for a value that stays, for short."""
    place = 0
    while place < len(values):
        end = place
        while end + 1 < len(values) and (
            values[end + 1] == values[place] or (isnan(values[end + 1]) and isnan(values[place]))
        ):
            end += 1
        more = end - place
        if isnan(values[place]):
            yield f"_x{more + 1}"
        else:
            yield f"{values[place]!r}+0x{more}" if more else repr(values[place])
        place = end + 1


def _quoted(value: str) -> str:
    return value.replace("\\", "\\\\").replace('"', '\\"')


def main() -> int:
    """Print the series of a bundle."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("bundle", type=Path)
    parser.add_argument(
        "--for",
        dest="for_s",
        type=float,
        default=1200.0,
        metavar="S",
        help="how long it is played (default 1200)",
    )
    parser.add_argument(
        "--every",
        type=float,
        default=5.0,
        metavar="S",
        help="how far apart the recorded pages are (default 5)",
    )
    arguments = parser.parse_args()
    series: Any = input_series(
        played(recorded_series(readings(arguments.bundle)), arguments.every, arguments.for_s)
    )
    yaml.safe_dump(
        {"interval": f"{STEP_S:g}s", "input_series": series},
        sys.stdout,
        sort_keys=False,
        width=10**6,
    )
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
