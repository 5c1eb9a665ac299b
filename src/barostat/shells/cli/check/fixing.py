"""`barostat check --fix`: applies the edits of findings to their files and shows the diff first.

A file is written only if the result can be parsed and no rule finds a new error in it.
"""

from __future__ import annotations

import argparse
import difflib
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from barostat.core.redaction.credentials import clean
from barostat.io.manifests.read import document_of, limits_complaints
from barostat.judge.manifest_check.check import check
from barostat.lint.document import Document, Edit, edited
from barostat.shells.cli.check.checking import judged
from barostat.shells.cli.whole_write import write_whole


def mend(arguments: argparse.Namespace) -> None:
    """Show the diff and apply the edits; files that are left unchanged are reported on stderr with
    the reason.
    """
    gathered, checked = judged(arguments)
    rendered = set(gathered.origins)
    by_file: dict[str, list[Edit]] = {}
    likely = 0
    for finding in checked.findings:
        if not finding.edits or finding.place.file in rendered:
            continue
        if finding.safety == "likely" and not arguments.unsafe:
            likely += 1
            continue
        for edit in finding.edits:
            by_file.setdefault(edit.file, []).append(edit)
    texts = {document.file: document for document in gathered.documents}
    for file, edits in sorted(by_file.items()):
        before = texts[file]
        after, made = edited(before.text, edits)
        if not made or after == before.text:
            continue
        if why := _worse(before, after, arguments):
            print(f"barostat: {file} is left as it is: {why}", file=sys.stderr)
            continue
        if not _stays_within(Path(file), arguments.paths):
            print(
                f"barostat: {file} is left unchanged: it is a symbolic link to a file outside "
                f"the folder; name that file instead",
                file=sys.stderr,
            )
            continue
        diff = difflib.unified_diff(  # context lines may contain secrets
            clean(before.text).splitlines(keepends=True),
            clean(after).splitlines(keepends=True),
            file,
            f"{file} (fixed)",
        )
        print(
            "".join(line if line.endswith("\n") else line + "\n" for line in diff),
            end="",
            file=sys.stderr,
        )
        if not arguments.dry_run:
            write_whole(Path(file), after)
    if likely:
        more = "one more fix is" if likely == 1 else f"{likely} more fixes are"
        print(f"barostat: {more} likely and not certain: --fix --unsafe", file=sys.stderr)
    elif not by_file:
        print(
            "barostat: no file is changed: no finding has a fix that --fix can apply",
            file=sys.stderr,
        )


def _stays_within(path: Path, targets: Sequence[str]) -> bool:
    """True if the file, with links resolved, is inside the folder that was checked; for a file
    named itself, inside its own folder.
    """
    folders = [Path(one) for one in targets if Path(one).is_dir()]
    roots = [folder for folder in folders if path.is_relative_to(folder)] or [path.parent]
    return any(path.resolve().is_relative_to(root.resolve()) for root in roots)


def _worse(before: Document, text: str, arguments: argparse.Namespace) -> str:
    """Return why the text must not be written; empty if it may."""
    after = document_of(text, before.file)
    if after.problem is not None:
        return str(after.problem)
    (old, engines), (new, left) = (_errors(document, arguments) for document in (before, after))
    if left < engines:
        return "the edits would leave an engine that cannot be read"
    return (
        ""
        if new.total() <= old.total()
        else f"the edits would bring {', '.join((new - old).keys())}"
    )


def _errors(document: Document, arguments: argparse.Namespace) -> tuple[Counter[str], int]:
    """Return the number of errors by rule, and the number of engines."""
    checked = check(
        [document],
        gpu=arguments.gpu,
        engine_version=arguments.engine_version,
        complaints=limits_complaints,
    )
    errors = Counter(one.rule for one in checked.findings if one.severity == "error")
    return errors, len(checked.scene.engines)
