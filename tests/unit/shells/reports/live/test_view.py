"""What keys do to the view of the fleet."""

from __future__ import annotations

import pytest

from barostat.shells.reports.live.rows import Row
from barostat.shells.reports.live.view import ORDERS, View, in_sight, keys_of, pressed, shown

ROWS = (
    Row("a", 0.2, 4, 0, 0.0, 100.0, 0.1, 0.02, "healthy-busy", "none", 100.0),
    Row("b", 0.99, 12, 30, 1.5, 400.0, 9.0, 0.3, "kv-preemption-thrash", "critical", 50.0),
    Row("c", None, None, None, None, None, None, None, "no answer", "info", 10.0),
)
ROOM = 10


def after(*keys: str, rows: tuple[Row, ...] = ROWS, room: int = ROOM) -> View:
    view = View()
    for key in keys:
        view = pressed(view, key, rows, room)
    return view


def names(view: View) -> str:
    return "".join(row.name for row in shown(view, ROWS))


@pytest.mark.parametrize(
    ("keys", "order"),
    [
        ((), "bca"),
        ((">", ">"), "abc"),
        ((">", ">", "r"), "cba"),
        ((">", ">", "right"), "bac"),
        ((">", ">", "right", "r"), "abc"),
        (("s", "s", "s"), "bac"),
        (("left",), "bac"),
        ((">",), "cba"),
        ((">", "r"), "abc"),
    ],
)
def test_order_and_what_is_not_measured_comes_last(keys: tuple[str, ...], order: str) -> None:
    assert names(after(*keys)) == order


def test_every_order_can_be_reached_and_comes_round_again() -> None:
    assert {after(*[">"] * count).order for count in range(len(ORDERS))} == set(range(len(ORDERS)))
    assert after(*[">"] * len(ORDERS)).order == View().order


def test_a_filter_is_typed_kept_and_ended() -> None:
    typing = after("/", *"thr", "x", "backspace")
    assert typing.typing
    assert names(typing) == "b"
    assert not after("/", "q").over  # a letter of the filter
    kept = after("/", *"thrash", "enter")
    assert not kept.typing
    assert names(kept) == "b"
    assert names(pressed(kept, "esc", ROWS, ROOM)) == "bca"
    assert after("/", "x", "ctrl-c") == View()


def test_the_cursor_moves_stays_on_its_replica_and_in_sight() -> None:
    assert after("down").chosen == "b"
    assert after("down", "j").chosen == "c"
    assert after("down", "down", "down", "down").chosen == "a"
    assert after("end").chosen == "a"
    assert after("end", "g").chosen == "b"
    assert after("up").chosen == "b"
    moved = after("down", "down")
    assert pressed(moved, "r", ROWS, ROOM).chosen == "c"
    many = tuple(Row(f"{number:03}") for number in range(200))
    low = after("G", rows=many, room=20)
    assert low.chosen == "199"
    assert low.top == 180
    assert in_sight(low, many[:30], 20).top == 10  # most of them went away
    assert after("page-down", "page-down", rows=many, room=20).top <= 40


def test_pause_help_and_out() -> None:
    assert after(" ").paused
    assert not after(" ", " ").paused
    assert after("?").help
    assert after("?", "x") == View()
    assert after("?", "q").over
    assert after("q").over
    assert after("ctrl-c").over
    assert after("F") == View()


def test_nothing_to_choose_from_is_no_error() -> None:
    assert pressed(View(), "down", (), ROOM) == View()


@pytest.mark.parametrize(
    ("sent", "keys"),
    [
        ("\x1b[A\x1b[B", ["up", "down"]),
        ("\x1bOC", ["right"]),
        ("q", ["q"]),
        ("\x1b", ["esc"]),
        ("\r\x7f\x03", ["enter", "backspace", "ctrl-c"]),
        ("\x1b[5~\x1b[6~", ["page-up", "page-down"]),
        ("\x1b[1;5Cq", ["q"]),
        ("\x1b[200~", []),
        ("é ", ["é", " "]),
        ("", []),
    ],
)
def test_what_a_terminal_sends(sent: str, keys: list[str]) -> None:
    assert keys_of(sent) == keys
