"""Preemptions so rare, for the requests that finish, that they are not the harm: shared by the two
causes that a full pool can have.
"""

from __future__ import annotations

from barostat.core.change import RARE_PER_FINISHED
from barostat.core.units import figure
from barostat.judge.diagnosis.case import Case
from barostat.symptoms._preemption import preemptions
from barostat.symptoms._sent_back import sent_back


def rare_preemptions(case: Case) -> str:
    """A sentence where hardly one in a hundred requests that finish was preempted and none waits
    again; empty elsewhere.
    """
    seen = preemptions(case.window)
    if (
        seen is None
        or seen.per_finished is None
        or seen.per_finished >= RARE_PER_FINISHED
        or sent_back(case.window) is not None
    ):
        return ""
    return f"preemptions are too few to matter: {figure(seen.per_finished, 2)} per finished request"
