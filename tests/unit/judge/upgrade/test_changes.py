"""Arguments, defaults, rules and metrics of two versions, from the tables."""

from __future__ import annotations

from tests.unit.judge.upgrade.test_upgrade import deployed, version

from barostat.judge.upgrade.changes import (
    changed_defaults,
    changed_metrics,
    changed_rules,
    refused_arguments,
)


def test_an_argument_that_came_later_is_refused_by_an_older_version() -> None:
    (one,) = refused_arguments(deployed("0.32.0", watermark=0.1), version("0.20.0"))
    assert (one.option, one.since) == ("--watermark", "0.24.0")


def test_a_default_by_card_differs_only_on_that_card() -> None:
    def names(gpu: str) -> list[str]:
        return [one.name for one in changed_defaults(deployed("0.27.0", gpu), version("0.28.0"))]

    assert names("B200") == ["--max-num-batched-tokens"]
    assert names("L4") == []


def test_without_a_card_a_default_that_depends_on_it_is_not_certain() -> None:
    one = deployed("0.13.0")
    (found,) = [d for d in changed_defaults(one, version("0.14.0")) if "async" in d.name]
    assert (found.before, found.after, found.certain) == (False, True, True)


def test_the_same_change_the_other_way_round_loses_the_rule() -> None:
    up = changed_rules(deployed("0.18.0"), version("0.19.0"))
    down = changed_rules(deployed("0.19.0"), version("0.18.0"))
    assert {(one.name, one.gained) for one in up} == {("full-sequence-admission", True)}
    assert {(one.name, one.gained) for one in down} == {("full-sequence-admission", False)}


def test_a_rule_that_needs_what_is_not_set_has_no_effect_and_says_why() -> None:
    plain = {one.name: one.idle for one in changed_rules(deployed("0.32.0"), version("0.33.0"))}
    by_priority = changed_rules(deployed("0.32.0", scheduling_policy="priority"), version("0.33.0"))
    assert plain["self-preempted-skips-on"] == "the queue is not ordered by priority"
    assert {one.name: one.idle for one in by_priority}["self-preempted-skips-on"] == ""
    off = changed_rules(deployed("0.22.0", enable_prefix_caching=False), version("0.23.0"))
    assert {one.idle for one in off if one.schedules} == {"prefix caching is off"}
    kept = changed_rules(deployed("0.18.0", scheduler_reserve_full_isl=False), version("0.19.0"))
    assert "scheduler-reserve-full-isl" in kept[0].idle


def test_metrics_that_go_and_come() -> None:
    found = changed_metrics(version("0.19.0"), version("0.20.0"))
    assert "vllm:num_requests_waiting_by_reason" in found.new
    back = changed_metrics(version("0.20.0"), version("0.19.0"))
    assert (back.gone, back.new) == (found.new, found.gone)
