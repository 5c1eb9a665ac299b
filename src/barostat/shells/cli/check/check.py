"""`barostat check`: manifests before they are merged: what would not start, what breaks under load,
what the limits do not say.
"""

from __future__ import annotations

import argparse
import sys
from typing import Any

FORMATS = ("table", "json", "sarif", "github", "junit", "md")
EPILOG = """\
examples:
  barostat check deploy/                              every manifest, chart and overlay below a folder
  barostat check vllm.yaml limits.yaml --gpu L40S     whether it would start on that card, and holds to its limits
  helm template . | barostat check -                  rendered output from stdin
  barostat check . --since origin/main -o github      only what a change brings, as annotations
  barostat check . --fix                              mend what is certain; the diff is shown; --unsafe for what is likely
  barostat check vllm.yaml --live deploy/vllm -n inference   what is declared against what the running engine resolved
  barostat check limits.yaml --admission-policy       a ValidatingAdmissionPolicy that refuses engines beyond these limits
  barostat explain pool-too-small                     the page of a rule

what is right in its place is allowed there:  # barostat: ignore[rule] reason

exit codes: 0 nothing found, 1 findings, 2 something, or everything, was not checked
"""


def add_parser(verbs: Any) -> None:
    """Add the verb."""
    parser = verbs.add_parser(
        "check",
        help="check manifests, charts and command lines before they are merged",
        description=(
            "Reads manifests (Kubernetes, KServe, Ray, compose, systemd, shell, values of "
            "charts) and says what would break."
        ),
        epilog=EPILOG,
    )
    parser.add_argument(
        "paths", nargs="*", metavar="FILE|DIR|-", help="files, folders, or - for stdin"
    )
    parser.add_argument(
        "--live",
        metavar="TARGET",
        help=(
            "what is declared against what runs: http://host:8000, deploy/NAME, or a bundle "
            "(read only)"
        ),
    )
    parser.add_argument(
        "-n", "--namespace", metavar="NS", help="namespace of the workload that --live names"
    )
    parser.add_argument("--context", metavar="NAME", help="context of the kubeconfig")
    parser.add_argument(
        "--kubeconfig", metavar="FILE", help="kubeconfig, where it is not the usual one"
    )
    parser.add_argument(
        "-o", "--output", choices=FORMATS, default="table", help="form (default table)"
    )
    parser.add_argument(
        "--persona",
        choices=("ordinary", "pedant"),
        default="ordinary",
        help="ordinary: what breaks or hurts; pedant: also what a careful team asks for",
    )
    parser.add_argument(
        "--gpu",
        metavar="NAME",
        help=(
            "the pool's card, where the manifests do not say it (L4, H100, 'NVIDIA A100-SXM4-80GB')"
        ),
    )
    parser.add_argument(
        "--engine-version", metavar="X.Y.Z", help="vLLM's version, where the image does not say it"
    )
    parser.add_argument(
        "--since",
        metavar="REF",
        help="only what a change since this revision brings: in its lines, or not found before",
    )
    parser.add_argument("--no-render", action="store_true", help="run neither helm nor kustomize")
    parser.add_argument(
        "--remote",
        action="store_true",
        help="fetch the bases of kustomizations that lie in other repositories",
    )
    parser.add_argument(
        "--lenient",
        action="store_true",
        help="exit 0 where nothing was checked, and skip named files that are not about vLLM "
        "(for commit hooks)",
    )
    fixing = parser.add_argument_group("mending")
    fixing.add_argument(
        "--fix",
        action="store_true",
        help="mend what is certain; shows the diff, keeps comments and formatting",
    )
    fixing.add_argument("--unsafe", action="store_true", help="with --fix: also what is likely")
    fixing.add_argument(
        "--dry-run", action="store_true", help="with --fix: show the diff, write nothing"
    )
    parser.add_argument(
        "--admission-policy",
        action="store_true",
        help="print a ValidatingAdmissionPolicy made from the limits file",
    )
    parser.add_argument(
        "--exit-zero", action="store_true", help="exit 0 also when something was found"
    )
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Check and print; return 0 nothing found, 1 findings, 2 not everything was checked."""
    from barostat.core.errors import InputError
    from barostat.shells.cli.check.checking import asked, refusals

    if why := refusals(arguments):
        raise InputError(why, "check")
    if arguments.admission_policy:
        from barostat.shells.cli.check.admission import policies

        sys.stdout.write(policies(arguments.paths))
        return 0
    if arguments.fix:
        from barostat.shells.cli.check.fixing import mend

        mend(arguments)
        if arguments.dry_run:
            return 0
    report = asked(arguments)
    from barostat.shells.reports.check.forms import render

    sys.stdout.write(render(report, arguments.output))
    for note in report.notes:
        print(f"barostat: {note}", file=sys.stderr)
    if report.is_incomplete:
        return 2
    return 1 if report.findings and not arguments.exit_zero else 0
