"""What holds for every test: examples of a property, no failure by a slow machine, a limit for what
hangs, and the flag that renews.
"""

from __future__ import annotations

import gc
import os
import shutil
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest
from hypothesis import settings
from tests.support.virtual_time import virtual_time

EXAMPLES = int(os.environ.get("EXAMPLES") or 50)
"""Of a property that does not say how many. `make check` asks for fewer, and `make test` for
all.
"""
IN_CI = os.environ.get("CI") == "true"
"""There the examples are the same every time, as those of the fuzzer are: what is new is for `make
check` and `make fuzz` to find.
"""
settings.register_profile("barostat", max_examples=EXAMPLES, deadline=None, derandomize=IN_CI)
settings.load_profile("barostat")

QUICK_S = 90
LIMITS_S = {"model": 120, "integration": 600, "parity": 600, "cluster": 1800}
"""Seconds after which a test of this folder hangs, `QUICK_S` for any other: many times what it
takes. All stacks are told.
"""
LONG_S = 5400
FEWER_WALKS = (100_000, 50, 100)
"""Of the garbage collector, by objects made and not yet freed: a test makes few that only it can
free.
"""
_HERE = Path(__file__).parent


def _no_terminal(fallback: tuple[int, int] = (80, 24)) -> os.terminal_size:
    """The size that a program sees whose output is no terminal: a test prints the same lines
    whoever runs it.
    """
    return os.terminal_size((int(os.environ.get("COLUMNS") or fallback[0]), fallback[1]))


os.environ.pop("COLUMNS", None)
shutil.get_terminal_size = _no_terminal


def pytest_addoption(parser: pytest.Parser) -> None:
    """`--renew`: golden reports and sample documents are written anew; the difference is for a
    person to read.
    """
    parser.addoption(
        "--renew", action="store_true", help="write golden reports and sample documents anew"
    )


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Every test has a time limit, its folder's unless it has one of its own.

    Not while coverage is measured: that takes many times as long, and who is interrupted within its
    tracer leaves it locked for all others.
    """
    for item in items if not config.pluginmanager.hasplugin("_cov") else ():
        if item.get_closest_marker("timeout") is None and (folder := _folder(item.path)):
            item.add_marker(
                pytest.mark.timeout(
                    LONG_S if item.get_closest_marker("long") else LIMITS_S.get(folder, QUICK_S)
                )
            )


def pytest_collection() -> None:
    """While tests are loaded, next to nothing is thrown away: there is nothing for the garbage
    collector to find.
    """
    gc.disable()


def pytest_collection_finish() -> None:
    """What was loaded stays to the end: the garbage collector does not walk through it with each
    test, and walks less often.
    """
    gc.freeze()
    gc.set_threshold(*FEWER_WALKS)
    gc.enable()


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """What failed is also written to the file that `TOLD_IN` names: the end of a long run tells it
    once more.
    """
    if told := os.environ.get("TOLD_IN"):
        with Path(told).open("a") as file:
            reports = (
                one for kind in ("failed", "error") for one in terminalreporter.getreports(kind)
            )
            file.writelines(f"{one.nodeid} ({one.when})\n{one.longreprtext}\n\n" for one in reports)


@cache
def _folder(path: Path) -> str:
    """The folder of tests/ that the file is in; "" for one that is elsewhere."""
    return path.relative_to(_HERE).parts[0] if path.is_relative_to(_HERE) else ""


@pytest.fixture
def on_virtual_time() -> Iterator[None]:
    """Time passes only while everything waits, for what asks the servers of
    tests/support/small_servers.py.
    """
    with virtual_time():
        yield
