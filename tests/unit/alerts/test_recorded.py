"""What is recorded, for each version."""

from __future__ import annotations

import pytest

from barostat.alerts.recorded import CAPACITY_WAITING, COUNTED, REFUSED, SLOW, recorded
from barostat.alerts.terms import Promised, Terms
from barostat.core.version import parse_version
from barostat.lint.promql import metrics_in

VERSIONS = [None, "0.6.6", "0.8.0", "0.10.2", "0.15.0", "0.20.0", "0.32.0", "0.33.0"]


@pytest.mark.parametrize("version", VERSIONS)
def test_each_quantity_has_one_name_whatever_the_version(version: str | None) -> None:
    made = [one.name for one in recorded(Terms(version=parse_version(version)))]
    assert len(set(made)) == len(made)
    everywhere = {one.name for one in recorded(Terms())}
    assert everywhere - set(made) <= {REFUSED}


@pytest.mark.parametrize("version", VERSIONS)
def test_a_rule_reads_only_what_stands_before_it(version: str | None) -> None:
    known: set[str] = set()
    for one in recorded(Terms(version=parse_version(version), promised=Promised(2.0, 0.2))):
        own = {name for name in metrics_in(one.expression) if not name.startswith("vllm:")}
        assert own <= known, one.name
        known.add(one.name)


def test_before_0_20_all_that_wait_are_counted() -> None:
    by_name = {
        one.name: one.expression
        for one in recorded(Terms(version=parse_version("0.19.0"), labels={"job": "x"}))
    }
    assert by_name[CAPACITY_WAITING] == 'replica:vllm_waiting:sum{job="x"}'


def test_what_is_not_promised_is_not_counted() -> None:
    made = [one.name for one in recorded(Terms())]
    assert COUNTED not in made
    both = [one for one in recorded(Terms(promised=Promised(2.0, 0.2))) if one.name == f"{SLOW}1h"]
    assert [one.labels for one in both] == [{"slo": "ttft"}, {"slo": "itl"}]
    assert 'le=~"2\\\\.5"' in both[0].expression
