"""A running remedy in words."""

from __future__ import annotations

from barostat.core.diagnosis import RunningRemedy
from barostat.core.units import thousands

_ROLES = {
    "spare": "is its spare",
    "detached": "is out of rotation for it",
    "previous": "runs the former version",
}


def remedy_words(remedy: RunningRemedy) -> str:
    """Return the remedy's current state, with the command that shows more."""
    _, _, namespace = remedy.target.partition(" -n ")
    where = f" -n {namespace}" if namespace else ""
    if remedy.warm_until:
        pods = ", ".join(pod for pod, _ in remedy.pods)
        return (
            f"incident {remedy.incident} of {remedy.target} is over, and {pods} stays warm until "
            f"{remedy.warm_until}, out of rotation: it runs the version before the change and "
            f"serves first in a rollback (barostat rollback {remedy.incident}{where})"
        )
    words = [f"incident {remedy.incident} of {remedy.target} is not over"]
    if remedy.phase:
        words[0] += f": {remedy.phase}"
    if remedy.change:
        words.append(f"its change is {remedy.change}")
    if remedy.holder:
        words.append(f"run by {remedy.holder}")
    words += [f"{pod} {_ROLES[role]}" for pod, role in remedy.pods]
    words += [
        f"{held.gateway} holds {held.name} at {thousands(held.value)} for it "
        f"({held.lease_s:.0f} s unless renewed)"
        for held in remedy.limits
    ]
    if remedy.limits:
        words.append("what is measured here is measured under that limit")
    return f"{'; '.join(words)} (barostat incident show {remedy.incident}{where})"
