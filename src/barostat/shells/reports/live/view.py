"""What is shown of the rows, and what each key does to that: order, filter, place, pause. Keys as
top, less and k9s have them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from barostat.shells.reports.live.rows import Row

SEVERITIES = ("none", "info", "warning", "critical")


@dataclass(frozen=True, slots=True)
class Order:
    """One way to sort. `key`: the larger comes first; None is last."""

    column: str
    key: Callable[[Row], float | None]


ORDERS = (
    Order("REPLICA", lambda _: None),
    Order("KV", lambda row: row.kv_ratio),
    Order("RUN", lambda row: row.running),
    Order("WAIT", lambda row: row.waiting),
    Order("PRE/S", lambda row: row.preemptions_per_s),
    Order("TOK/S", lambda row: row.tokens_per_s),
    Order("TTFT", lambda row: row.ttft_s),
    Order("ITL", lambda row: row.itl_s),
    Order("VERDICT", lambda row: SEVERITIES.index(row.severity) + (row.kv_ratio or 0.0)),
    Order("FOR", lambda row: -row.since if row.since is not None else None),
)
WORST_FIRST = next(place for place, order in enumerate(ORDERS) if order.column == "VERDICT")


@dataclass(frozen=True, slots=True)
class View:
    """`typing`: the filter is being written. `chosen`: name of the row the cursor is on; `top`: how
    many rows are above the screen.
    """

    order: int = WORST_FIRST
    turned: bool = False
    filter: str = ""
    typing: bool = False
    chosen: str = ""
    top: int = 0
    paused: bool = False
    help: bool = False
    over: bool = False


def shown(view: View, rows: Sequence[Row]) -> list[Row]:
    """The rows that pass the filter, in order; rows that are alike keep the order of their
    names.
    """
    wanted = view.filter.lower()
    kept = [row for row in rows if wanted in row.name.lower() or wanted in row.verdict]
    key = ORDERS[view.order].key

    def place(row: Row) -> tuple[bool, float]:
        value = key(row)
        return value is None, 0.0 if value is None else value if view.turned else -value

    kept.sort(key=lambda row: row.name, reverse=view.turned and view.order == 0)
    return kept if view.order == 0 else sorted(kept, key=place)


def pressed(view: View, key: str, rows: Sequence[Row], room: int) -> View:
    """The view after that key. `room`: rows that the screen has place for."""
    if view.help:
        return replace(view, help=False, over=key in ("q", "ctrl-c"))
    if view.typing:
        return _typed(view, key)
    match key:
        case "q" | "ctrl-c":
            return replace(view, over=True)
        case " ":
            return replace(view, paused=not view.paused)
        case "?" | "h":
            return replace(view, help=True)
        case "/":
            return replace(view, typing=True, filter="", top=0)
        case "esc":
            return replace(view, filter="", top=0)
        case "<" | "left":
            return replace(view, order=(view.order - 1) % len(ORDERS), turned=False)
        case ">" | "right" | "s":
            return replace(view, order=(view.order + 1) % len(ORDERS), turned=False)
        case "r" | "R":
            return replace(view, turned=not view.turned)
        case _:
            return _moved(view, key, rows, room)


def _typed(view: View, key: str) -> View:
    match key:
        case "enter":
            return replace(view, typing=False)
        case "esc" | "ctrl-c":
            return replace(view, typing=False, filter="")
        case "backspace":
            return replace(view, filter=view.filter[:-1])
        case _ if len(key) == 1 and key.isprintable():
            return replace(view, filter=view.filter + key, top=0)
        case _:
            return view


def _moved(view: View, key: str, rows: Sequence[Row], room: int) -> View:
    steps = {
        "up": -1,
        "k": -1,
        "down": 1,
        "j": 1,
        "page-up": -room,
        "page-down": room,
        "home": -len(rows),
        "g": -len(rows),
    }
    steps |= {"end": len(rows), "G": len(rows)}
    if key not in steps:
        return view
    visible = shown(view, rows)
    if not visible:
        return view
    here = next(
        (place for place, row in enumerate(visible) if row.name == view.chosen),
        0 if steps[key] < 0 or not view.chosen else -1,
    )
    start = (
        here
        if view.chosen
        else (here if abs(steps[key]) > 1 else here - steps[key] * (steps[key] > 0))
    )
    to = min(len(visible) - 1, max(0, start + steps[key]))
    return in_sight(replace(view, chosen=visible[to].name), rows, room)


def in_sight(view: View, rows: Sequence[Row], room: int) -> View:
    """The view scrolled so that the chosen row is on the screen, and no further than there are
    rows.
    """
    visible = shown(view, rows)
    here = next((place for place, row in enumerate(visible) if row.name == view.chosen), None)
    top = min(view.top, max(0, len(visible) - room))
    if here is not None:
        top = min(here, max(top, here - room + 1))
    return replace(view, top=top)


_SEQUENCES = {
    "\x1b[A": "up", "\x1b[B": "down", "\x1b[C": "right", "\x1b[D": "left", "\x1bOA": "up", "\x1bOB": "down", "\x1bOC": "right",
    "\x1bOD": "left", "\x1b[5~": "page-up", "\x1b[6~": "page-down", "\x1b[H": "home", "\x1b[F": "end", "\x1b[1~": "home", "\x1b[4~": "end",
    "\x1bOH": "home", "\x1bOF": "end",
}  # fmt: skip
_SINGLE = {
    "\r": "enter",
    "\n": "enter",
    "\x7f": "backspace",
    "\x08": "backspace",
    "\x03": "ctrl-c",
    "\x1b": "esc",
}


def keys_of(text: str) -> list[str]:
    """The keys behind what a terminal sent at once; sequences that mean nothing here are passed
    over.
    """
    found, place = [], 0
    while place < len(text):
        sequence = next((one for one in _SEQUENCES if text.startswith(one, place)), None)
        if sequence is not None:
            found.append(_SEQUENCES[sequence])
            place += len(sequence)
        elif text.startswith(("\x1b[", "\x1bO"), place):
            place += 2
            while place < len(text) and not text[place].isalpha() and text[place] != "~":
                place += 1
            place += 1
        else:
            found.append(_SINGLE.get(text[place], text[place]))
            place += 1
    return found
