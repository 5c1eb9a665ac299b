"""The reference pages, made from the code itself (`make docs`); a test holds them to it.

docs/reference/causes.md  symptoms.md  levers.md  rules.md  alerts.md  signals.md  bounds.md
licences.md  command-line.md  workloads.md  proof.md  barostat.1
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
from barostat.alerts.healthy_hours import RECORDINGS
from barostat.alerts.inhibitions import hidden_by
from barostat.alerts.named import alerts
from barostat.catalog.signals import SIGNALS
from barostat.core.bounds import BOUNDS
from barostat.core.diagnosis import VARIANTS
from barostat.judge.diagnosis.causes import causes
from barostat.levers import levers
from barostat.lint.rules import rules
from barostat.shells.cli.main import parser
from barostat.shells.reports.rule_pages import pages
from barostat.symptoms import symptoms

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from dev.licences import licences_page
from dev.man_page import man_page
from dev.proof_page import proof_page
from dev.workloads_page import workloads_page

FOLDER = Path(__file__).resolve().parents[1] / "docs" / "reference"
NOTE = "<!-- Made by `make docs` from the code. Do not edit. -->\n\n"
SECTION = re.compile(
    r"^(Meaning|Impact|Evidence|Not evidence|Mitigation|Source|When|Not when|Undo|Proof|Bad|Good|Fix|Healthy):",
    re.MULTILINE,
)


def _page(name: str, title: str, text: str, extra: str = "") -> str:
    body = SECTION.sub(r"**\1.**", text)
    return f"## {name}\n\n*{title}.*\n\n{extra}{body}\n"


def causes_page() -> str:
    """Every cause with its page and variants."""
    known = pages()
    parts = []
    for cause in causes():
        variants = (
            f"Variants: {', '.join(VARIANTS[cause.name])}.\n\n" if cause.name in VARIANTS else ""
        )
        parts.append(_page(cause.name, cause.title, known[cause.name].text, variants))
    return (
        NOTE
        + "# Causes\n\nThe closed list. `barostat explain NAME` prints the same.\n\n"
        + "\n".join(parts)
    )


def symptoms_page() -> str:
    """Every symptom with its page and the signals it needs."""
    known = pages()
    parts = []
    for symptom in symptoms():
        needs = ", ".join(f"`{name}`" for name in symptom.needs)
        either = ", ".join(f"`{name}`" for name in symptom.needs_any)
        line = "; ".join(
            text
            for text in (
                f"Needs {needs}" if needs else "",
                f"needs one of {either}" if either else "",
            )
            if text
        )
        parts.append(
            _page(
                symptom.name,
                symptom.title,
                known[symptom.name].text,
                f"{line}.\n\n" if line else "",
            )
        )
    return NOTE + "# Symptoms\n\n" + "\n".join(parts)


def levers_page() -> str:
    """Every lever with its page, its side and the causes it is for."""
    docs = {
        module.LEVER.name: inspect.cleandoc(module.__doc__ or "")
        for found in pkgutil.iter_modules(levers_package.__path__)
        if hasattr(
            module := importlib.import_module(f"{levers_package.__name__}.{found.name}"), "LEVER"
        )
    }
    parts = [
        _page(
            lever.name,
            str(lever.title),
            docs[lever.name],
            f"Side: {lever.side}. Weighed for: {', '.join(lever.causes)}.\n\n",
        )
        for lever in sorted(levers(), key=lambda lever: lever.name)
    ]
    said = (
        "What a diagnosis weighs for each of the causes named, and proposes, leaves out, "
        "or advises against with the reason. "
        "`barostat mitigate` carries out those that change a Deployment, and writes caps "
        "at the edge into "
        "the limits file."
    )
    return NOTE + f"# Levers\n\n{said}\n\n" + "\n".join(parts)


PROFILES = {"ordinary": "default", "pedant": "strict"}
"""The profile of `barostat check` that shows a rule, by the word in the rule."""


def rules_page() -> str:
    """Every rule of `barostat check`, those of the default profile first."""
    known = pages()
    ordered = sorted(rules(), key=lambda rule: (rule.persona != "ordinary", rule.name))
    rows = [
        (
            f"| [`{rule.name}`](#{rule.name}) | {rule.severity} | {rule.confidence} | "
            f"{PROFILES[rule.persona]} | {rule.title} |"
        )
        for rule in ordered
    ]
    parts = [
        _page(
            rule.name,
            rule.title,
            known[rule.name].text,
            f"{rule.severity}, {rule.confidence} confidence, profile {PROFILES[rule.persona]}.\n\n",
        )
        for rule in ordered
    ]
    said = (
        "What `barostat check` looks for. Profile default: what breaks or hurts. Profile strict: "
        "also what a careful team asks for (`--profile strict`). A rule may report one finding "
        "with another severity, confidence or profile. Each page's Bad and Good are "
        "the rule's tests.\n\nThree more have no page: `drift` (`--live`: the running "
        "engine is not what is declared) and, of comments, "
        "`suppression-without-reason` and `unused-suppression`."
    )
    table = (
        "| rule | severity | confidence | profile | what |\n|---|---|---|---|---|\n"
        + "\n".join(rows)
    )
    return NOTE + f"# Rules\n\n{said}\n\n{table}\n\n" + "\n".join(parts)


def alerts_page() -> str:
    """Every alert with its page: how grave, how soon, what it hides, and how often it fired where
    nothing was wrong.
    """
    known = pages()
    rows, parts = [], []
    for alert in sorted(alerts(), key=lambda alert: (alert.severity, alert.name)):
        rows.append(
            f"| [`{alert.name}`](#{alert.name.lower()}) | {alert.severity} | {alert.part} "
            f"| {alert.within_s / 60:g} | {alert.title} |"
        )
        hidden = ", ".join(f"`{name}`" for name in hidden_by(alert, alerts()))
        extra = f"{alert.severity}, after {alert.within_s / 60:g} minutes at the latest." + (
            f" Hides {hidden}." if hidden else ""
        )
        apart = SECTION.sub(r"\n\g<0>", known[alert.name].text)
        parts.append(_page(alert.name, alert.title, apart, f"{extra}\n\n"))
    said = (
        "What `barostat rules` makes, and where each alert's `runbook_url` leads. Critical "
        "wakes a person, warning can wait for the "
        "morning. Part says whose series are read: vLLM's, latencies promised in the "
        "limits, the gateway's, Kubernetes', the cards'. "
        "How soon is from the beginning of the incident, at scrapes 15 s apart.\n\n"
        "The healthy hours: "
        f"{'; '.join(f'{name} ({what})' for name, what in RECORDINGS.items())}; and the "
        "first of them with usage at "
        "96 % and the card's memory at 92 % throughout. Recordings of vLLM 0.32.0, each "
        "played for an hour."
    )
    table = "| alert | severity | part | within, min | what |\n|---|---|---|---|---|\n" + "\n".join(
        rows
    )
    return NOTE + f"# Alerts\n\n{said}\n\n{table}\n\n" + "\n".join(parts)


def signals_page() -> str:
    """Every signal with its unit, meaning and age limit."""
    rows = [
        f"| `{kind.name}` | {kind.unit} | {kind.meaning} | {kind.stale_after_s:,.0f} |"
        for kind in SIGNALS.values()
    ]
    head = (
        "# Signals\n\nA reader makes them, a symptom needs them.\n\n| name | unit | meaning | "
        "stale after, s |\n|---|---|---|---|\n"
    )
    return NOTE + head + "\n".join(rows) + "\n"


def bounds_page() -> str:
    """How much of what strangers send is read."""
    rows = [f"| {bound.of} | {bound.most:,} {bound.unit} | {bound.beyond} |" for bound in BOUNDS]
    said = (
        "Bundles, metrics and answers come from strangers: counts are bounded as well as "
        "bytes, and what was left out is said. "
        "Answers of engines, API servers and Prometheus, logs and archives have a bound in "
        "bytes beside their reader, and a deadline."
    )
    return (
        NOTE
        + f"# Bounds of what is read\n\n{said}\n\n| of | at most | beyond it |\n|---|---|---|\n"
        + "\n".join(rows)
        + "\n"
    )


def command_line_page() -> str:
    """The help of every verb."""
    os.environ["COLUMNS"] = "100"
    top = parser()
    verbs = next(
        action for action in top._actions if isinstance(action, argparse._SubParsersAction)
    )
    helps = {"barostat": top.format_help()} | {
        f"barostat {name}": sub.format_help() for name, sub in verbs.choices.items()
    }
    return (
        NOTE
        + "# Command line\n\n"
        + "\n".join(f"## {name}\n\n```text\n{text}```\n" for name, text in helps.items())
    )


PAGES = {
    "workloads.md": lambda: NOTE + workloads_page(),
    "proof.md": lambda: NOTE + proof_page(),
    "causes.md": causes_page,
    "symptoms.md": symptoms_page,
    "levers.md": levers_page,
    "rules.md": rules_page,
    "alerts.md": alerts_page,
    "signals.md": signals_page,
    "bounds.md": bounds_page,
    "licences.md": lambda: NOTE + licences_page(),
    "command-line.md": command_line_page,
    "barostat.1": man_page,
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
