"""Documents -> what every rule finds in them, less what a comment in place allows, and what was not
checked.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from barostat.judge.manifest_check.scene import Complaints, scene_of
from barostat.judge.manifest_check.unread import unread
from barostat.lint.document import Document, Place
from barostat.lint.facts import Scene
from barostat.lint.rule import Finding, Persona, findings
from barostat.lint.rules import rules
from barostat.lint.suppressions import sifted


@dataclass(frozen=True, slots=True)
class Checked:
    """`unread`: notes about files from which nothing was read. `hidden`: how many findings only the
    strict profile shows. `suppressed`: allowed in place, each with its reason.
    """

    findings: tuple[Finding, ...]
    hidden: int
    suppressed: tuple[tuple[Finding, str], ...]
    scene: Scene
    unread: tuple[Finding, ...] = ()


def check(
    documents: Sequence[Document],
    *,
    persona: Persona = "ordinary",
    gpu: str | None = None,
    engine_version: str | None = None,
    complaints: Complaints = lambda _: (),
    today: str = "",
    sources: Sequence[Document] = (),
    edited_at: Callable[[Place], Place] = lambda place: place,
) -> Checked:
    """The report. `today`: for the age of load tests. `sources`, `edited_at`: of documents that
    were rendered (`sifted`).

    Every rule runs for every persona, so that a suppression of a pedant's rule is not called unused
    by others.
    """
    scene = scene_of(
        documents, gpu=gpu, engine_version=engine_version, complaints=complaints, today=today
    )
    known = rules()
    left = sifted(
        findings(known, scene), documents, [rule.name for rule in known], sources, edited_at
    )
    shown = tuple(one for one in left.findings if persona == "pedant" or one.persona == "ordinary")
    return Checked(
        shown, len(left.findings) - len(shown), left.suppressed, scene, tuple(unread(scene))
    )
