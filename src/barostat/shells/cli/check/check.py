"""`barostat check`: manifests before they are merged: what would not start, what breaks under load,
what the limits do not say.
"""

from __future__ import annotations

import argparse
import sys
from typing import Any

from barostat.shells.cli.cluster_flags import add_kubeconfig_flags

FORMATS = ("table", "json", "sarif", "github", "junit", "md")
EPILOG = """\
examples:
  barostat check deploy/ --gpu L40S                   # every manifest, chart and overlay below a folder
  helm template . | barostat check -                  # rendered output
  barostat check . --since origin/main -o github      # only new findings, as annotations
  barostat check vllm.yaml --live deploy/vllm         # the manifest against the running engine

Suppress a finding with a comment on its line:  # barostat: ignore[rule] reason
Explain a rule:  barostat explain pool-too-small

exit codes: 0 no findings; 1 findings; 2 usage error, or not everything was checked
"""


def add_parser(verbs: Any) -> None:
    """Add the verb."""
    parser = verbs.add_parser(
        "check",
        usage="%(prog)s [FILE | DIR | - ...] [OPTIONS]",
        help="check manifests, charts and command lines before they are merged",
        description=(
            "Find settings that keep vLLM from starting, or make it fail under load. Reads Kubernetes "
            "manifests, Helm charts and values, Kustomize, KServe, Ray, compose files, systemd units, "
            "shell scripts and others."
        ),
        epilog=EPILOG,
    )
    parser.add_argument(
        "paths",
        nargs="*",
        metavar="FILE | DIR | -",
        help="files or folders to check; - reads stdin",
    )
    what = parser.add_argument_group("what to check")
    what.add_argument(
        "--profile",
        choices=("default", "strict"),
        default="default",
        help="default: settings that cause failures or slow responses; strict: also missing good practice",
    )
    what.add_argument(
        "--persona", dest="profile", choices=("ordinary", "pedant"), help=argparse.SUPPRESS
    )
    what.add_argument(
        "--since",
        metavar="REF",
        help="report only findings that are new since this git revision",
    )
    what.add_argument(
        "--gpu",
        metavar="NAME",
        help="card to assume if a manifest names none, e.g. L4, H100 (`plan --gpu list`)",
    )
    what.add_argument(
        "--engine-version",
        metavar="X.Y.Z",
        help="vLLM version to assume if the image names none",
    )
    what.add_argument(
        "--no-render", action="store_true", help="do not render Helm charts and kustomizations"
    )
    what.add_argument(
        "--remote",
        action="store_true",
        help="fetch remote bases of kustomizations (default: report them as not checked)",
    )
    live = parser.add_argument_group("against a running engine (read-only)")
    live.add_argument(
        "--live",
        metavar="TARGET",
        help="engine to compare with: http://host:8000, deploy/NAME or a bundle",
    )
    add_kubeconfig_flags(live, "the --live workload")
    fixing = parser.add_argument_group("fixes")
    fixing.add_argument(
        "--fix",
        action="store_true",
        help="apply fixes that are certain, and show the diff; comments and formatting are kept",
    )
    fixing.add_argument(
        "--unsafe", action="store_true", help="with --fix, also apply fixes that are only likely"
    )
    fixing.add_argument(
        "--dry-run", action="store_true", help="with --fix, show the diff and write nothing"
    )
    shown = parser.add_argument_group("output")
    shown.add_argument(
        "-o", "--output", choices=FORMATS, default="table", help="format (default table)"
    )
    shown.add_argument(
        "--exit-zero", action="store_true", help="exit 0 instead of 1 when there are findings"
    )
    shown.add_argument(
        "--lenient",
        action="store_true",
        help="exit 0 instead of 2 if nothing was checked, and skip files that are not about "
        "vLLM (for commit hooks)",
    )
    shown.add_argument(
        "--admission-policy",
        action="store_true",
        help="print a ValidatingAdmissionPolicy made from a limits file instead of checking",
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
