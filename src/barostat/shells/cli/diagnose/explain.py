"""`barostat explain NAME`: the page of a cause, a symptom, a lever, an alert or a rule of `barostat
check`.
"""

from __future__ import annotations

import argparse
import re
import shutil
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from barostat.shells.reports.json_text import json_text

if TYPE_CHECKING:
    from barostat.shells.reports.rule_pages import Page

_WIDTH = 120
_KINDS = ("cause", "symptom", "lever", "alert", "rule")
_MOST_PAGES = 8
_SECTION = re.compile(r"[A-Z][a-z]+( [a-z]+)?:")


def add_parser(verbs: Any) -> None:
    """Add the verb."""
    parser = verbs.add_parser(
        "explain",
        help="explain a cause, symptom, lever, rule or alert: meaning, evidence, what to do",
        description="Print the page of a cause, a symptom, a lever (what a diagnosis proposes), an "
        "alert of `barostat rules` or a rule of "
        "`barostat check`.",
        epilog="example: barostat explain kv-preemption-thrash",
    )
    parser.add_argument(
        "name",
        nargs="?",
        metavar="NAME",
        help="a cause, a symptom, a lever, an alert or a rule, or a word of a message; without it, "
        "the list of all",
    )
    parser.add_argument(
        "-o", "--output", choices=("text", "json"), default="text", help="form (default text)"
    )
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Print the page, or the list of names."""
    from barostat.shells.reports.rule_pages import pages

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
    name = _named(arguments.name, known)
    if name is None:
        return _answer_mentions(arguments.name, arguments.output, known)
    return _print_page(known[name], arguments.output)


def _print_page(page: Page, output: str) -> int:
    """Print one page; return 0."""
    if output == "json":
        _print_json("RulePage", name=page.name, rule=page.kind, title=page.title, text=page.text)
        return 0
    width = min(shutil.get_terminal_size((_WIDTH, 0)).columns, _WIDTH)
    print(f"{page.name} ({page.kind}): {page.title}\n\n{_filled(page.text, width)}")
    return 0


def _named(asked: str, known: Mapping[str, Page]) -> str | None:
    """Return the page's name in its canonical spelling; None if no page has that name."""
    from barostat.shells.cli.diagnose.mentions import as_name

    spelled = {name.lower(): name for name in known}
    word = asked.strip().lower().replace("_", "-")
    return spelled.get(word) or spelled.get(as_name(asked))


def _answer_mentions(asked: str, output: str, known: Mapping[str, Page]) -> int:
    """Print the pages that mention the words; if only one does, print that page. Return 0.

    Errors: InputError if no page mentions them.
    """
    from barostat.core.errors import InputError
    from barostat.shells.cli.diagnose.mentions import mentions
    from barostat.shells.reports.rule_pages import nearest

    found = mentions(asked, known.values())
    if not found.about:
        close = nearest(asked.strip().lower().replace("_", "-"), known)
        hint = (
            f"did you mean {' or '.join(close)}?" if close else "`barostat explain` lists the names"
        )
        raise InputError(f"no cause, symptom, lever, alert or rule is named {asked!r}; {hint}")
    if len(found.about) == 1:
        return _print_page(found.about[0], output)
    shown = found.about[:_MOST_PAGES]
    if output == "json":
        _print_json(
            "RulePages",
            pages=[{"name": page.name, "kind": page.kind, "title": page.title} for page in shown],
        )
        return 0
    print(f"No page has the name {asked!r}. Pages that describe it:")
    for page in shown:
        print(f"  {page.name:28} {page.kind:8} {page.title}")
    if len(found.about) > len(shown):
        print(f"  and {len(found.about) - len(shown)} more")
    if found.against:
        print(f"It is not evidence for: {', '.join(page.name for page in found.against)}")
    return 0


def _filled(text: str, width: int) -> str:
    """Wrap text to the terminal's width. Lines are joined unless the next one starts a section, is
    indented or is empty.
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
