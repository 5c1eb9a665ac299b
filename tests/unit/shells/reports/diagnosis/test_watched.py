"""Who watches: the report again only when it says something else, and after every look a line with
what one watches.
"""

from __future__ import annotations

import io
from pathlib import Path

from rich.console import Console

from barostat.io.bundles import bundle
from barostat.judge.diagnosis.diagnose import Examination, examine
from barostat.shells.reports.diagnosis.watched import Watched

BUNDLES = Path(__file__).parents[4] / "data" / "bundles"


def looked(name: str) -> Examination:
    return examine(bundle.read(BUNDLES / name))


def test_a_report_again_only_when_it_says_something_else() -> None:
    console = Console(file=io.StringIO(), width=140)
    watched = Watched(console)
    thrash, idle = looked("kv-preemption-thrash"), looked("healthy-idle")
    told = []
    for found in (thrash, thrash, idle, thrash):
        before = len(console.file.getvalue())  # type: ignore[attr-defined]
        watched.show(found)
        told.append(console.file.getvalue()[before:])  # type: ignore[attr-defined]
    assert [text.count("\n") == 1 for text in told] == [False, True, False, False]
    line = told[1].strip()
    assert "CRITICAL 0s " in line
    assert line.endswith("kv-preemption-thrash")
    assert len(line) <= 95
    for name in ("KV ", "run ", "wait ", "pre/s ", "tok/s "):
        assert name in line
    assert "%" in line.partition("KV ")[2][:5]


def test_a_line_is_whole_in_a_pipe_and_one_row_in_a_terminal() -> None:
    thrash = looked("kv-preemption-thrash")
    for terminal in (False, True):
        console = Console(file=io.StringIO(), width=60, force_terminal=terminal, no_color=True)
        Watched(console).show(thrash)
        line = console.file.getvalue().rstrip("\n").splitlines()[-1]  # type: ignore[attr-defined]
        assert ("kv-preemption-thrash" in line) is not terminal
        assert ("…" in line) is terminal


def test_what_is_not_measured_is_a_dash() -> None:
    console = Console(file=io.StringIO(), width=140)
    found = looked("bad-config-argument")
    Watched(console).show(found)
    last = console.file.getvalue().strip().splitlines()[-1]  # type: ignore[attr-defined]
    assert "KV -" in last
    assert "bad-config" in last
