"""A case: one window with every symptom's verdict on it; and what a cause can answer to a case."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from barostat.core.diagnosis import CauseName, Severity
from barostat.core.symptom import Harm
from barostat.core.verdict import Absent, Present, Unknown, Verdict
from barostat.core.window import Window
from barostat.symptoms import symptoms


@dataclass(frozen=True, slots=True)
class Case:
    """The input of a cause: verdicts by symptom name. A symptom that was not judged counts as
    Unknown.

    `elsewhere`: another replica behind the same gateway that has a problem of its own, and which;
    empty if none is known.
    """

    window: Window
    verdicts: Mapping[str, Verdict]
    elsewhere: str = ""

    def verdict(self, name: str) -> Verdict:
        """The symptom's verdict."""
        return self.verdicts.get(name, Unknown("not judged"))

    def present(self, *names: str) -> tuple[str, ...]:
        """Those of the names that are Present: falsy when none is."""
        return tuple(name for name in names if isinstance(self.verdict(name), Present))

    def harmed(self, harm: Harm) -> tuple[str, ...]:
        """The names of all symptoms of this harm that are Present: first those that give a reason in
        the engine, then the surest.
        """
        of_harm = [
            symptom for symptom in symptoms() if harm in symptom.harm and self.present(symptom.name)
        ]
        of_harm.sort(
            key=lambda symptom: (
                Harm.OF_THE_ENGINE not in symptom.harm,
                -self.confidence(symptom.name),
            )
        )
        return tuple(symptom.name for symptom in of_harm)

    def absent(self, *names: str) -> bool:
        """True if every one of the names is Absent: measured, and not there."""
        return all(isinstance(self.verdict(name), Absent) for name in names)

    def because(self, *names: str) -> str:
        """The sentences of those that are Present or Absent, joined."""
        said = [
            verdict.because
            for name in names
            if isinstance(verdict := self.verdict(name), Present | Absent)
        ]
        return "; ".join(dict.fromkeys(said))

    def confidence(self, *names: str) -> float:
        """Highest confidence among those that are Present, else 0."""
        return max(
            (
                verdict.confidence
                for name in names
                if isinstance(verdict := self.verdict(name), Present)
            ),
            default=0.0,
        )

    def missing(self, *names: str) -> tuple[str, ...]:
        """Signals that the Unknown ones among the names lack."""
        lacking = [
            signal
            for name in names
            if isinstance(verdict := self.verdict(name), Unknown)
            for signal in verdict.missing
        ]
        return tuple(dict.fromkeys(lacking))


@dataclass(frozen=True, slots=True)
class Claim:
    """This cause explains the case.

    `rests_on`: the symptoms that carry it, strongest first. Units: `confidence` 0..1.
    """

    confidence: float
    severity: Severity
    summary: str
    rests_on: tuple[str, ...]
    variant: str = ""
    kills: bool = False
    """True where this kind of load ends the engine, which load otherwise never does."""
    only_contributes: bool = False
    """True where this makes another cause worse and would explain nothing alone: it is never the
    diagnosis.
    """


@dataclass(frozen=True, slots=True)
class Cleared:
    """This cause is not it, and what was measured says so."""

    because: str


@dataclass(frozen=True, slots=True)
class Open:
    """The cause can neither be confirmed nor ruled out. `missing`: the signals that would decide."""

    why: str
    missing: tuple[str, ...] = ()


Judgement = Claim | Cleared | Open


@dataclass(frozen=True, slots=True)
class Cause:
    """A rule over symptoms.

    `rank`: of two causes that both claim, the one with the lower rank explains the other (a dead
    card explains a hang).
    """

    name: CauseName
    title: str
    rank: int
    judge: Callable[[Case], Judgement]
