"""Seats are counted for the requests that the limits let in, not for those that they refuse."""

from __future__ import annotations

import argparse

import pytest

from barostat.judge.sizing.limits_from import limits_from
from barostat.judge.sizing.plan import plan
from barostat.judge.sizing.request_shape import (
    Arrival,
    admitted,
    traffic_from_quantiles,
    traffic_of,
)
from barostat.shells.cli.capacity import plan as plan_verb
from barostat.shells.cli.capacity import plan_inputs


def test_longer_inputs_are_refused_and_longer_outputs_cut() -> None:
    traffic = traffic_of(
        [Arrival(0, 100, 10), Arrival(1, 100, 4000), Arrival(2, 90_000, 10), Arrival(3, 100, 10)],
        "a trace",
    )
    assert traffic is not None
    found = admitted(traffic, 1000, 100)
    assert found.refused_share == 0.25
    # 105 weighted 10, 150 weighted 100, 105 weighted 10
    assert found.held_mean == pytest.approx((105 * 10 + 150 * 100 + 105 * 10) / 120)


def test_the_spread_of_quantiles_stays_within_what_the_limits_allow() -> None:
    traffic = traffic_from_quantiles((30_000, 400_000), (100, 1000), "quantiles")
    found = admitted(traffic, 32_000, 1000)
    assert found.held_mean <= 33_000
    assert found.held_deviation <= 33_000 / 2


def test_a_trace_far_longer_than_the_model_leaves_seats_for_what_fits() -> None:
    parser = argparse.ArgumentParser()
    plan_verb.add_parser(parser.add_subparsers())
    made = plan(
        plan_inputs.asked(
            parser.parse_args(["plan", "--model", "Qwen/Qwen3-8B", "--gpu", "H100"])
        ).request
    )
    rows = [Arrival(i, 2000 if i % 2 else 500_000, 200) for i in range(400)]
    limits = limits_from(made, traffic_of(rows, "a trace"), "0.32.0").limits
    assert limits.spec.engine is not None
    assert limits.spec.engine.max_num_seqs is not None
    assert limits.spec.engine.max_num_seqs > 100
    assert "50.0% of the requests have more" in limits.because["request.maxInputTokens"]
