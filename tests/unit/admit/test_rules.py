"""What the limits mean to the gate."""

from __future__ import annotations

from barostat.admit.rules import rules_of
from barostat.core.limits import (
    EdgeLimits,
    EngineLimits,
    LimitsSpec,
    RequestLimits,
    ServiceLevel,
    ServingLimits,
    TenantLimits,
)


def test_nothing_stated_limits_nothing() -> None:
    rules = rules_of(ServingLimits(LimitsSpec()))
    assert (
        rules.max_input_tokens,
        rules.max_output_tokens,
        rules.kv_token_budget,
        rules.max_running,
    ) == (None, None, None, None)
    assert (rules.tenants, rules.tenants_closed, rules.refuse_no_output) == ({}, False, False)
    assert rules.queue_deadline_s == 30.0


def test_the_deadline_is_the_stated_or_most_of_the_time_to_the_first_token() -> None:
    assert (
        rules_of(ServingLimits(LimitsSpec(slo=ServiceLevel(ttft_p99_seconds=5.0)))).queue_deadline_s
        == 4.0
    )
    stated = LimitsSpec(
        slo=ServiceLevel(ttft_p99_seconds=5.0), edge=EdgeLimits(queue_deadline_seconds=1.5)
    )
    assert rules_of(ServingLimits(stated)).queue_deadline_s == 1.5


def test_tenants_without_a_share_divide_what_is_left() -> None:
    named = (TenantLimits("a", 0.5, 3, 1000), TenantLimits("b"), TenantLimits("c"))
    rules = rules_of(ServingLimits(LimitsSpec(tenants=named)))
    assert rules.tenants_closed
    assert (
        rules.tenants["a"].share,
        rules.tenants["a"].max_concurrency,
        rules.tenants["a"].tokens_per_minute,
    ) == (0.5, 3, 1000)
    assert rules.tenants["b"].share == rules.tenants["c"].share == 0.25


def test_the_smaller_of_the_engines_slots_and_the_policy_hold() -> None:
    spec = LimitsSpec(
        request=RequestLimits(1000, 200, 60.0, "refuse"),
        engine=EngineLimits(max_model_len=4096, max_num_seqs=64, max_num_active_seqs=32),
    )
    rules = rules_of(ServingLimits(spec))
    assert (
        rules.max_running,
        rules.max_model_len,
        rules.max_input_tokens,
        rules.max_output_tokens,
    ) == (32, 4096, 1000, 200)
    assert rules.refuse_no_output
    assert rules.refuse_above_output
