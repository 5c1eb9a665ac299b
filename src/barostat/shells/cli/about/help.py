"""`barostat help VERB`: what `barostat VERB --help` prints."""

from __future__ import annotations

import argparse
from typing import Any


def add_parser(verbs: Any) -> None:
    """Add the verb."""
    parser = verbs.add_parser(
        "help",
        help="show the help of a verb (also: help limits diff)",
        description="Print the help of a verb; without one, the list of all.",
        epilog="example: barostat help diagnose",
    )
    parser.add_argument("topic", nargs="*", metavar="VERB", help="a verb, and a verb within it")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Print it.

    Errors: argparse's SystemExit (0, or 2 for a verb that there is not).
    """
    from barostat.shells.cli.main import main

    return main([*arguments.topic, "--help"])
