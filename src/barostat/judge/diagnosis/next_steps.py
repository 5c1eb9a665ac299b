"""What to do next, in order: every lever asked for its proposal on this cause."""

from __future__ import annotations

from barostat.core.diagnosis import CauseName, NextStep
from barostat.core.lever import NotApplicable, Proposal, Situation
from barostat.core.proposed_change import Advise
from barostat.core.prose import Prose
from barostat.core.window import Window
from barostat.levers import levers

DANGER = ("gpu-memory-utilization-down", "swap-space", "max-num-batched-tokens", "max-num-seqs")
"""Classic advice that does harm comes before classic advice that does nothing."""
LEAVE_IT = Advise(Prose("leave it"))


def next_steps(
    cause: CauseName, variant: str, window: Window
) -> tuple[tuple[NextStep, ...], tuple[NextStep, ...], tuple[str, ...]]:
    """(what to do in order, classic advice that is wrong here with the reason, levers that
    crashed).

    Law: unknown proposes no change.
    """
    if cause == "unknown":
        return (), (), ()
    situation = Situation(cause, variant, window)
    proposals: list[Proposal] = []
    refused: list[NextStep] = []
    crashed: list[str] = []
    for lever in levers():
        if cause not in lever.causes:
            continue
        try:
            answer = lever.propose(situation)
        except Exception as error:
            crashed.append(
                f"the lever {lever.name} itself failed ({type(error).__name__}: {error}); "
                "please report it"
            )
            continue
        match answer:
            case Proposal():
                proposals.append(answer)
            case NotApplicable(name, because, True):
                refused.append(NextStep(name, LEAVE_IT, because, restarts=False))
            case NotApplicable():
                pass
    proposals.sort(key=lambda proposal: (proposal.rank, proposal.lever))
    refused.sort(
        key=lambda step: (
            DANGER.index(step.lever) if step.lever in DANGER else len(DANGER),
            step.lever,
        )
    )
    steps = tuple(NextStep(p.lever, p.change, p.because, p.restarts) for p in proposals)
    return steps, tuple(refused), tuple(crashed)
