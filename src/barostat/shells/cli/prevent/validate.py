"""`barostat validate`: a load test that decides whether an engine keeps what its limits promise."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

from barostat.shells.cli.durations import parse_duration
from barostat.shells.cli.prevent.load import add_target_arguments

EPILOG = """\
examples:
  barostat validate http://replica:8000 --limits limits.yaml
  barostat validate http://replica:8000 --limits limits.yaml --certificate limits.certificate.json --knee
  barostat validate http://replica:8000 --limits limits.yaml --trace requests.jsonl --knee -o html > validation.html

phases:
  1 worst-mix   the longest allowed requests, as many at once as the limits allow
  2 burst       the same number of requests, sent at one instant
  3 mixed       all allowed lengths, or the trace, at --at times the rate measured in phase 1
  4 beyond      one request beyond each limit
The test passes if every allowed request is answered within the SLO of the limits file, with at most one preemption per 100 requests.
--knee then finds the highest load within the SLO, by bisection. If the limits are for a different model, the test fails without sending
requests.

exit codes: 0 pass; 1 fail; 2 usage error; 3 inconclusive; 4 the server failed; 5 refused: the engine has live traffic; 130 interrupted
"""


def add_parser(verbs: Any) -> None:
    """Add the verb."""
    parser = verbs.add_parser(
        "validate",
        help=("load-test a limits file: long prompts, bursts, the worst mix, and the highest load"),
        description=(
            "Load-test an engine: does it meet its SLO for everything that a limits file allows?"
        ),
        epilog=EPILOG,
    )
    add_target_arguments(parser)
    parser.add_argument(
        "--limits",
        required=True,
        type=Path,
        metavar="FILE",
        help="limits file to test",
    )
    what = parser.add_mutually_exclusive_group()
    what.add_argument("--trace", type=Path, metavar="FILE", help="traffic for phase 3 and --knee")
    what.add_argument(
        "--workload",
        metavar="SPEC",
        help="generated traffic for phase 3 and --knee (see `load --help`)",
    )
    parser.add_argument(
        "--phase",
        "--for",
        type=parse_duration,
        default=30.0,
        metavar="D",
        help="length of each phase (default 30s)",
    )
    parser.add_argument(
        "--drain",
        type=parse_duration,
        default=120.0,
        metavar="D",
        help="maximum wait for open requests at the end of a phase (default 2m)",
    )
    parser.add_argument(
        "--at",
        type=float,
        default=0.6,
        metavar="RATIO",
        help="rate of phase 3, as a share of the rate measured in phase 1 (default 0.6)",
    )
    knee = parser.add_argument_group("highest load")
    knee.add_argument("--knee", action="store_true", help="find the highest load within the SLO")
    knee.add_argument(
        "--knee-from",
        type=float,
        metavar="R",
        help="first rate to try (default: the rate measured in phase 3)",
    )
    knee.add_argument(
        "--trials",
        type=int,
        default=10,
        metavar="N",
        help="maximum number of rates to try (default 10)",
    )
    knee.add_argument(
        "--within",
        type=float,
        default=0.04,
        metavar="RATIO",
        help="stop when the rate is known to within this ratio (default 0.04)",
    )
    parser.add_argument(
        "--certificate",
        type=Path,
        metavar="FILE",
        help="write the result to this file; `check` reads it",
    )
    parser.add_argument(
        "--seed",
        type=int,
        default=0,
        metavar="N",
        help="seed of the generated workload (default 0)",
    )
    parser.add_argument(
        "-o",
        "--output",
        choices=("table", "json", "junit", "html", "certificate"),
        default="table",
        help="format (default table)",
    )
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Test, print, certify; answer the exit code."""
    from barostat.core.errors import InputError
    from barostat.shells.cli.prevent.load_inputs import aimed, refused
    from barostat.shells.cli.prevent.validate_phases import Validation
    from barostat.shells.reports.load.validation import certificate_text
    from barostat.shells.reports.load.validation_document import rendered

    for name, least, most in (
        ("at", 0.01, 10.0),
        ("within", 0.005, 1.0),
        ("trials", 2, 40),
        ("phase", 1.0, 86_400.0),
    ):
        if not least <= getattr(arguments, name) <= most:
            raise InputError(
                f"must be {least:g} to {most:g}, not {getattr(arguments, name):g}", f"--{name}"
            )
    validation = Validation.of(arguments)
    target = aimed(arguments)
    if target.serving:
        return refused(target)
    found = validation.carried_out(target)
    sys.stdout.write(rendered(found, arguments.output))
    if arguments.certificate is not None and not found.interrupted:
        try:
            arguments.certificate.write_text(certificate_text(found), encoding="utf-8")
        except OSError as error:
            raise InputError(error.strerror or str(error), str(arguments.certificate)) from None
        print(
            f"barostat: the certificate is in {arguments.certificate}: keep it beside "
            f"{arguments.limits}",
            file=sys.stderr,
        )
    if found.interrupted:
        return 130
    return {"pass": 0, "fail": 1, "unknown": 3}[found.proof.verdict]
