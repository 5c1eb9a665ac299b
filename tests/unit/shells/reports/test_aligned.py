"""Columns."""

from __future__ import annotations

from io import StringIO

from barostat.shells.reports.aligned import Unpadded, aligned


def test_columns_are_as_wide_as_their_widest_and_lines_end_where_they_end() -> None:
    assert aligned(
        [("name", "n", ""), ("a", "1,024", "x"), ("longer [b]", "7", "")], right={1}
    ) == [
        "name            n",
        "a           1,024  x",
        "longer [b]      7",
    ]


def test_a_wide_letter_takes_two_places_and_a_long_cell_stays_whole() -> None:
    assert aligned([("模型", "b"), ("a", "x" * 500)], lead="  ") == [
        "  模型  b",
        "  a     " + "x" * 500,
    ]


def test_no_rows_are_no_lines() -> None:
    assert aligned([]) == []


class _Terminal(StringIO):
    def isatty(self) -> bool:
        return True


def test_padding_stays_out_of_a_file_and_a_terminal_gets_all() -> None:
    for file, expected in ((StringIO(), "a\n\n b\n"), (_Terminal(), "a  \n   \n b\n")):
        Unpadded(file).write("a  \n   \n b\n")
        assert file.getvalue() == expected
