"""The marks that a remedy leaves on what it touches: their names, and what is written in them.
Declared here and nowhere else.

on the target        barostat.dev/claim      ID#EPOCH#HOLDER: the change in flight
                     barostat.dev/ended      the incident that ended last
                     barostat.dev/patched    ID#DIGEST: the template that we wrote
                     barostat.dev/former     the template before that, until the incident ends
                     barostat.dev/paused     who was told to leave it alone, and what gives it back (`judge.mitigation.paused_mark`)
on what we touch     barostat.dev/step       the key of the act that touched it last
on a pod taken out   barostat.dev/labels     the labels that came off it
on a gateway         barostat.dev/fronts     the Deployments that it stands before: written by people, only read by us
on a kept unit       barostat.dev/until      when a unit of the former version ends by itself
on a newborn         controller.kubernetes.io/pod-deletion-cost    the least there is: it is the first to go
labels of our own    barostat.dev/incident, barostat.dev/spare, barostat.dev/target, barostat.dev/record,
                     barostat.dev/previous   the name of the Job that keeps a unit of the former version
"""

from __future__ import annotations

from typing import NamedTuple

from barostat.core.own_labels import SPARE as SPARE
from barostat.core.whole_number import whole_number

CLAIM, ENDED, PATCHED, FORMER = (
    "barostat.dev/claim",
    "barostat.dev/ended",
    "barostat.dev/patched",
    "barostat.dev/former",
)
PAUSED = "barostat.dev/paused"
STEP, LABELS = "barostat.dev/step", "barostat.dev/labels"
INCIDENT, TARGET, RECORD = (
    "barostat.dev/incident",
    "barostat.dev/target",
    "barostat.dev/record",
)
PREVIOUS, UNTIL = "barostat.dev/previous", "barostat.dev/until"
FRONTS = "barostat.dev/fronts"
COST, LEAST = "controller.kubernetes.io/pod-deletion-cost", "-2147483648"
EVENT_REASON = "Barostat"
"""The reasons of our Events begin with it; the phase follows."""
MANAGED = {"app.kubernetes.io/managed-by": "barostat"}


class Claim(NamedTuple):
    """Whose change is in flight: the incident, the epoch of its run, and the run's own name.
    `epoch`: -1 where it cannot be read.
    """

    incident: str
    epoch: int
    holder: str


def written_claim(incident: str, epoch: int, holder: str) -> str:
    """Return the annotation's value for a claim."""
    return f"{incident}#{epoch}#{holder}"


def read_claim(written: str) -> Claim:
    """Parse a claim annotation; the incident is empty if there is none."""
    incident, epoch, holder = [*written.split("#", 2), "", ""][:3]
    found = whole_number(epoch)
    return Claim(incident, -1 if found is None else found, holder)


def written_patch(incident: str, digest: str) -> str:
    """Return the annotation's value for a template with that digest, written by that incident."""
    return f"{incident}#{digest}"


def is_patch_of(written: str, incident: str) -> bool:
    """True if that incident wrote the template."""
    return written.startswith(f"{incident}#")


def is_patch_to(written: str, digest: str) -> bool:
    """True if the template of that digest is one that we wrote, whichever incident it was."""
    return written.endswith(f"#{digest}")
