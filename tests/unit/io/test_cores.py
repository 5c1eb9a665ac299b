"""Work on all cores gives what one process gives, errors too."""

from __future__ import annotations

import os
import threading

import pytest

from barostat.io.cores import FEWEST_ITEMS, on_all_cores

ITEMS = range(3 * FEWEST_ITEMS + 7)


@pytest.fixture(name="alone")
def _alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """As in a program of one thread: pytest's plugins have theirs."""
    monkeypatch.setattr(threading, "active_count", lambda: 1)


@pytest.mark.usefixtures("alone")
def test_the_results_are_those_of_one_process_in_the_order_of_the_items() -> None:
    processes = on_all_cores(lambda item: (item, os.getpid()), ITEMS, cores=3)
    assert [item for item, _ in processes] == list(ITEMS)
    assert len({process for _, process in processes}) == 3


def test_few_items_and_several_threads_stay_in_this_process() -> None:
    few = on_all_cores(lambda _: os.getpid(), range(FEWEST_ITEMS), cores=3)
    assert set(few) == {os.getpid()}
    end = threading.Event()
    other = threading.Thread(target=end.wait)
    other.start()
    try:
        assert set(on_all_cores(lambda _: os.getpid(), ITEMS, cores=3)) == {os.getpid()}
    finally:
        end.set()
        other.join()


@pytest.mark.usefixtures("alone")
def test_an_error_of_another_process_is_raised_here() -> None:
    def work(item: int) -> int:
        if item == 4:  # a share of another process than this one
            raise ValueError("item 4")
        return item

    with pytest.raises(ValueError, match="item 4"):
        on_all_cores(work, ITEMS, cores=3)


@pytest.mark.usefixtures("alone")
def test_the_share_of_a_process_that_is_killed_is_done_here() -> None:
    this = os.getpid()

    def work(item: int) -> int:
        if os.getpid() != this:
            os._exit(9)
        return item

    assert on_all_cores(work, ITEMS, cores=3) == list(ITEMS)
