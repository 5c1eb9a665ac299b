"""The workload runs what it ran before the last rollout.

Meaning: the revision is rolled back the way it was shipped (kubectl, Helm, a commit that the GitOps
controller syncs).
When: the harm began after a rollout of the last two hours.
Not when: nothing was rolled out lately; or the old revision has another fault: last-good is a claim
to verify.
Undo: roll forward again.
Proof: the symptom ends on the first replica that runs the old revision, before the rest follows.
Source: Kubernetes rollout undo; Argo CD reverts a change that its source does not have
(argo-cd#15588).
"""

from __future__ import annotations

import re

from barostat.core.diagnosis import CAUSES, NOTHING_WRONG
from barostat.core.lever import Lever, NotApplicable, Proposal, Situation
from barostat.core.object_reference import ObjectReference
from barostat.core.proposed_change import RollBack
from barostat.core.prose import Prose
from barostat.core.visible import cut
from barostat.levers._readings import last_of

NAME = "undo-rollout"
RECENT_S = 7200.0
_SETTING = re.compile(r"--\w|\bimage\b")
# A rollback helps against what a rollout can bring: settings, sizes, images, a pod that no node
# takes; not against a card or a node.
_NOT_FROM_A_ROLLOUT = ("node-fault", *NOTHING_WRONG)
_ASKS_FOR_MORE = re.compile(r"\b(?:limits|requests) ")


def propose(situation: Situation) -> Proposal | NotApplicable:
    """The command, with what the rollout changed."""
    age = last_of(situation.window, "rollout_age_s")
    if age is None or age > RECENT_S:
        return NotApplicable(NAME, Prose("nothing was rolled out lately"))
    found = situation.window.fresh("rollout_age_s")
    if found is not None and "first revision" in found.detail:
        return NotApplicable(
            NAME, Prose("the rollout was the first: there is no revision to go back to")
        )
    changed = f": {cut(found.detail, 160)}" if found is not None and found.detail else ""
    if situation.cause == "scaling-lag" and not (
        (last_of(situation.window, "pod_pending") or 0) > 0 and _ASKS_FOR_MORE.search(changed)
    ):
        return NotApplicable(NAME, Prose("the rollout did not change what its pods ask a node for"))
    change = RollBack(situation.window.workload or ObjectReference("deployment", ""))
    # A rollout that changed a setting is undone before anything is tuned around it; one that only
    # restarted pods is a guess among others.
    rank = 5 if _SETTING.search(changed) else 18
    return Proposal(
        NAME, change, Prose(f"the last rollout is {age / 60:.0f} min old{changed}"), True, rank
    )


LEVER = Lever(
    NAME,
    Prose("undo the rollout"),
    "supply",
    tuple(cause for cause in CAUSES if cause not in _NOT_FROM_A_ROLLOUT),
    propose,
)
