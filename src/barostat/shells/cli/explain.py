"""`barostat explain NAME`: the page of a cause, a symptom or a lever."""

from __future__ import annotations

import argparse
import sys
from typing import Any


def add_parser(verbs: Any) -> None:
    """Add the verb."""
    parser = verbs.add_parser(
        "explain",
        help="what a cause, a symptom or a lever means, what proves it, what does not, what to do",
        description="Print the page of a cause, a symptom or a lever (what a diagnosis proposes).",
        epilog="example: barostat explain kv-preemption-thrash",
    )
    parser.add_argument("name", nargs="?", metavar="NAME", help="a cause, a symptom or a lever; without it, the list of all")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Print the page, or the list of names."""
    from barostat.core.errors import InputError
    from barostat.shells.pages import nearest, pages

    known = pages()
    if arguments.name is None:
        for kind in ("cause", "symptom", "lever"):
            print(f"{kind}s:")
            for listed in known.values():
                if listed.kind == kind:
                    print(f"  {listed.name:28} {listed.title}")
        return 0
    name = arguments.name.strip().lower().replace("_", "-")
    if name not in known:
        close = nearest(name, known)
        hint = f"did you mean {' or '.join(close)}?" if close else "`barostat explain` lists the names"
        raise InputError(f"no cause, symptom or lever is named {arguments.name!r}; {hint}")
    page = known[name]
    sys.stdout.write(f"{page.name} ({page.kind}): {page.title}\n\n{page.text}\n")
    return 0
