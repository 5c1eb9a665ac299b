"""`barostat config show`: what is configured for each verb, and where each value comes from."""

from __future__ import annotations

import argparse
from typing import Any

EPILOG = """\
examples:
  barostat config                       # the configured flags of each verb, and their source
  barostat config show plan -o json

~/.config/barostat/config.toml ($XDG_CONFIG_HOME), overridden by .barostat.toml in a repository:

  namespace = "inference"               # for every verb with --namespace
  [plan]
  gpu = "4xL40S"                        # for this verb

Environment variables override both files: BAROSTAT_NAMESPACE, BAROSTAT_PLAN_GPU. The command line overrides everything. Flags that select
the cluster or permit changes are ignored in a repository's file.
"""


def add_parser(verbs: Any) -> None:
    """Add the verb."""
    parser = verbs.add_parser(
        "config",
        help="show the defaults set in files and the environment, and their source",
        description="Show the flags that files and the environment set.",
        epilog=EPILOG,
    )
    parser.set_defaults(run=run, about=None, output="table")
    inner = parser.add_subparsers(dest="action", metavar="show")
    show = inner.add_parser(
        "show",
        help="list the configured flags",
        description="Every flag that is configured, its value, and its source.",
    )
    show.add_argument("about", nargs="?", metavar="VERB", help="only flags of this verb")
    show.add_argument(
        "-o", "--output", choices=("table", "json"), default="table", help="form (default table)"
    )
    show.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Print what is configured; answer 0."""
    from barostat.core.errors import InputError
    from barostat.shells.cli.configured import files, settings, unread
    from barostat.shells.cli.main import VERBS, parser

    if arguments.about is not None and arguments.about not in VERBS:
        raise InputError(f"no verb is called {arguments.about!r}", "config show")
    asked = (
        [arguments.about]
        if arguments.about is not None
        else [verb for verb in VERBS if verb not in ("help", "config")]
    )
    found = {verb: listed for verb in asked if (listed := settings(verb, parser(verb)))}
    vain = unread({verb: parser(verb) for verb in VERBS})
    if arguments.output == "json":
        import json

        values = [
            {"verb": verb, "flag": one.flag, "value": one.value, "source": one.source}
            for verb, listed in found.items()
            for one in listed
        ]
        print(
            json.dumps(
                {
                    "files": [{"path": str(path), "found": path.is_file()} for path in files()],
                    "settings": values,
                    "unread": vain,
                },
                indent=2,
            )
        )
        return 0
    from barostat.shells.reports.aligned import aligned

    for path in files():
        print(f"{path}{'' if path.is_file() else ' (not there)'}")
    rows = [
        (verb, one.flag, str(one.value), one.source)
        for verb, listed in found.items()
        for one in listed
    ]
    print(
        "\n".join(["", *aligned([("verb", "flag", "value", "from"), *rows])])
        if rows
        else "nothing is configured"
    )
    if vain:
        print("\n".join(["", "not read:", *(f"  {one}" for one in vain)]))
    return 0
