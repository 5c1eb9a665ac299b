"""The arguments of a check -> its report: gathered, judged, traced back to what a person edits, cut
to what a change brings.
"""

from __future__ import annotations

import argparse
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import date
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING

from barostat.catalog.cards import card_names, find_card
from barostat.catalog.vllm_versions import NEWEST_READ
from barostat.core.errors import InputError
from barostat.core.version import parse_version
from barostat.io.manifests.gather import Gathered, Reading, gather
from barostat.io.manifests.read import limits_complaints
from barostat.judge.manifest_check.check import Checked, check
from barostat.lint.document import Document, Place
from barostat.lint.rule import NOTHING_CHECKED, Finding, Persona
from barostat.shells.reports.check.report import CheckReport

if TYPE_CHECKING:
    from barostat.io.manifests.rendered import Rendered
    from barostat.io.manifests.rendered_before import Before

_VERSION = re.compile(r"\bv?\d+\.\d+(?:\.\d+)?\b")


def refusals(arguments: argparse.Namespace) -> str:
    """Why these arguments make no sense together, empty if they do."""
    if not arguments.paths and not arguments.live:
        return "what is to be checked? files, folders, - for stdin, or --live TARGET"
    if not arguments.live and (arguments.namespace or arguments.context or arguments.kubeconfig):
        return "-n, --context and --kubeconfig go with --live"
    if arguments.live and arguments.fix:
        return "--fix changes files by what stands in them; --live shows what differs"
    if (arguments.unsafe or arguments.dry_run) and not arguments.fix:
        return "--unsafe and --dry-run go with --fix"
    if arguments.fix and "-" in arguments.paths:
        return "--fix changes files; what comes from stdin has none"
    if arguments.paths.count("-") > 1:
        return "stdin (-) can be read once"
    if arguments.gpu and find_card(arguments.gpu) is None:
        return (
            f"--gpu {arguments.gpu}: no card of the catalogue goes by this name; known: "
            f"{', '.join(card_names())}"
        )
    if arguments.engine_version and parse_version(arguments.engine_version) is None:
        return (
            f"--engine-version {arguments.engine_version}: is no version; three numbers such "
            "as 0.32.0 were expected"
        )
    return ""


def judged(arguments: argparse.Namespace) -> tuple[Gathered, Checked]:
    """Read what was named and judge it."""
    gathered = gather(arguments.paths, _reading(arguments))
    return gathered, _checked(arguments, gathered)


def _reading(arguments: argparse.Namespace) -> Reading:
    return Reading(not arguments.no_render, arguments.lenient, arguments.remote)


def _persona(arguments: argparse.Namespace) -> Persona:
    """The rules' own word for the profile, which the old `--persona` still takes."""
    return "pedant" if arguments.profile in ("strict", "pedant") else "ordinary"


def _checked(
    arguments: argparse.Namespace, gathered: Gathered, documents: Sequence[Document] | None = None
) -> Checked:
    """What the rules say of what was gathered, or of these documents in its place."""
    return check(
        gathered.documents if documents is None else documents,
        persona=_persona(arguments),
        gpu=arguments.gpu,
        engine_version=arguments.engine_version,
        complaints=limits_complaints,
        today=date.today().isoformat(),
        sources=gathered.sources(),
        edited_at=gathered.edited_at,
    )


def asked(arguments: argparse.Namespace) -> CheckReport:
    """The report that these arguments ask for. Errors: InputError for a path that is not there or
    no revision.
    """
    gathered, checked, drifted, alone = (
        (*judged(arguments), [], []) if not arguments.live else _beside_live(arguments)
    )
    found = _as_edited(
        [*checked.findings, *drifted], [one for one, _ in checked.suppressed], gathered
    )
    notes = list(alone)
    if arguments.since:
        found, left_out = _since(found, arguments, gathered)
        if left_out:
            notes.append(
                f"{left_out} finding{'s' if left_out > 1 else ''} that {arguments.since} "
                "has too not shown"
            )
    suppressed = [(_traced(one, gathered), reason) for one, reason in checked.suppressed]
    unique = {
        (one.rule, one.place.file, one.place.line, one.place.column, one.message): one
        for one in found
    }
    order = sorted(
        unique.values(),
        key=lambda one: (one.place.file, one.place.line, one.place.column, one.rule),
    )
    unnamed = sum(engine.version is None for engine in checked.scene.engines)
    return CheckReport(
        tuple(order),
        tuple(_unchecked(arguments, gathered, checked)),
        tuple(
            {
                (at.rule, at.place.file, at.place.line): (at, reason) for at, reason in suppressed
            }.values()
        ),
        gathered.files,
        len(checked.scene.engines),
        checked.hidden,
        _persona(arguments),
        tuple(notes),
        (NEWEST_READ, unnamed) if unnamed else None,
    )


def _unchecked(
    arguments: argparse.Namespace, gathered: Gathered, checked: Checked
) -> Iterator[Finding]:
    """Yield what was not checked, and one result for all where nothing was."""
    yield from gathered.unchecked
    yield from (_traced(one, gathered) for one in checked.unread)
    if not checked.scene.is_about_vllm:
        named = [path for path in arguments.paths if path != "-"]
        yield Finding(
            NOTHING_CHECKED,
            Place(named[0] if named else "<stdin>" if arguments.paths else arguments.live, 1, 1),
            "note" if arguments.lenient else "error",
            "high",
            "ordinary",
            "nothing was checked: no engine, and no limits, alert or autoscaler of one, was read",
            "name the folder or file that starts vLLM; --lenient accepts this",
        )


