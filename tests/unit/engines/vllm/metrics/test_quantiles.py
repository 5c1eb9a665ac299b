"""Histograms: quantiles as PromQL has them, and what happens where buckets are broken."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from barostat.engines.vllm.metrics.quantiles import Histogram, histogram, quantile


def _histogram(**buckets: float) -> Histogram:
    found = histogram(({"le": bound.removeprefix("le")}, value) for bound, value in buckets.items())
    assert found is not None
    return found


def test_linear_within_the_bucket() -> None:
    found = _histogram(**{"le1": 10, "le2": 30, "le4": 40, "le+Inf": 40})
    half = quantile(found, 0.5)
    assert half is not None
    assert half.value == pytest.approx(1.5)
    first = quantile(found, 0.1)
    assert first is not None
    assert first.value == pytest.approx(0.4)


def test_beyond_the_last_bucket_the_answer_is_its_bound() -> None:
    found = quantile(_histogram(**{"le1": 1, "le2": 1, "le+Inf": 10}), 0.99)
    assert found is not None
    assert (found.value, found.beyond) == (2.0, True)


def test_no_observation_no_quantile() -> None:
    assert quantile(_histogram(**{"le1": 0, "le+Inf": 0}), 0.5) is None
    assert quantile(_histogram(**{"le+Inf": 5}), 0.5) is None


def test_half_a_histogram_is_none() -> None:
    assert histogram([({"le": "1.0"}, 3.0)]) is None
    assert histogram([({"le": "one"}, 3.0), ({"le": "+Inf"}, 3.0)]) is None
    assert histogram([({}, 3.0), ({"le": "+Inf"}, 3.0)]) is None
    assert histogram([({"le": "1"}, math.nan), ({"le": "+Inf"}, 3.0)]) is None


def test_a_dip_between_buckets_is_raised() -> None:
    assert _histogram(**{"le1": 5, "le2": 4, "le+Inf": 6}).counts == (5, 5, 6)


def test_difference_and_sum() -> None:
    early, late = _histogram(**{"le1": 1, "le+Inf": 2}), _histogram(**{"le1": 4, "le+Inf": 9})
    assert late.minus(early) == Histogram((1.0, math.inf), (3.0, 7.0))
    assert early.minus(late) is None
    assert early.plus(late) == Histogram((1.0, math.inf), (5.0, 11.0))
    other = _histogram(**{"le3": 1, "le+Inf": 2})
    assert late.minus(other) is None
    assert late.plus(other) is None
    assert late.up_to(1.0) == 4
    assert late.up_to(2.0) is None


@given(
    st.lists(st.floats(0.001, 9.9), min_size=1, max_size=60),
    st.sampled_from([0.1, 0.5, 0.95, 0.99]),
)
def test_the_estimate_lies_in_the_bucket_of_the_true_quantile(
    values: list[float], q: float
) -> None:
    bounds = [0.01, 0.1, 1.0, 3.0, 10.0]
    found = histogram(
        [
            *(({"le": str(end)}, float(sum(value <= end for value in values))) for end in bounds),
            ({"le": "+Inf"}, float(len(values))),
        ]
    )
    assert found is not None
    estimate = quantile(found, q)
    assert estimate is not None
    true = sorted(values)[max(0, math.ceil(q * len(values)) - 1)]
    upper = min(end for end in bounds if true <= end)
    lower = max([0.0, *(end for end in bounds if end < upper)])
    assert lower <= estimate.value <= upper
