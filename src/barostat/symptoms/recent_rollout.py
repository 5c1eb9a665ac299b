"""The workload was changed not long ago.

Meaning: a new revision went out within the last hour. It is a trigger, not a cause: it says what to
compare with.

Impact: if the trouble began with it, going back is the fastest remedy.

Evidence: the newest ReplicaSet's age and the differences of its pod template to the one before,
flag by flag.

Not evidence: that it is to blame: look whether the trouble began before it, and whether the changed
flag has to do with it.

Mitigation: kubectl rollout undo, or revert the change where it came from, if cause and change fit
together.

Source: ReplicaSet creation times and deployment.kubernetes.io/revision.
"""

from __future__ import annotations

from barostat.core.symptom import Symptom
from barostat.core.verdict import Absent, Present, Verdict
from barostat.core.window import Window
from barostat.symptoms._lines import quote

RECENT_S = 3600.0
"""An hour: what a deploy broke mostly shows with the next load peak, and within the shift of
whoever deployed.
"""


def judge(window: Window) -> Verdict:
    """Present if the last rollout is at most an hour old; its detail says what changed."""
    age = window["rollout_age_s"]
    evidence = (age.evidence(window.at),)
    if age.last > RECENT_S:
        return Absent(f"the last rollout is {age.last / 3600:.0f} h old", evidence)
    detail = f": {quote(age.detail)}" if age.detail else ""
    return Present(f"rolled out {age.last / 60:.0f} min ago{detail}", evidence, 0.95)


SYMPTOM = Symptom(
    name="recent-rollout",
    title="the workload was rolled out lately",
    judge=judge,
    needs=("rollout_age_s",),
)
