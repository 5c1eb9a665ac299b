"""How far the operator may go: who decides, what is a ceiling, and what is unreadable."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from barostat.core.errors import InputError
from barostat.core.limits import RemedyLimits
from barostat.operator.policy import AUTONOMY, QUIET_HOURS, SWITCH, Defaults, policy_of, quiet_hours


def at(written: str) -> float:
    return datetime.fromisoformat(written).replace(tzinfo=UTC).timestamp()


def test_the_workload_decides_before_limits_namespace_and_flag() -> None:
    limits, workload, namespace = (
        RemedyLimits("recommend"),
        {AUTONOMY: "act"},
        {AUTONOMY: "observe"},
    )
    assert policy_of(Defaults(), workload, namespace, limits).autonomy == "act"
    assert policy_of(Defaults(), {}, namespace, limits).autonomy == "recommend"
    assert policy_of(Defaults("act"), {}, namespace, None).autonomy == "observe"
    assert policy_of(Defaults("act"), {}, {}, None).autonomy == "act"
    assert policy_of(Defaults(), {}, {}, None).autonomy == "observe"


def test_nothing_exceeds_the_ceiling() -> None:
    made = policy_of(Defaults("act", "observe"), {AUTONOMY: "act"}, {}, RemedyLimits("act"))
    assert made.autonomy == "observe"


def test_a_setting_that_cannot_be_read_is_only_observed_and_told() -> None:
    made = policy_of(Defaults("act"), {AUTONOMY: "full"}, {}, None)
    assert (made.autonomy, "'full'" in made.problem) == ("observe", True)
    made = policy_of(Defaults("act"), {QUIET_HOURS: "at night"}, {}, None)
    assert (made.autonomy, "five cron fields" in made.problem) == ("observe", True)


def test_either_switch_disables() -> None:
    assert policy_of(Defaults(), {SWITCH: "disabled"}, {}, None).disabled
    assert policy_of(Defaults(), {}, {SWITCH: "disabled"}, None).disabled
    assert not policy_of(Defaults(), {SWITCH: "enabled"}, {}, None).disabled


@pytest.mark.parametrize(
    ("written", "instant", "covered"),
    [
        ("0 2 * * * 4h", "2026-03-02T02:00:00", True),
        ("0 2 * * * 4h", "2026-03-02T05:59:59", True),
        ("0 2 * * * 4h", "2026-03-02T06:00:00", False),
        ("0 22 * * * 4h", "2026-03-03T01:30:00", True),
        ("0 2 * * 0 4h", "2026-03-01T03:00:00", True),  # a Sunday
        ("0 2 * * 7 4h", "2026-03-01T03:00:00", True),
        ("0 2 * * 1-5 4h", "2026-03-01T03:00:00", False),
        ("*/30 * * * * 10m", "2026-03-01T03:39:00", True),
        ("*/30 * * * * 10m", "2026-03-01T03:41:00", False),
        ("0 0 13 * 5 1h", "2026-03-06T00:10:00", True),  # a Friday, and no 13th: cron takes either
        ("0 0 13 * 5 1h", "2026-03-07T00:10:00", False),
    ],
)
def test_quiet_hours_as_cron_has_them(written: str, instant: str, covered: bool) -> None:
    assert quiet_hours(written).covers(at(instant)) is covered


@pytest.mark.parametrize(
    "written",
    [
        "",
        "0 2 * * *",
        "0 2 * * * 4",
        "60 2 * * * 4h",
        "0 2 * * mon 4h",
        "0 5-2 * * * 1h",
        "* * * * * 0m",
        "*/0 * * * * 1h",
        "0 0 * * * 48h",
    ],
)
def test_what_is_no_quiet_hours_is_refused(written: str) -> None:
    with pytest.raises(InputError):
        quiet_hours(written)
