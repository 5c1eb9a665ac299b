"""Every case of every scenario file comes out as it says; and without a signal that it needs, a
symptom is Unknown.

The missing and the stale cases are made here from each file's first Present case: no scenario has
to repeat them.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from tests.scenario.notation import Case, expand, read_cases, series

from barostat.core.signal import Point, Signal
from barostat.core.symptom import Symptom, judge
from barostat.core.verdict import Absent, Present, Unknown, Verdict
from barostat.core.window import Window
from barostat.symptoms import symptoms

HERE = Path(__file__).parent


SYMPTOMS = {symptom.name: symptom for symptom in symptoms()}
CASES = [case for path in sorted(HERE.glob("*.txt")) for case in read_cases(path)]
BECAUSE_LENGTH = 170
"""A sentence longer than this is not read at 3 a.m. (a quoted log line included)."""


def _present(name: str) -> Case:
    return next(case for case in CASES if case.file == f"{name}.txt" and case.verdict == "Present")


def _text(verdict: Verdict) -> str:
    return verdict.why if isinstance(verdict, Unknown) else verdict.because


def _stale(signal: Signal) -> Signal:
    shift = signal.stale_after_s + 1.0
    return replace(
        signal, points=tuple(Point(point.at - shift, point.value) for point in signal.points)
    )


def _variants(symptom: Symptom) -> list[tuple[str, tuple[str, ...]]]:
    groups = [(name, (name,)) for name in symptom.needs]
    return groups + (
        [("all of " + ", ".join(symptom.needs_any), symptom.needs_any)] if symptom.needs_any else []
    )


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.file}:{case.line} {case.name}")
def test_case(case: Case) -> None:
    verdict = judge(SYMPTOMS[case.file.removesuffix(".txt")], case.window)
    said = f"{type(verdict).__name__}: {_text(verdict)}"
    assert type(verdict).__name__ == case.verdict, said
    assert not (isinstance(verdict, Unknown) and verdict.crashed), said
    for text in case.because:
        assert text in _text(verdict), said
    assert _text(verdict), "a verdict without a sentence"
    if isinstance(verdict, Present):
        assert case.least_confidence <= verdict.confidence <= case.most_confidence, (
            f"confidence {verdict.confidence}: {said}"
        )
        assert verdict.evidence, "Present without evidence"
    if isinstance(verdict, Present | Absent):
        assert len(verdict.because) <= BECAUSE_LENGTH, said


@pytest.mark.parametrize(
    ("name", "absent"),
    [
        pytest.param(name, absent, id=f"{name} without {what}")
        for name in SYMPTOMS
        for what, absent in _variants(SYMPTOMS[name])
    ],
)
def test_missing_and_stale_signals_are_unknown(name: str, absent: tuple[str, ...]) -> None:
    window = _present(name).window
    missing = Window(
        window.replica,
        window.at,
        {key: value for key, value in window.signals.items() if key not in absent},
        window.config,
    )
    stale = Window(
        window.replica,
        window.at,
        {key: _stale(value) if key in absent else value for key, value in window.signals.items()},
        window.config,
    )
    for changed in (missing, stale):
        verdict = judge(SYMPTOMS[name], changed)
        assert isinstance(verdict, Unknown), _text(verdict)
        assert set(absent) <= set(verdict.missing)
        assert not verdict.crashed


@pytest.mark.parametrize("name", SYMPTOMS)
def test_a_symptom_crashes_on_nobodys_window(name: str) -> None:
    for case in CASES:
        verdict = judge(SYMPTOMS[name], case.window)
        assert not (isinstance(verdict, Unknown) and verdict.crashed), (
            f"{case.file}:{case.line}: {_text(verdict)}"
        )


def test_notation_expands_like_promqltest() -> None:
    assert expand(["1+2x3"]) == [1, 3, 5, 7]
    assert expand(["7-2x3"]) == [7, 5, 3, 1]
    assert expand(["0.5x2", "_", "1"]) == [0.5, 0.5, 0.5, None, 1]
    assert series("kv_usage_ratio", ["0.5", "_", "0.7"], "", 5.0).span_s == 10.0
    with pytest.raises(ValueError, match="no value"):
        expand(["many"])


def test_notation_refuses_what_it_does_not_know(tmp_path: Path) -> None:
    path = tmp_path / "x.txt"
    path.write_text("case one\nkv_usage 0.5\nexpect Present\n", encoding="utf-8")
    with pytest.raises(ValueError, match=r"x\.txt:2"):
        read_cases(path)