def _beside_live(
    arguments: argparse.Namespace,
) -> tuple[Gathered, Checked, list[Finding], list[str]]:
    """The files (with the live workloads where they declare no engine), judged, and where what runs
    differs from them.
    """
    from barostat.judge.manifest_check.drift import drift
    from barostat.shells.cli.check.live import live

    running = live(arguments)
    gathered = gather(arguments.paths, _reading(arguments))
    checked = _checked(arguments, gathered) if arguments.paths else None
    notes = []
    if checked is None or not checked.scene.engines:
        gathered.documents += running.documents
        gathered.files += len(running.documents)
        checked = _checked(arguments, gathered)
        if arguments.paths and checked.scene.engines:
            notes.append(
                "no engine is declared in the files: what they say is held against the "
                "workloads as the cluster has them"
            )
    if not checked.scene.engines:
        return (
            gathered,
            checked,
            [],
            [
                (
                    "nothing of an engine is declared here that could be held against what "
                    "runs: name its manifests"
                )
            ],
        )
    drifted, alone = drift(checked.scene, running.running)
    return gathered, checked, drifted, [*notes, *alone]


def _as_edited(found: list[Finding], allowed: list[Finding], gathered: Gathered) -> list[Finding]:
    """Return each finding once, where a person edits: findings in a chart's values are not repeated
    for its rendered output.
    """
    told = Counter(
        (one.place.file, one.rule, one.message)
        for one in [*found, *allowed]
        if one.place.file not in gathered.origins
    )
    left = []
    for one in found:
        origin = gathered.origins.get(one.place.file)
        known = (
            (str(origin.folder / "values.yaml"), one.rule, one.message)
            if origin is not None
            else None
        )
        if known is not None and told[known]:
            told[known] -= 1
        else:
            left.append(_traced(one, gathered))
    return left


def _traced(
    finding: Finding, gathered: Gathered, then: Mapping[str, Rendered] = MappingProxyType({})
) -> Finding:
    """The finding where a person edits: of a rendered document the place in its sources, with no
    edits; said where that is only near.

    `then`: what was rendered of another revision.
    """
    origin = then.get(finding.place.file) or gathered.origins.get(finding.place.file)
    if origin is None:
        return finding
    traced = origin.traced(finding.place)
    near = f" (as rendered, in {traced.of})" if traced.of else ""
    return replace(finding, place=traced.place, message=finding.message + near, edits=())


def _since(
    found: list[Finding], arguments: argparse.Namespace, gathered: Gathered
) -> tuple[list[Finding], int]:
    """Return the findings in changed lines and the new ones elsewhere, and the number of omitted
    ones.
    """
    from barostat.io.manifests.changed_lines import changed_lines, texts_before
    from barostat.io.manifests.rendered_before import rendered_before

    named = [Path(path) for path in arguments.paths if path != "-"]
    if not named:
        raise InputError("needs files of a repository, not stdin", "--since")
    folder = named[0] if named[0].is_dir() else named[0].parent
    lines = changed_lines(arguments.since, folder)
    before = texts_before(
        arguments.since, folder, [file for file, touched in lines.items() if touched]
    )
    with rendered_before(
        arguments.since, folder, gathered.origins, lines, remote=arguments.remote
    ) as rendered:
        known = _found_before(arguments, gathered, before, set(lines) - set(before), rendered)
    kept = []
    for finding in found:
        file = Path(finding.place.file).resolve()
        touched = lines.get(file)
        if touched is not None and (not touched or finding.place.line in touched):
            kept.append(finding)
        elif known[_same(finding)]:
            known[_same(finding)] -= 1
        elif (
            touched is None or file in before
        ):  # not of a file that was renamed: what it said before is not known
            kept.append(finding)
    return kept, len(found) - len(kept)


def _found_before(
    arguments: argparse.Namespace,
    gathered: Gathered,
    before: dict[Path, str],
    new: set[Path],
    rendered: Before,
) -> Counter[tuple[str, Path, str]]:
    """Count the findings of the old revision's files and their rendered output."""
    from barostat.io.manifests.read import document_of

    documents = [
        (document, Path(document.file).resolve())
        for document in gathered.documents
        if document.file not in rendered.origins
    ]
    then = [
        document_of(before[file], document.file) if file in before else document
        for document, file in documents
        if file not in new
    ]
    old = _checked(
        arguments, gathered, [*then, *(one.document for one in rendered.origins.values())]
    )
    found: Counter[tuple[str, Path, str]] = Counter()
    for one in old.findings:
        rule, file, message = _same(_traced(one, gathered, rendered.origins))
        found[
            rule,
            rendered.edited_at(one.place) if one.place.file in rendered.origins else file,
            message,
        ] += 1
    return found


def _same(finding: Finding) -> tuple[str, Path, str]:
    """What makes two findings of two revisions one: not its line, and not which version it
    names.
    """
    return finding.rule, Path(finding.place.file).resolve(), _VERSION.sub("", finding.message)
