"""`barostat completion SHELL`: a script that completes verbs, flags, their values, and targets from
the cluster.
"""

from __future__ import annotations

import argparse
import sys
from typing import Any

SHELLS = ("bash", "zsh", "fish")

EPILOG = """\
examples:
  source <(barostat completion bash)                        # in ~/.bashrc
  source <(barostat completion zsh)                         # in ~/.zshrc, after compinit
  barostat completion fish | source                         # in ~/.config/fish/config.fish

Targets and namespaces are asked of the cluster for at most a second and a half, with the --context, --kubeconfig and -n of the line.
"""


def add_parser(verbs: Any) -> None:
    """Add the verb."""
    parser = verbs.add_parser(
        "completion",
        help="print a completion script for bash, zsh or fish",
        description=(
            "Print the script with which a shell completes barostat's verbs, flags, values, "
            "and targets from the cluster."
        ),
        epilog=EPILOG,
    )
    parser.add_argument(
        "shell", metavar="SHELL", choices=(*SHELLS, "names"), help="bash, zsh or fish"
    )
    parser.add_argument(
        "kind",
        nargs="?",
        choices=("targets", "namespaces", "cards", "models", "pages"),
        help=argparse.SUPPRESS,
    )
    parser.add_argument("-n", "--namespace", help=argparse.SUPPRESS)
    parser.add_argument("--context", help=argparse.SUPPRESS)
    parser.add_argument("--kubeconfig", help=argparse.SUPPRESS)
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Print the script; as `completion names KIND`, which the scripts call, the names of a kind, or
    nothing if they cannot be had.
    """
    if arguments.shell == "names":
        for name in names(arguments.kind or "", arguments):
            print(name)
        return 0
    from barostat.shells.cli.about.completion_scripts import script

    sys.stdout.write(script(arguments.shell))
    return 0


def names(kind: str, arguments: argparse.Namespace) -> list[str]:
    """The names of that kind: of the catalogue, of the pages, or of the cluster; none where it does
    not answer in time.
    """
    if kind == "cards":
        from barostat.catalog.cards import CARDS

        return [card.name for card in CARDS]
    if kind == "models":
        from barostat.catalog.models import model_names

        return sorted(model_names())
    if kind == "pages":
        from barostat.shells.reports.rule_pages import pages

        return list(pages())
    if kind in ("targets", "namespaces"):
        from barostat.io.kubernetes.recording.completion import cluster_names

        return cluster_names(
            kind == "namespaces", arguments.namespace, arguments.context, arguments.kubeconfig
        )
    return []
