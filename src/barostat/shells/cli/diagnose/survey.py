"""`barostat survey`: every engine of a cluster in one table, the worst first."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING, Any

from barostat.catalog.polling import FLEET_FOR_S
from barostat.shells.cli.cluster_flags import add_cluster_flags, add_targets
from barostat.shells.cli.durations import add_interval, parse_duration

if TYPE_CHECKING:
    from collections.abc import Sequence

    from barostat.core.object_reference import ObjectReference
    from barostat.judge.survey.survey import Survey
    from barostat.lint.rule import Finding

FORMATS = ("table", "wide", "json", "md", "html")
EPILOG = """\
examples:
  barostat survey -A                                   # every vLLM of the cluster
  barostat survey -n inference --price H100=2.5        # one namespace, with its cost
  barostat survey -A -o html > survey.html             # an HTML page
  barostat survey -A -o json | jq '.engines[0].cause'  # the worst engine's cause

columns:
  KV used, KV free   the highest KV usage in the window, and the tokens left at that point
  rollout            whether the workload keeps serving during its next rollout
  flags              errors and warnings of `barostat check` on the running object
  no limit           limits that are missing

exit codes: 0 nothing found; 1 users are affected, an engine does not answer, a rollout would fail, or flags have an error;
3 not everything could be read; 4 no engine answers
"""


def add_parser(verbs: Any) -> None:
    """Add the verb."""
    parser = verbs.add_parser(
        "survey",
        help="show every engine of a cluster in one table, the worst first",
        description=(
            "Show every vLLM engine of a cluster in one table: verdict, free KV cache, rollout risk, "
            "flags, missing limits, GPUs and cost. Read-only."
        ),
        epilog=EPILOG,
    )
    add_targets(parser, "deploy/, sts/, lws/ or pod/NAME (default: the whole cluster)")
    parser.add_argument(
        "--for",
        dest="for_s",
        type=parse_duration,
        default=FLEET_FOR_S,
        metavar="TIME",
        help=f"observe for this long (default {FLEET_FOR_S:g}s)",
    )
    add_interval(parser)
    add_cluster_flags(parser)
    parser.add_argument(
        "--bundle", metavar="PATH", help="read a recorded bundle instead of a cluster"
    )
    parser.add_argument(
        "--price",
        action="append",
        metavar="GPU=PRICE",
        help="price of a GPU per hour, e.g. H100=2.5,L40S=0.8",
    )
    parser.add_argument(
        "-o", "--output", choices=FORMATS, default="table", help="format (default table)"
    )
    parser.add_argument(
        "--exit-zero", action="store_true", help="exit 0 instead of 1 if there are findings"
    )
    parser.set_defaults(run=run, log=None, pid=None, only_sick_logs=True)


def run(arguments: argparse.Namespace) -> int:
    """Look, judge, print; return the exit code."""
    found = surveyed(arguments)
    _show(found, arguments.output)
    code = exit_code(found)
    return 0 if code == 1 and arguments.exit_zero else code


def surveyed(arguments: argparse.Namespace) -> Survey:
    """The survey of what the arguments name: a cluster, some of its workloads, or a bundle.

    Errors: InputError for a target that is not there; OutsideError where the API server cannot be
    reached.
    """
    from barostat.core.diagnosis import ReplicaReport
    from barostat.core.errors import InputError
    from barostat.core.redaction.values import every_text
    from barostat.core.shown import safe_texts
    from barostat.core.uncollected import uncollected
    from barostat.io.cores import on_all_cores
    from barostat.judge.diagnosis.diagnose import examine
    from barostat.judge.survey.survey import survey
    from barostat.shells.cli.capacity.prices import prices_of
    from barostat.shells.cli.diagnose.gathering import gather

    prices = prices_of(arguments.price)
    not_read: list[str] = []
    room = None
    if arguments.bundle is not None:
        if arguments.target or arguments.all_namespaces or arguments.namespace:
            raise InputError("is a recording: it goes without a target", "--bundle")
        from pathlib import Path

        from barostat.io.bundles import bundle

        recording = bundle.read(Path(arguments.bundle))
        not_read.append("a bundle holds no free GPUs: rollouts are judged without them")
    else:
        from barostat.io.kubernetes.recording.cluster_room import cluster_room

        if not (arguments.target or arguments.selector or arguments.namespace):
            arguments.all_namespaces = True
        recording = gather(arguments).recording
        read = cluster_room(arguments.kubeconfig, arguments.context)
        if isinstance(read, str):
            not_read.append(f"{read}: whether rollouts find free GPUs is unknown")
        else:
            room = read
    with uncollected():
        findings, unchecked = _findings(recording.kubernetes)
        not_read += [*recording.missing, *unchecked]
        made = survey(
            examine(recording, on_all_cores), recording.kubernetes, findings, room, prices, not_read
        )
        return every_text(made, safe_texts(), already=frozenset({ReplicaReport}))


def _findings(
    kubernetes: Any,
) -> tuple[dict[ObjectReference, Sequence[Finding]], list[str]]:
    """Return the findings of `check` for each workload, and what it could not read."""
    from barostat.io.manifests.live_objects import workload_documents
    from barostat.judge.manifest_check.check import check

    documents = workload_documents(kubernetes)
    checked = check(list(documents.values()), persona="pedant")
    by_file: dict[str, list[Finding]] = {document.file: [] for document in documents.values()}
    for finding in checked.findings:
        by_file.setdefault(finding.place.file, []).append(finding)
    return (
        {reference: by_file[document.file] for reference, document in documents.items()},
        [f"{note.place.file}: {note.message}" for note in checked.unread],
    )


def exit_code(survey: Survey) -> int:
    """1 findings, 4 where no engine answers, 3 where something was not read, else 0."""
    engines = survey.engines
    if engines and all(one.report.unreachable for one in engines):
        return 4
    if any(
        one.is_harmed
        or one.report.unreachable
        or one.rollout.outcome in ("outage", "stuck")
        or any(found.severity == "error" for found in one.unsafe)
        for one in engines
    ):
        return 1
    unknown = any(one.report.diagnosis.cause == "unknown" for one in engines)
    return 3 if survey.not_read or unknown or not engines else 0


def _show(survey: Survey, output: str) -> None:
    if output == "json":
        from barostat.shells.reports.json_text import json_text
        from barostat.shells.reports.survey.data import survey_json

        print(json_text(survey_json(survey)))
        return
    from barostat.shells.reports.sheet.forms import shown
    from barostat.shells.reports.survey.document import survey_document

    sys.stdout.write(shown(survey_document(survey, wide=output == "wide"), output))
