"""Case: one window with the verdicts of all symptoms. Judgement: what a cause says about a case."""

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
        """Return the named symptoms that are Present; empty if none is."""
        return tuple(name for name in names if isinstance(self.verdict(name), Present))

    def harmed(self, harm: Harm) -> tuple[str, ...]:
        """Return the present symptoms with this harm: those that locate it in the engine first,
        then by confidence.
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
        """True if every named symptom is Absent, that is, measured and not found."""
        return all(isinstance(self.verdict(name), Absent) for name in names)

    def because(self, *names: str) -> str:
        """Return the reasons of the named symptoms that are Present or Absent, joined."""
        said = [
            verdict.because
            for name in names
            if isinstance(verdict := self.verdict(name), Present | Absent)
        ]
        return "; ".join(dict.fromkeys(said))

    def confidence(self, *names: str) -> float:
        """Return the highest confidence of the named symptoms that are Present, else 0."""
        return max(
            (
                verdict.confidence
                for name in names
                if isinstance(verdict := self.verdict(name), Present)
            ),
            default=0.0,
        )

    def missing(self, *names: str) -> tuple[str, ...]:
        """Return the signals that are missing for the named symptoms that are Unknown."""
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

    `rests_on`: the symptoms that support it, strongest first. Units: `confidence` 0..1.
    """

    confidence: float
    severity: Severity
    summary: str
    rests_on: tuple[str, ...]
    variant: str = ""
    kills: bool = False
    """True if this cause can end the engine process, which load normally cannot."""
    only_contributes: bool = False
    """True if this only makes another cause worse; it is then never the diagnosis."""


@dataclass(frozen=True, slots=True)
class Cleared:
    """The measurements rule this cause out."""

    because: str


@dataclass(frozen=True, slots=True)
class Open:
    """The cause can neither be confirmed nor ruled out. `missing`: the signals that would decide."""

    why: str
    missing: tuple[str, ...] = ()


Judgement = Claim | Cleared | Open


@dataclass(frozen=True, slots=True)
class Cause:
    """A cause: a rule over symptoms.

    `rank`: if two causes claim a case, the one with the lower rank explains the other (a dead GPU
    explains a hang).
    """

    name: CauseName
    title: str
    rank: int
    judge: Callable[[Case], Judgement]
