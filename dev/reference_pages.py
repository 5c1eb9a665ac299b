"""The reference pages, made from the code itself (`make docs`); a test holds them to it.

docs/reference/causes.md  symptoms.md  levers.md  signals.md  command-line.md
"""

from __future__ import annotations

import argparse
import importlib
import inspect
import os
import pkgutil
import re
import sys
from pathlib import Path

from barostat import levers as levers_package
from barostat.catalog.signals import SIGNALS
from barostat.core.diagnosis import VARIANTS
from barostat.judge.causes import causes
from barostat.levers import levers
from barostat.shells.cli.main import parser
from barostat.shells.pages import pages
from barostat.symptoms import symptoms

FOLDER = Path(__file__).resolve().parents[1] / "docs" / "reference"
NOTE = "<!-- Made by `make docs` from the code. Do not edit. -->\n\n"
SECTION = re.compile(r"^(Meaning|Impact|Evidence|Not evidence|Mitigation|Source|When|Not when|Undo|Proof):", re.MULTILINE)


def _page(name: str, title: str, text: str, extra: str = "") -> str:
    body = SECTION.sub(r"**\1.**", text)
    return f"## {name}\n\n*{title}.*\n\n{extra}{body}\n"


def causes_page() -> str:
    """Every cause with its page and variants."""
    known = pages()
    parts = []
    for cause in causes():
        variants = f"Variants: {', '.join(VARIANTS[cause.name])}.\n\n" if cause.name in VARIANTS else ""
        parts.append(_page(cause.name, cause.title, known[cause.name].text, variants))
    return NOTE + "# Causes\n\nThe closed list. `barostat explain NAME` prints the same.\n\n" + "\n".join(parts)


def symptoms_page() -> str:
    """Every symptom with its page and the signals it needs."""
    known = pages()
    parts = []
    for symptom in symptoms():
        needs = ", ".join(f"`{name}`" for name in symptom.needs)
        either = ", ".join(f"`{name}`" for name in symptom.needs_any)
        line = "; ".join(text for text in (f"Needs {needs}" if needs else "", f"needs one of {either}" if either else "") if text)
        parts.append(_page(symptom.name, symptom.title, known[symptom.name].text, f"{line}.\n\n" if line else ""))
    return NOTE + "# Symptoms\n\n" + "\n".join(parts)


def levers_page() -> str:
    """Every lever with its page, its side and the causes it is for."""
    docs = {
        module.LEVER.name: inspect.cleandoc(module.__doc__ or "")
        for found in pkgutil.iter_modules(levers_package.__path__)
        if hasattr(module := importlib.import_module(f"{levers_package.__name__}.{found.name}"), "LEVER")
    }
    parts = [
        _page(lever.name, lever.title, docs[lever.name], f"Side: {lever.side}. Weighed for: {', '.join(lever.causes)}.\n\n")
        for lever in sorted(levers(), key=lambda lever: lever.name)
    ]
    said = (
        "What a diagnosis weighs for each of the causes named, and proposes, leaves out, or advises against with the reason. "
        "`barostat mitigate` carries out those that change a Deployment, and writes caps at the edge into "
        "the limits file."
    )
    return NOTE + f"# Levers\n\n{said}\n\n" + "\n".join(parts)


def signals_page() -> str:
    """Every signal with its unit, meaning and age limit."""
    rows = [f"| `{kind.name}` | {kind.unit} | {kind.meaning} | {kind.stale_after_s:,.0f} |" for kind in SIGNALS.values()]
    head = "# Signals\n\nA reader makes them, a symptom needs them.\n\n| name | unit | meaning | stale after, s |\n|---|---|---|---|\n"
    return NOTE + head + "\n".join(rows) + "\n"


def command_line_page() -> str:
    """The help of every verb."""
    os.environ["COLUMNS"] = "100"
    top = parser()
    verbs = next(action for action in top._actions if isinstance(action, argparse._SubParsersAction))
    helps = {"barostat": top.format_help()} | {f"barostat {name}": sub.format_help() for name, sub in verbs.choices.items()}
    return NOTE + "# Command line\n\n" + "\n".join(f"## {name}\n\n```text\n{text}```\n" for name, text in helps.items())


PAGES = {
    "causes.md": causes_page,
    "symptoms.md": symptoms_page,
    "levers.md": levers_page,
    "signals.md": signals_page,
    "command-line.md": command_line_page,
}


def main() -> int:
    """Write every page; with --check only say which are not current (exit 1)."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    old = []
    for name, make in PAGES.items():
        path = FOLDER / name
        text = make()
        if "--check" in sys.argv:
            if not path.exists() or path.read_text() != text:
                old.append(name)
        else:
            path.write_text(text)
    if old:
        print(f"not current: {', '.join(old)}; run `make docs`", file=sys.stderr)
    return 1 if old else 0


if __name__ == "__main__":
    raise SystemExit(main())
