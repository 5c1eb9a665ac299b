"""A frame: the fleet in so many lines of so many columns, most of it the replicas. Pure: what is
shown is an argument, the time too.
"""

from __future__ import annotations

import os.path
import textwrap
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime

from rich.text import Text

from barostat.core.units import many
from barostat.core.visible import one_line
from barostat.shells.reports.live.rows import LOOKING, Row
from barostat.shells.reports.live.view import ORDERS, SEVERITIES, View, shown

ABOVE, BELOW = 4, 3
"""Lines above the rows (what it is, sums, verdicts, heading) and below them (the chosen one's
sentence, the keys).
"""
_STYLES = {"none": "green", "info": "", "warning": "yellow", "critical": "bold red"}
_MARKS = {"none": " ", "info": " ", "warning": "~", "critical": "!"}
_KEYS = "q quit  < > sort  r turn  / filter  space pause  ? help"
_HELP = (
    ("< >, arrows, s", "sort by the column to the left or right"),
    ("r", "turn the order around"),
    ("up down, j k", "choose a replica: what is wrong with it stands below"),
    ("PgUp PgDn g G", "a page, the first, the last"),
    ("/", "show only names and verdicts with these letters; Enter keeps, Esc ends it"),
    ("space", "pause: the screen stands still, looking goes on"),
    ("q, Ctrl-C", "leave"),
    ("", ""),
    ("KV", "share of the KV pool in use; high alone is not harm"),
    ("RUN WAIT", "requests that run, and that wait"),
    ("PRE/S", "preemptions per second: running requests thrown out of the pool"),
    ("TOK/S", "output tokens per second"),
    ("TTFT ITL", "99th percentile of the time to first token, and between tokens"),
    ("FOR", "how long the verdict has been the same; ! critical, ~ warning"),
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Fleet:
    """State of the live screen. `at`: last observation, unix seconds; `now`: time of drawing;
    `problem`: why observations are missing, or empty.
    """

    target: str
    rows: Sequence[Row]
    at: float
    now: float
    interval_s: float
    problem: str = ""


@dataclass(frozen=True, slots=True)
class _Column:
    name: str
    width: int
    words: Callable[[Row], str]
    rank: int
    """Where there is no room, columns go by this: the highest first."""


def brief(value: float | None) -> str:
    """A number in at most five characters; a dash where it is not known."""
    if value is None:
        return "-"
    for size, letter in ((1e9, "G"), (1e6, "M"), (1e4, "k")):
        if value >= size:
            scaled = value / (1e3 if letter == "k" else size)
            return f"{scaled:.3g}{letter}" if scaled < 999.5 else f"{scaled:.0f}{letter}"
    return (
        f"{value:.0f}"
        if value >= 99.95 or value == int(value)
        else f"{value:.1f}"
        if value >= 0.05
        else "<0.1"
    )


def seconds(value: float | None) -> str:
    """A latency in at most five characters."""
    if value is None:
        return "-"
    if value < 0.9995:
        return f"{value * 1000:.0f}ms" if value * 1000 >= 1 or value == 0 else "<1ms"
    return f"{value:.1f}s" if value < 99.95 else age(value)


def age(value: float | None) -> str:
    """A duration in at most four characters: 42s, 12m, 3h, 5d."""
    if value is None:
        return "-"
    for size, letter in ((86_400.0, "d"), (3_600.0, "h"), (60.0, "m")):
        if value >= size * (1 if letter != "m" else 1.5):
            return f"{value / size:.0f}{letter}"
    return f"{max(0.0, value):.0f}s"


_COLUMNS = (
    _Column("KV", 4, lambda row: "-" if row.kv_ratio is None else f"{row.kv_ratio:.0%}", 0),
    _Column("RUN", 4, lambda row: brief(row.running), 2),
    _Column("WAIT", 4, lambda row: brief(row.waiting), 1),
    _Column("PRE/S", 5, lambda row: brief(row.preemptions_per_s), 4),
    _Column("TOK/S", 5, lambda row: brief(row.tokens_per_s), 6),
    _Column("TTFT", 5, lambda row: seconds(row.ttft_s), 5),
    _Column("ITL", 5, lambda row: seconds(row.itl_s), 7),
)
_VERDICT, _FOR, _NAME = 22, 4, 10
_WITHIN_NAMES = "-./:_"


def frame(fleet: Fleet, view: View, width: int, height: int) -> list[Text]:
    """Exactly `height` lines (fewer only where there is less to say and no keys are told), none
    wider than `width`.
    """
    lines = _head(fleet, view, width)
    room = max(1, height - ABOVE - BELOW)
    if view.help:
        body = [Text(f"  {keys:<16}{words}") for keys, words in _HELP][:room]
    else:
        body = _table(fleet, view, width, room)
    body += [Text("")] * (room - len(body))
    lines += body + _foot(fleet, view, width)
    for line in lines:
        line.truncate(width, overflow="ellipsis")
    return lines[:height]


def _head(fleet: Fleet, view: View, width: int) -> list[Text]:
    clock = datetime.fromtimestamp(fleet.at).astimezone().strftime("%H:%M:%S")
    state = "PAUSED" if view.paused else f"every {fleet.interval_s:g}s"
    late = fleet.now - fleet.at > 2.5 * fleet.interval_s and not view.paused
    right = f"  {clock}  {f'{age(fleet.now - fleet.at)} old' if late else state}"
    left = f"barostat top  {fleet.target}"
    left = left if len(left) + len(right) <= width else f"{left[: max(0, width - len(right) - 1)]}…"
    title = Text(left.ljust(width - len(right)), style="bold")
    title.append(right, style="bold yellow" if late or view.paused else "dim")
    return [title, _sums(fleet), _verdicts(fleet), _heading(fleet, view, width)]


def _sums(fleet: Fleet) -> Text:
    rows = fleet.rows
    usage = [row.kv_ratio for row in rows if row.kv_ratio is not None]
    kv = f"KV {sum(usage) / len(usage):.0%} mean {max(usage):.0%} max" if usage else "KV -"
    parts = [many(len(rows), "replica"), kv]
    for word, values in (
        ("run", [row.running for row in rows]), ("wait", [row.waiting for row in rows]),
        ("pre/s", [row.preemptions_per_s for row in rows]), ("tok/s", [row.tokens_per_s for row in rows]),
    ):  # fmt: skip
        there = [value for value in values if value is not None]
        parts.append(f"{word} {brief(sum(there)) if there else '-'}")
    return Text("  ".join(parts))


def _verdicts(fleet: Fleet) -> Text:
    if fleet.problem:
        return Text(fleet.problem, style="bold red")
    counted = Counter((row.severity, row.verdict) for row in fleet.rows)
    line = Text()
    for (severity, verdict), count in sorted(
        counted.items(), key=lambda entry: (-SEVERITIES.index(entry[0][0]), -entry[1])
    ):
        line.append("  " if line.plain else "")
        line.append(f"{count} {verdict}", style=_STYLES[severity])
    return line


def _columns(width: int) -> list[_Column]:
    """Those there is room for beside names of eight characters and the verdict."""
    kept = list(_COLUMNS)
    while (
        kept and 1 + _NAME + sum(column.width + 1 for column in kept) + _VERDICT + _FOR + 3 > width
    ):
        kept.remove(max(kept, key=lambda column: column.rank))
    return kept


def _name_width(fleet: Fleet, columns: Sequence[_Column], width: int) -> int:
    left = width - sum(column.width + 1 for column in columns) - _VERDICT - _FOR - 4
    return max(_NAME, min(left, max((len(row.name) for row in fleet.rows), default=_NAME)))


def _short(rows: Sequence[Row], width: int) -> dict[str, str]:
    """Names that fit: where one does not, all lose the beginning that they share, and what is
    longer still shows its end.
    """
    names = [row.name for row in rows]
    shared = os.path.commonprefix(names) if len(names) > 1 else ""  # noqa: RUF071 (characters are meant)
    shared = (
        shared[: max(shared.rfind(mark) for mark in _WITHIN_NAMES) + 1]
        if max(map(len, names), default=0) > width
        else ""
    )
    bare = {name: f"…{name[len(shared) :]}" if shared else name for name in names}
    return {
        name: text if len(text) <= width else f"…{text[len(text) - width + 1 :]}"
        for name, text in bare.items()
    }


def _heading(fleet: Fleet, view: View, width: int) -> Text:
    columns = _columns(width)
    mark = "^" if view.turned else "v"
    sorted_by = ORDERS[view.order].column

    def title(name: str) -> str:
        return f"{name}{mark}" if name == sorted_by else name

    cells = [f" {title('REPLICA'):<{_name_width(fleet, columns, width)}}"]
    cells += [f"{title(column.name):>{column.width}}" for column in columns]
    text = f"{' '.join(cells)}  {title('VERDICT'):<{_VERDICT - 1}} {title('FOR'):>{_FOR}}"
    return Text(text.ljust(width), style="reverse")


def _table(fleet: Fleet, view: View, width: int, room: int) -> list[Text]:
    columns = _columns(width)
    names = _name_width(fleet, columns, width)
    visible = shown(view, fleet.rows)
    if not visible:
        return [
            Text(
                f"  nothing with {view.filter!r} in its name or verdict"
                if fleet.rows
                else "  no replica yet",
                style="dim",
            )
        ]
    short = _short(fleet.rows, names)
    return [
        _line(row, columns, f"{short[row.name]:<{names}}", row.name == view.chosen, fleet.now)
        for row in visible[view.top : view.top + room]
    ]


def _line(row: Row, columns: Sequence[_Column], name: str, chosen: bool, now: float) -> Text:
    line = Text(f"{'>' if chosen else ' '}{name}", style="reverse" if chosen else "")
    for column in columns:
        words = column.words(row)
        hot = (column.name == "PRE/S" and (row.preemptions_per_s or 0) > 0) or (
            column.name == "WAIT" and (row.waiting or 0) > 0
        )
        line.append(f" {words:>{column.width}}", style="bold" if hot else "")
    style = "dim" if row.verdict == LOOKING else _STYLES[row.severity]
    verdict = row.verdict if len(row.verdict) < _VERDICT else f"{row.verdict[: _VERDICT - 2]}…"
    line.append(f" {_MARKS[row.severity]}{verdict:<{_VERDICT - 1}}", style=style)
    line.append(f" {age(None if row.since is None else now - row.since):>{_FOR}}", style="dim")
    return line


def _foot(fleet: Fleet, view: View, width: int) -> list[Text]:
    visible = shown(view, fleet.rows)
    chosen = next(
        (row for row in visible if row.name == view.chosen), visible[0] if visible else None
    )
    said = (
        textwrap.wrap(f"{chosen.name}: {chosen.said}", width, break_on_hyphens=False)
        if chosen is not None and chosen.said
        else []
    )
    if len(said) > BELOW - 1:
        said[BELOW - 2] = f"{said[BELOW - 2][: width - 1]}…"
    told = [Text(line, style="dim") for line in (*said, "", "")[: BELOW - 1]]
    if view.typing:
        return [*told, Text(f"/{one_line(view.filter)}_")]
    kept = (
        f"  filter {view.filter!r} (Esc ends it): {len(visible)} of {len(fleet.rows)}"
        if view.filter
        else ""
    )
    return [
        *told,
        Text(f"{_KEYS}{kept}" if not kept else kept.strip(), style="bold" if kept else "dim"),
    ]


def plain(fleet: Fleet, view: View, *, heading: bool) -> list[str]:
    """The rows as lines that grep and awk can read: nothing cut off, the instant in front."""
    clock = datetime.fromtimestamp(fleet.at).astimezone().strftime("%H:%M:%S")
    names = max([len("REPLICA"), *(len(row.name) for row in fleet.rows)])
    cells = [f"{column.name:>{column.width}}" for column in _COLUMNS]
    lines = (
        [
            (
                f"{'TIME':<8}  {'REPLICA':<{names}} {' '.join(cells)}  {'VERDICT':<{_VERDICT}} "
                f"{'FOR':>{_FOR}}"
            )
        ]
        if heading
        else []
    )
    for row in shown(view, fleet.rows):
        cells = [f"{column.words(row):>{column.width}}" for column in _COLUMNS]
        held = age(None if row.since is None else fleet.now - row.since)
        lines.append(
            f"{clock}  {row.name:<{names}} {' '.join(cells)}  {row.verdict:<{_VERDICT}} "
            f"{held:>{_FOR}}"
        )
    return lines
