"""The harness: Unknown for what is missing, stale or crashing, and no verdict is a bool."""

from __future__ import annotations

import pytest

from barostat.catalog.signals import signal
from barostat.core.symptom import Symptom, judge, judge_all
from barostat.core.verdict import Absent, Present, Unknown, Verdict
from barostat.core.window import Window


def window(**last: float) -> Window:
    made = {name: signal(name, [(100.0, value)], "test") for name, value in last.items()}
    return Window("r", 100.0, {name: item for name, item in made.items() if item is not None})


def hot(view: Window) -> Verdict:
    value = view["kv_usage_ratio"].last
    return Present("hot", ()) if value > 0.9 else Absent("cool")


HOT = Symptom("hot", "hot", hot, needs=("kv_usage_ratio",))


def test_the_rule_is_called_when_its_needs_are_fresh() -> None:
    assert judge(HOT, window(kv_usage_ratio=0.95)) == Present("hot", ())
    assert judge(HOT, window(kv_usage_ratio=0.5)) == Absent("cool")


def test_a_missing_need_is_unknown_and_names_it() -> None:
    verdict = judge(HOT, window())
    assert isinstance(verdict, Unknown)
    assert verdict.missing == ("kv_usage_ratio",)


def test_a_stale_need_is_unknown() -> None:
    old = window(kv_usage_ratio=0.95)
    verdict = judge(HOT, Window("r", 100_000.0, old.signals))
    assert isinstance(verdict, Unknown)
    assert "old" in verdict.why


def test_one_of_needs_any_is_enough_and_none_is_unknown() -> None:
    either = Symptom(
        "either", "either", lambda _: Absent("fine"), needs_any=("kv_usage_ratio", "log_gpu_oom")
    )
    assert judge(either, window(log_gpu_oom=0)) == Absent("fine")
    verdict = judge(either, window())
    assert isinstance(verdict, Unknown)
    assert set(verdict.missing) == {"kv_usage_ratio", "log_gpu_oom"}


def test_a_crashing_rule_is_its_own_unknown_and_stops_no_other() -> None:
    def crash(_: Window) -> Verdict:
        raise ZeroDivisionError("oh")

    broken = Symptom("broken", "broken", crash)
    verdicts = judge_all((broken, HOT), window(kv_usage_ratio=0.95))
    assert isinstance(verdicts["broken"], Unknown)
    assert verdicts["broken"].crashed
    assert isinstance(verdicts["hot"], Present)


@pytest.mark.parametrize("verdict", [Present("p", ()), Absent("a"), Unknown("u")])
def test_a_verdict_has_no_truth_value(verdict: Verdict) -> None:
    with pytest.raises(TypeError, match="not a bool"):
        bool(verdict)
