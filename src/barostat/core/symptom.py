"""A symptom: one named pattern in a window, and the harness that judges it safely."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import Flag, auto

from barostat.core.signal import Fresh, Missing, Stale
from barostat.core.verdict import Unknown, Verdict
from barostat.core.window import Window


class Harm(Flag):
    """The meaning of a present symptom for users.

    `DEATH`: nobody is served. `PLAIN`: harm that is reported even if no cause is found.
    `UNHEALTHY`: the engine is not healthy, however busy it is. `OF_THE_ENGINE`: errors at the
    gateway originate in the engine.
    """

    NONE = 0
    DEATH = auto()
    PLAIN = auto()
    UNHEALTHY = auto()
    OF_THE_ENGINE = auto()


@dataclass(frozen=True, slots=True)
class Symptom:
    """A rule: the signals it needs, and a pure function that judges them.

    `needs`: all of these signals must be fresh; otherwise the verdict is Unknown and the rule is
    not called. `needs_any`: at least one of these must be fresh (empty: not required). The rule
    reads them with `window.fresh`. `title`: the pattern in a few words. `harm`: its meaning for
    users.
    """

    name: str
    title: str
    judge: Callable[[Window], Verdict]
    needs: tuple[str, ...] = ()
    needs_any: tuple[str, ...] = ()
    harm: Harm = Harm.NONE


def judge(symptom: Symptom, window: Window) -> Verdict:
    """The symptom's verdict on the window. Missing or stale signals and a rule that raises are
    Unknown.

    Law: an Unknown carries its reason; a crashing rule stops no other.
    """
    absent: list[str] = []
    reasons: list[str] = []
    for name in symptom.needs:
        match window.read(name):
            case Fresh():
                pass
            case Stale() | Missing() as reading:
                absent.append(name)
                reasons.append(reading.why)
    if symptom.needs_any and not any(
        isinstance(window.read(name), Fresh) for name in symptom.needs_any
    ):
        absent.extend(symptom.needs_any)
        reasons.append("none of " + ", ".join(symptom.needs_any) + " was measured recently")
    if absent:
        return Unknown("; ".join(reasons), missing=tuple(absent))
    try:
        return symptom.judge(window)
    except Exception as error:
        return Unknown(
            f"the rule itself failed ({type(error).__name__}: {error}); please report it",
            crashed=True,
        )


def judge_all(symptoms: Iterable[Symptom], window: Window) -> dict[str, Verdict]:
    """Every symptom's verdict by name."""
    return {symptom.name: judge(symptom, window) for symptom in symptoms}
