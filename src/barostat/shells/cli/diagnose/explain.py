"""`barostat explain NAME`: the page of a cause, a symptom, a lever, an alert or a rule of `barostat
check`.
"""

from __future__ import annotations

import argparse
import re
import shutil
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from barostat.shells.reports.json_text import json_text

if TYPE_CHECKING:
    from barostat.shells.reports.rule_pages import Page

_WIDTH = 120
_KINDS = ("cause", "symptom", "lever", "alert", "rule")
_LEAST_WORD, _MOST_PAGES = 3, 5
_SECTION = re.compile(r"[A-Z][a-z]+( [a-z]+)?:")


def add_parser(verbs: Any) -> None:
    """Add the verb."""
    parser = verbs.add_parser(
        "explain",
        help="what a cause, a symptom or a lever means, what proves it, what does not, what to do",
        description="Print the page of a cause, a symptom, a lever (what a diagnosis proposes), an "
        "alert of `barostat rules` or a rule of "
        "`barostat check`.",
        epilog="example: barostat explain kv-preemption-thrash",
    )
    parser.add_argument(
        "name",
        nargs="?",
        metavar="NAME",
        help="a cause, a symptom, a lever, an alert or a rule; without it, the list of all",
    )
    parser.add_argument(
        "-o", "--output", choices=("text", "json"), default="text", help="form (default text)"
    )
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Print the page, or the list of names."""
    from barostat.core.errors import InputError
    from barostat.shells.reports.rule_pages import nearest, pages

    known = pages()
    if arguments.name is None and arguments.output == "json":
        _print_json(
            "RulePages",
            pages=[
                {"name": page.name, "kind": page.kind, "title": page.title}
                for page in known.values()
            ],
        )
        return 0
    if arguments.name is None:
        for kind in _KINDS:
            print(f"{kind}s:")
            for listed in known.values():
                if listed.kind == kind:
                    print(f"  {listed.name:28} {listed.title}")
        return 0
    asked = arguments.name.strip().lower().replace("_", "-")
    name = next((one for one in known if one.lower() == asked), asked)
    if name not in known:
        close, speak = nearest(name, known), _speak_of(arguments.name, known.values())
        hint = "`barostat explain` lists the names"
        if close:
            hint = f"did you mean {' or '.join(close)}?"
        elif speak:
            hint = f"it is spoken of in {', '.join(speak[:_MOST_PAGES])}"
        raise InputError(
            f"no cause, symptom, lever, alert or rule is named {arguments.name!r}; {hint}"
        )
    page = known[name]
    if arguments.output == "json":
        _print_json("RulePage", name=page.name, rule=page.kind, title=page.title, text=page.text)
        return 0
    width = min(shutil.get_terminal_size((_WIDTH, 0)).columns, _WIDTH)
    print(f"{page.name} ({page.kind}): {page.title}\n\n{_filled(page.text, width)}")
    return 0


def _speak_of(word: str, known: Iterable[Page]) -> list[str]:
    """The names of the pages in whose text the word stands, causes first."""
    word = word.strip().lower()
    if len(word) < _LEAST_WORD:
        return []
    whole = re.compile(rf"(?<!\w){re.escape(word)}(?!\w)")
    return [
        page.name
        for page in sorted(known, key=lambda page: _KINDS.index(page.kind))
        if whole.search(page.text.lower())
    ]


def _filled(text: str, width: int) -> str:
    """Prose as wide as the terminal: a line goes on in the next unless that names a section, is set
    in, or is empty.
    """
    import textwrap

    paragraphs: list[str] = []
    for line in text.splitlines():
        apart = (
            not line
            or line.startswith(" ")
            or _SECTION.match(line)
            or not paragraphs
            or not paragraphs[-1]
        )
        if apart or paragraphs[-1].startswith(" "):
            paragraphs.append(line)
        else:
            paragraphs[-1] += f" {line}"
    as_it_is = ("", " ")
    return "\n".join(
        one
        if one[:1] in as_it_is
        else textwrap.fill(one, width, break_long_words=False, break_on_hyphens=False)
        for one in paragraphs
    )


def _print_json(kind: str, **fields: Any) -> None:

    from barostat.shells.reports.api_version import API_VERSION

    print(json_text({"apiVersion": API_VERSION, "kind": kind, **fields}))
