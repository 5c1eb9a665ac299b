"""The series that a glance reads, under the metric names of every version."""

from __future__ import annotations

import pytest

from barostat.catalog.metric_names import ITL, KV_USAGE, RUNNING
from barostat.operator.glance import Glance, Usual, worse


@pytest.mark.parametrize("name", KV_USAGE)
def test_usage_is_read_under_its_former_name_too(name: str) -> None:
    glance = Glance.of(f'{name}{{engine="0"}} 0.25\n{name}{{engine="1"}} 0.5\n'.encode())
    assert glance.usage == 0.75


def test_two_names_of_one_quantity_count_once() -> None:
    page = "".join(f"{name} 0.5\n" for name in KV_USAGE)
    assert Glance.of(page.encode()).usage == 0.5


def test_engines_are_counted_by_their_running_requests() -> None:
    page = f'{RUNNING[0]}{{engine="0"}} 3\n{RUNNING[0]}{{engine="1"}} 4\n'
    glance = Glance.of(page.encode())
    assert (glance.engines, glance.get(RUNNING)) == (2, 7.0)


@pytest.mark.parametrize("name", ITL)
def test_slower_tokens_are_worse_under_every_name(name: str) -> None:
    usual = Usual()
    pages = [
        Glance.of(f"{name}_sum {total}\n{name}_count {count}\n".encode())
        for total, count in ((0.0, 0), (1.0, 100), (2.0, 200), (6.0, 300))
    ]
    assert not worse(pages[0], pages[1], usual)
    assert not worse(pages[1], pages[2], usual)
    assert worse(pages[2], pages[3], usual)
